//! Moves with uncommitted changes.

use super::{Death, Point, When, dies, process};
use crate::place::{Place, git};
use crate::watched::at;
use crate::world::{Tested, World, events};
use annals_core::event::FilesEvent;
use annals_core::{Event, Seq, SessionId};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{NewInput, NewSession, Refusal, Runtime};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two worktrees of a project, and a session in the first with something uncommitted.
async fn moving() -> Result<(World, Place, PathBuf, SessionId), Box<dyn std::error::Error>> {
    let place = Place::committed(&[("app/a", "1\n")])?;
    let other = place.folder.join("other");
    git(&place.root, &["worktree", "add", "-q", "-b", "other", &other.to_string_lossy()])?;
    place.write("app/a", "2\n")?;
    place.write("app/new", "new\n")?;
    let world = World::new([ScriptedAttempt::text("hi")]);
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.create(NewSession::at(place.root.to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    Ok((world, place, other, session.id()))
}

fn two(world: &World, place: &Place, other: &Path, death: &Arc<Death>, departs: bool) -> Runtime {
    let shadows = (place.folder.join("shadow-1"), place.folder.join("shadow-2"));
    process(world, &[(&place.root, &shadows.0), (other, &shadows.1)], death, departs)
}

/// Every point that a move with uncommitted changes passes: the arrival, the record, the departure, its end.
const POINTS: [Point; 10] = [
    Point::Append(0, When::Before),
    Point::Append(0, When::After),
    Point::Restore(0, When::Before),
    Point::Restore(0, When::After),
    Point::Append(1, When::Before),
    Point::Append(1, When::After),
    Point::Restore(1, When::Before),
    Point::Restore(1, When::After),
    Point::Append(2, When::Before),
    Point::Append(2, When::After),
];

#[tokio::test]
async fn a_move_whose_process_dies_at_any_point_leaves_the_changes_at_one_place() -> Tested {
    for (number, point) in POINTS.into_iter().enumerate() {
        let (world, place, other, id) = moving().await?;
        moves_and_dies(&world, &place, &other, id, point).await?;
        let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        // Whoever looks at the files next finds out, once.
        session.plan_clear().await?;
        let log = events(&world, &session).await?;
        session.plan_clear().await?;
        assert_eq!(events(&world, &session).await?, log, "{point:?}");
        let view = session.view().await?;
        assert_eq!((&view.session.restoring, &view.session.departing), (&None, &None), "{point:?}");
        let moved = number >= 5;
        let expected = if moved { at(&other) } else { at(&place.root) };
        assert_eq!(view.session.location, Some(expected), "{point:?}");
        let (here, there) = (place.read("app/a")?, fs::read_to_string(other.join("app/a"))?);
        let (stays, leaves) = ("1\n", "2\n");
        let expected = if moved { (stays, leaves) } else { (leaves, stays) };
        assert_eq!((here.as_str(), there.as_str()), expected, "{point:?}");
        assert_eq!((place.read("app/new").is_err(), other.join("app/new").exists()), (moved, moved), "{point:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_departure_that_is_finished_later_leaves_what_the_user_changed_since() -> Tested {
    let (world, place, other, id) = moving().await?;
    moves_and_dies(&world, &place, &other, id, Point::Append(1, When::After)).await?;
    place.write("app/new", "the user's own\n")?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.admit(NewInput::steer("on")).await?;
    session.run().await?;
    assert_eq!((place.read("app/a")?.as_str(), place.read("app/new")?.as_str()), ("1\n", "the user's own\n"));
    assert_eq!(fs::read_to_string(other.join("app/new"))?, "new\n");
    Ok(())
}

#[tokio::test]
async fn a_departure_keeps_nobody_from_working_and_ends_with_what_keeps_the_changes() -> Tested {
    let (world, place, other, id) = moving().await?;
    moves_and_dies(&world, &place, &other, id, Point::Append(1, When::After)).await?;
    // Who knows nothing of the source leaves it to somebody else.
    let runtime = process(&world, &[(&other, &place.folder.join("shadow-2"))], &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.plan_clear().await?;
    assert_eq!(session.view().await?.session.departing.as_ref().map(|open| &open.location), Some(&at(&place.root)));
    // At the source there is no project any more.
    fs::rename(place.root.join(".git"), place.folder.join("no-project-any-more"))?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.plan_clear().await?;
    assert_eq!(session.view().await?.session.departing, None);
    let log = world.log.read(id, Seq::ZERO, 1_000).await?;
    let last = log.last().and_then(|slice| slice.records().last().map(|record| record.event.clone()));
    let Some(Event::Files(FilesEvent::DepartureEnded(ended))) = last else { return Err(format!("{last:?}").into()) };
    assert_eq!(ended.error.ok_or("it says why")?.kind, "files");
    assert_eq!((place.read("app/a")?.as_str(), fs::read_to_string(other.join("app/a"))?.as_str()), ("2\n", "2\n"));
    Ok(())
}

/// Moves a session with its changes, in a process that dies at a point.
async fn moves_and_dies(world: &World, place: &Place, other: &Path, id: SessionId, point: Point) -> Tested {
    let (death, there) = (Death::at(point), at(other));
    dies(&two(world, place, other, &death, true), &death, id, move |session| async move {
        let plan = session.plan_move(there).await?;
        session.move_with_changes(&plan).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_move_whose_departure_fails_has_moved_and_says_what_keeps_the_changes_at_the_source() -> Tested {
    let (world, place, other, id) = moving().await?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), false);
    let session = runtime.session(id).await?;
    let plan = session.plan_move(at(&other)).await?;
    let kept = session.move_with_changes(&plan).await?.ok_or("something keeps them")?;
    assert_eq!(kept.to_string(), "app/a changed in the meantime");
    let view = session.view().await?;
    assert_eq!((view.session.location.clone(), &view.session.restoring), (Some(at(&other)), &None));
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "2\n");
    assert_eq!(place.read("app/a")?, "2\n");
    Ok(())
}

#[tokio::test]
async fn no_move_with_changes_is_planned_while_those_of_an_earlier_one_are_still_to_leave() -> Tested {
    let (world, place, other, id) = moving().await?;
    moves_and_dies(&world, &place, &other, id, Point::Append(1, When::After)).await?;
    let third = place.folder.join("third");
    git(&place.root, &["worktree", "add", "-q", "-b", "third", &third.to_string_lossy()])?;
    let (source, shadows) =
        (place.root.as_path(), ["shadow-1", "shadow-2", "shadow-3"].map(|name| place.folder.join(name)));
    let [first, second, last] = [(source, &*shadows[0]), (&*other, &*shadows[1]), (&*third, &*shadows[2])];
    // Who knows nothing of the source cannot finish the first move.
    let runtime = process(&world, &[second, last], &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    let refused = session.plan_move(at(&third)).await.err().ok_or("the first has no end")?;
    assert!(matches!(&refused, Refusal::Departing(location) if *location == at(source)), "{refused}");
    assert!(refused.to_string().contains(&format!("still to leave {}; see that", source.display())), "{refused}");
    let runtime = process(&world, &[first, second, last], &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    let plan = session.plan_move(at(&third)).await?;
    assert_eq!(place.read("app/a")?, "1\n", "the first has ended");
    assert!(session.move_with_changes(&plan).await?.is_none());
    assert_eq!(session.view().await?.session.departing, None);
    let texts = (fs::read_to_string(other.join("app/a"))?, fs::read_to_string(third.join("app/a"))?);
    assert_eq!((texts.0.as_str(), texts.1.as_str()), ("1\n", "2\n"));
    Ok(())
}

#[tokio::test]
async fn a_departure_that_a_passing_error_stops_is_tried_again() -> Tested {
    let (world, place, other, id) = moving().await?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Restore(1, When::Instead)), true);
    let session = runtime.session(id).await?;
    let plan = session.plan_move(at(&other)).await?;
    let kept = session.move_with_changes(&plan).await?.ok_or("something keeps them")?;
    assert_eq!(kept.to_string(), "app/a: the disk is away");
    assert_eq!((place.read("app/a")?.as_str(), fs::read_to_string(other.join("app/a"))?.as_str()), ("2\n", "2\n"));
    let runtime = two(&world, &place, &other, &Death::at(Point::Restore(0, When::Instead)), true);
    let session = runtime.session(id).await?;
    session.plan_clear().await?;
    assert!(session.view().await?.session.departing.is_some(), "it may still pass");
    session.plan_clear().await?;
    assert_eq!(session.view().await?.session.departing, None);
    assert_eq!((place.read("app/a")?.as_str(), place.read("app/new").is_err()), ("1\n", true));
    let log = world.log.read(id, Seq::ZERO, 1_000).await?;
    let last = log.last().and_then(|slice| slice.records().last().map(|record| record.event.clone()));
    let Some(Event::Files(FilesEvent::DepartureEnded(ended))) = last else { return Err(format!("{last:?}").into()) };
    assert_eq!(ended.error, None);
    Ok(())
}
