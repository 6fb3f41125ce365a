//! Uncommitted changes move between two checkouts of one project.

use crate::place::{Failure, Place, brief, git};
use annals_runtime::worktree::{Files, FilesError};
use annals_tools::worktree::ShadowRepository;
use std::fs;
use std::path::PathBuf;

/// A second worktree of the same project, on a branch of its own.
fn second(place: &Place) -> Result<(ShadowRepository, PathBuf), Failure> {
    let other = place.folder.join("other");
    let path = other.to_str().ok_or("temporary path")?;
    git(&place.root, &["worktree", "add", "-q", "-b", "other", path])?;
    Ok((ShadowRepository::open(&other, place.folder.join("other-shadow"))?, other))
}

#[tokio::test]
async fn changes_leave_one_checkout_and_arrive_in_another() -> Result<(), Failure> {
    let place =
        Place::committed(&[(".gitignore", "*.log\n"), ("app/a", "1\n2\n3\n"), ("app/gone", "x\n"), ("out", "1\n")])?;
    let (files, other) = second(&place)?;
    place.write("app/a", "1\ntwo\n3\n")?;
    git(&place.root, &["add", "app/a"])?;
    place.remove("app/gone")?;
    place.write("app/new/picture", [0, 1, 255])?;
    place.executable("app/new/picture")?;
    place.write("app/x.log", "ignored\n")?;
    place.write("out", "elsewhere\n")?;
    let index = fs::read(place.path(".git/index"))?;

    let transfer = place.files.uncommitted("app").await?;
    let brought = ["modified app/a +1 -1", "deleted app/gone +0 -1", "added app/new/picture +0 -0"];
    assert_eq!(brief(&transfer.changes.files), brought);
    let arrival = files.plan_arrival(&transfer).await?;
    assert_eq!(brief(&arrival.now.files), brought);
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "1\n2\n3\n", "a plan changes nothing");
    files.restore(&arrival).await?;
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "1\ntwo\n3\n");
    assert_eq!(fs::read(other.join("app/new/picture"))?, [0, 1, 255]);
    assert!(!other.join("app/gone").exists());

    let departure = place.files.plan_departure(&transfer).await?;
    place.files.restore(&departure).await?;
    assert_eq!((place.read("app/a")?, place.read("app/gone")?), ("1\n2\n3\n".into(), "x\n".into()));
    assert!(!place.path("app/new").exists());
    assert_eq!((place.read("app/x.log")?, place.read("out")?), ("ignored\n".into(), "elsewhere\n".into()));
    assert_eq!(fs::read(place.path(".git/index"))?, index);
    Ok(())
}

#[tokio::test]
async fn changes_that_do_not_fit_are_refused_and_nothing_changed() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n"), ("b", "1\n")])?;
    let (files, other) = second(&place)?;
    place.write("a", "2\n")?;
    place.write("b", "2\n")?;
    fs::write(other.join("b"), "mine\n")?;
    let transfer = place.files.uncommitted("").await?;
    let refused = files.plan_arrival(&transfer).await;
    assert!(matches!(refused, Err(FilesError::DoesNotApply { ref message }) if message.contains("b")), "{refused:?}");
    assert_eq!(fs::read_to_string(other.join("a"))?, "1\n");
    assert_eq!(fs::read_to_string(other.join("b"))?, "mine\n");
    Ok(())
}

#[tokio::test]
async fn an_ignored_file_at_the_destination_is_not_overwritten() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let (files, other) = second(&place)?;
    place.write("a", "2\n")?;
    place.write("local", "theirs\n")?;
    fs::write(other.join(".gitignore"), "local\n")?;
    fs::write(other.join("local"), "mine\n")?;
    let transfer = place.files.uncommitted("").await?;
    let arrival = files.plan_arrival(&transfer).await?;
    let refused = files.restore(&arrival).await;
    assert!(matches!(refused, Err(FilesError::InTheWay { ref by, .. }) if by == "local"), "{refused:?}");
    assert_eq!(fs::read_to_string(other.join("local"))?, "mine\n");
    assert_eq!(fs::read_to_string(other.join("a"))?, "1\n");
    Ok(())
}

#[tokio::test]
async fn a_file_that_changed_since_is_not_discarded() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    place.write("a", "2\n")?;
    let transfer = place.files.uncommitted("").await?;
    place.write("a", "3\n")?;
    let refused = place.files.plan_departure(&transfer).await;
    assert!(matches!(refused, Err(FilesError::Changed { ref path }) if path == "a"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_project_without_a_commit_brings_all_its_files() -> Result<(), Failure> {
    let (from, to) = (Place::new()?, Place::new()?);
    assert!(from.files.uncommitted("").await?.is_empty());
    from.write("a", "1\n")?;
    let transfer = from.files.uncommitted("").await?;
    to.files.restore(&to.files.plan_arrival(&transfer).await?).await?;
    from.files.restore(&from.files.plan_departure(&transfer).await?).await?;
    assert_eq!((to.read("a")?, from.world()?.len()), ("1\n".into(), 0));
    Ok(())
}
