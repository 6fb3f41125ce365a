//! Moves of a session between checkouts, with its uncommitted changes.

use crate::place::{Place, git};
use crate::watched::{Places, at};
use crate::world::{Tested, World, events};
use annals_runtime::settings::LocationServices;
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{NewInput, NewSession, Ports, Refusal, Runtime, Session};
use annals_tools::worktree::files_at;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// A Session in `app` of a project with uncommitted changes, a second worktree of it, and another project.
async fn begin() -> Result<(World, Place, PathBuf, Place, Session), Box<dyn std::error::Error>> {
    let place = Place::committed(&[("app/a", "1\n"), ("out", "1\n")])?;
    let other = place.folder.join("other");
    git(&place.root, &["worktree", "add", "-q", "-b", "other", &other.to_string_lossy()])?;
    let stranger = Place::committed(&[("app/a", "1\n")])?;
    place.write("app/a", "2\n")?;
    place.write("app/new", "new\n")?;
    place.write("out", "stays\n")?;
    let mut services = BTreeMap::new();
    let places =
        [(place.root.join("app"), &place), (other.join("app"), &place), (stranger.root.join("app"), &stranger)];
    for (number, (path, holder)) in places.into_iter().enumerate() {
        let files = Some(files_at(&path, holder.folder.join(format!("shadow-{number}"))));
        services.insert(path.to_string_lossy().into_owned(), LocationServices { files, ..LocationServices::default() });
    }
    let world = World::new([ScriptedAttempt::text("hi")]);
    let ports = Ports { locations: Arc::new(Places(services)), ..world.ports() };
    let runtime = Runtime::new(ports, world.settings.clone());
    let app = place.root.join("app").to_string_lossy().into_owned();
    let session = runtime.create(NewSession::at(app, "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    Ok((world, place, other, stranger, session))
}

#[tokio::test]
async fn a_move_takes_the_uncommitted_changes_of_its_directory_along() -> Tested {
    let (_world, place, other, _stranger, session) = begin().await?;
    let plan = session.plan_move(at(&other.join("app"))).await?;
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "1\n", "planning changes nothing");
    assert_eq!(session.move_with_changes(&plan).await?.map(|error| error.to_string()), None);
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "2\n");
    assert_eq!(fs::read_to_string(other.join("app/new"))?, "new\n");
    assert_eq!((place.read("app/a")?.as_str(), place.read("out")?.as_str()), ("1\n", "stays\n"));
    assert!(place.read("app/new").is_err());
    let view = session.view().await?;
    assert_eq!(view.session.location, Some(at(&other.join("app"))));
    assert!(view.epochs.current.is_none(), "the epoch ended");
    Ok(())
}

#[tokio::test]
async fn changes_that_do_not_fit_stop_the_move_before_anything_changes() -> Tested {
    let (world, place, other, _stranger, session) = begin().await?;
    fs::write(other.join("app/a"), "something else\n")?;
    let (before, log) = (place.world()?, events(&world, &session).await?);
    assert!(matches!(session.plan_move(at(&other.join("app"))).await, Err(Refusal::Files(_))));
    assert_eq!((place.world()?, events(&world, &session).await?), (before, log));
    Ok(())
}

#[tokio::test]
async fn a_session_stays_in_its_project() -> Tested {
    let (world, place, _other, stranger, session) = begin().await?;
    let log = events(&world, &session).await?;
    let there = at(&stranger.root.join("app"));
    assert!(matches!(session.plan_move(there.clone()).await, Err(Refusal::OtherProject)));
    assert!(matches!(session.move_to(there).await, Err(Refusal::OtherProject)));
    assert!(matches!(session.plan_move(at(&place.root.join("app"))).await, Err(Refusal::OtherProject)));
    assert!(!session.move_to(at(&place.root.join("app"))).await?, "the same directory: nothing happens");
    assert_eq!(events(&world, &session).await?, log);
    Ok(())
}
