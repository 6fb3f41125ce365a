//! What an undo restores, and what it leaves alone.

use crate::place::{Failure, Place, brief, git};
use annals_runtime::worktree::{Files, FilesError, LARGEST_UNTRACKED, Plan, StagedFiles, StepFiles, Undo, WhyLeft};
use std::fs;

fn left(plan: &Plan) -> Vec<(&str, WhyLeft)> {
    plan.left.iter().map(|left| (left.path.as_str(), left.why)).collect()
}

fn staged(plan: &Plan, steps: &[StepFiles]) -> StagedFiles {
    let files = plan.recorded.files.iter().map(|file| file.path.clone()).collect();
    StagedFiles { original: plan.original.clone(), files, steps: steps.to_vec() }
}

#[tokio::test]
async fn a_file_returns_to_what_it_was_before_the_first_step_that_touched_it() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "a1\n"), ("b", "b1\n"), ("c", "c1\n")])?;
    let first = place.step(|place| place.write("a", "a2\n")).await?;
    place.write("b", "b2\n")?;
    let second = place
        .step(|place| {
            place.write("a", "a3\n")?;
            place.write("b", "b3\n")
        })
        .await?;
    place.write("c", "c2\n")?;
    let plan = place.undo(&[first, second]).await?;
    assert_eq!(brief(&plan.now.files), ["modified a +1 -1", "modified b +1 -1"]);
    assert_eq!(plan.now, plan.recorded);
    assert_eq!((place.read("a")?, place.read("b")?, place.read("c")?), ("a1\n".into(), "b2\n".into(), "c2\n".into()));
    assert!(plan.left.is_empty() && plan.mixed.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_file_that_the_user_changed_afterwards_stays_and_is_named() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n"), ("b", "1\n"), ("gone", "1\n"), ("back", "1\n")])?;
    let step = place
        .step(|place| {
            for path in ["a", "b", "gone", "back"] {
                place.write(path, "2\n")?;
            }
            place.write("new", "2\n")
        })
        .await?;
    place.write("a", "mine\n")?;
    place.write("new", "mine\n")?;
    place.write("back", "1\n")?;
    place.remove("gone")?;
    let plan = place.undo(&[step]).await?;
    assert_eq!(left(&plan), [("a", WhyLeft::Edited), ("gone", WhyLeft::Edited), ("new", WhyLeft::Edited)]);
    assert_eq!(
        (place.read("a")?, place.read("new")?, place.read("b")?),
        ("mine\n".into(), "mine\n".into(), "1\n".into())
    );
    assert!(!place.path("gone").exists());
    Ok(())
}

#[tokio::test]
async fn changes_between_two_steps_are_told_when_the_undo_takes_them_too() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let first = place.step(|place| place.write("a", "2\n")).await?;
    place.write("a", "2\nmine\n")?;
    let second = place.step(|place| place.write("a", "3\nmine\n")).await?;
    let plan = place.undo(&[first, second]).await?;
    assert_eq!(plan.mixed, ["a"]);
    assert_eq!(place.read("a")?, "1\n");
    Ok(())
}

#[tokio::test]
async fn both_names_of_a_rename_links_and_executable_bits_are_restored() -> Result<(), Failure> {
    let place = Place::committed(&[("src/old.rs", "text\n"), ("run", "#!/bin/sh\n"), ("dir/in", "1\n")])?;
    place.link("link", "src/old.rs")?;
    let before = place.world()?;
    let step = place
        .step(|place| {
            fs::create_dir(place.path("src/deep"))?;
            fs::rename(place.path("src/old.rs"), place.path("src/deep/new.rs"))?;
            place.executable("run")?;
            place.remove("link")?;
            place.write("link", "a file now")?;
            fs::remove_dir_all(place.path("dir"))?;
            place.link("dir", "/etc")
        })
        .await?;
    let plan = place.undo(std::slice::from_ref(&step)).await?;
    assert_eq!(place.world()?, before);
    assert!(!place.path("src/deep").exists(), "a directory that the step made stays behind");
    place.files.restore(&plan.reversed()).await?;
    assert_eq!(place.tree().await?, step.end.ok_or("no end")?);
    Ok(())
}

#[tokio::test]
async fn a_clear_brings_the_original_back_byte_for_byte() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\r\n"), ("b", "1")])?;
    let steps = [place
        .step(|place| {
            place.write("a", [0, 255, 13, 10])?;
            place.remove("b")?;
            place.write("made/here/c", "3")?;
            place.executable("made/here/c")
        })
        .await?];
    place.write("mine", "edited before")?;
    let original = place.world()?;
    let plan = place.undo(&steps).await?;
    assert_eq!((place.read("a")?, place.read("b")?), ("1\r\n".into(), "1".into()));
    place.write("mine", "edited after")?;
    let clear = place.files.plan(&Undo { steps: Vec::new(), staged: Some(staged(&plan, &steps)) }).await?;
    assert_eq!(brief(&clear.now.files), ["modified a +0 -0", "deleted b +0 -1", "added made/here/c +1 -0"]);
    assert!(clear.recorded.files.is_empty());
    place.files.restore(&clear).await?;
    assert_eq!(place.read("mine")?, "edited after");
    place.write("mine", "edited before")?;
    assert_eq!(place.world()?, original);
    Ok(())
}

#[tokio::test]
async fn a_clear_leaves_a_restored_file_alone_that_was_edited_since() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n"), ("b", "1\n")])?;
    let steps = [place
        .step(|place| {
            place.write("a", "2\n")?;
            place.write("b", "2\n")
        })
        .await?];
    let plan = place.undo(&steps).await?;
    place.write("a", "mine\n")?;
    let clear = place.files.plan(&Undo { steps: Vec::new(), staged: Some(staged(&plan, &steps)) }).await?;
    place.files.restore(&clear).await?;
    assert_eq!(left(&clear), [("a", WhyLeft::Edited)]);
    assert_eq!((place.read("a")?, place.read("b")?), ("mine\n".into(), "2\n".into()));
    Ok(())
}

#[tokio::test]
async fn moving_the_boundary_forth_and_back_leaves_no_trace() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "a0\n"), ("b", "b0\n")])?;
    let steps = [
        place.step(|place| place.write("a", "a1\n")).await?,
        place
            .step(|place| {
                place.write("a", "a2\n")?;
                place.write("b", "b2\n")
            })
            .await?,
        place.step(|place| place.write("c", "c3\n")).await?,
    ];
    let mut worlds = Vec::new();
    let mut stage: Option<StagedFiles> = None;
    for removed in [2, 1, 0, 1, 2, 0, 2] {
        let plan = place.files.plan(&Undo { steps: steps[removed..].to_vec(), staged: stage.take() }).await?;
        place.files.restore(&plan).await?;
        assert!(plan.left.is_empty());
        stage = Some(staged(&plan, &steps[removed..]));
        worlds.push((removed, place.world()?));
    }
    for (removed, world) in &worlds {
        let (_, first) = worlds.iter().find(|(other, _)| other == removed).ok_or("no world")?;
        assert_eq!(world, first);
    }
    let clear = place.files.plan(&Undo { steps: Vec::new(), staged: stage }).await?;
    place.files.restore(&clear).await?;
    assert_eq!((place.read("a")?, place.read("b")?, place.read("c")?), ("a2\n".into(), "b2\n".into(), "c3\n".into()));
    Ok(())
}

#[tokio::test]
async fn a_file_that_was_there_but_ignored_is_never_deleted() -> Result<(), Failure> {
    let place = Place::committed(&[(".gitignore", ".env\n*.key\nbuild/\n")])?;
    fs::write(place.path(".git/info/exclude"), "notes\n")?;
    for path in [".env", "sub/my.key", "build/out", "notes"] {
        place.write(path, "secret\n")?;
    }
    let step = place
        .step(|place| {
            place.write(".gitignore", "")?;
            fs::write(place.path(".git/info/exclude"), "")?;
            place.write("made", "by the agent\n")
        })
        .await?;
    let before = place.world()?;
    let plan = place.undo(&[step]).await?;
    let ignored = [".env", "build/out", "notes", "sub/my.key"].map(|path| (path, WhyLeft::Ignored));
    assert_eq!(left(&plan), ignored);
    for (path, _) in ignored {
        assert_eq!(place.world()?.get(path), before.get(path));
    }
    assert_eq!(place.read(".gitignore")?, ".env\n*.key\nbuild/\n");
    assert!(!place.path("made").exists());
    Ok(())
}

#[tokio::test]
async fn an_ignored_file_that_a_step_began_to_track_is_never_deleted() -> Result<(), Failure> {
    let place = Place::committed(&[(".gitignore", ".env\n")])?;
    place.write(".env", "secret\n")?;
    let step = place
        .step(|place| {
            git(&place.root, &["add", "-f", ".env"]).map(drop).map_err(|error| std::io::Error::other(error.to_string()))
        })
        .await?;
    let plan = place.undo(&[step]).await?;
    assert_eq!(left(&plan), [(".env", WhyLeft::Ignored)]);
    assert_eq!(place.read(".env")?, "secret\n");
    Ok(())
}

#[tokio::test]
async fn what_a_capture_did_not_hold_is_never_deleted() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    place.write("large", vec![b'x'; usize::try_from(LARGEST_UNTRACKED)? + 1])?;
    place.write("vendor/a", "theirs\n")?;
    git(&place.path("vendor"), &["init", "-q"])?;
    let step = place
        .step(|place| {
            place.write("a", "2\n")?;
            place.write("large", "cut down\n")?;
            fs::remove_dir_all(place.path("vendor/.git"))
        })
        .await?;
    let plan = place.undo(&[step]).await?;
    assert_eq!(left(&plan), [("large", WhyLeft::Uncaptured), ("vendor/a", WhyLeft::Uncaptured)]);
    let read = (place.read("a")?, place.read("large")?, place.read("vendor/a")?);
    assert_eq!(read, ("1\n".into(), "cut down\n".into(), "theirs\n".into()));
    Ok(())
}

#[tokio::test]
async fn a_step_without_captures_is_counted_and_its_files_stay() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let known = place.step(|place| place.write("a", "2\n")).await?;
    place.write("b", "by a step that failed\n")?;
    let failed = StepFiles { start: known.end.clone(), end: None };
    let plan = place.undo(&[known, failed]).await?;
    assert_eq!(plan.unknown_steps, 1);
    assert_eq!((place.read("a")?, place.read("b")?), ("1\n".into(), "by a step that failed\n".into()));
    Ok(())
}

#[tokio::test]
async fn a_session_from_elsewhere_names_captures_that_are_not_here() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let here = place.tree().await?;
    let foreign: annals_runtime::worktree::Tree = "0123456789012345678901234567890123456789".parse()?;
    let step = StepFiles { start: Some(foreign.clone()), end: Some(here) };
    let refused = place.undo(&[step]).await.err().map(|error| error.to_string());
    assert_eq!(refused, Some(format!("there is no capture {foreign} of these files here")));
    for id in ["HEAD", "--all", "0123456789ABCDEF0123456789ABCDEF01234567", ""] {
        let parsed = id.parse::<annals_runtime::worktree::Tree>();
        assert!(matches!(parsed, Err(FilesError::NoTree { .. })), "{id}");
    }
    Ok(())
}

#[tokio::test]
async fn files_that_a_step_changed_in_another_repository_are_named() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    for repository in ["clone", "module"] {
        place.write(&format!("{repository}/deep/s.txt"), "one\n")?;
        place.write(&format!("{repository}/same"), "one\n")?;
        place.write(&format!("{repository}/.gitignore"), "built\n")?;
        git(&place.path(repository), &["init", "-q"])?;
        git(&place.path(repository), &["add", "."])?;
        let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"];
        git(&place.path(repository), &commit)?;
    }
    // The project knows one of them as a submodule.
    git(&place.root, &["add", "module"])?;
    let step = place
        .step(|place| {
            place.write("a", "2\n")?;
            place.write("clone/deep/s.txt", "one\nmore\n")?;
            place.write("clone/built", "ignored there\n")?;
            place.write("module/deep/s.txt", "one\nmore\n")?;
            place.write("module/new", "new\n")
        })
        .await?;
    let plan = place.undo(&[step]).await?;
    let named = ["clone/deep/s.txt", "module/deep/s.txt", "module/new"].map(|path| (path, WhyLeft::Uncaptured));
    assert_eq!(left(&plan), named);
    assert_eq!((place.read("a")?, place.read("clone/deep/s.txt")?), ("1\n".into(), "one\nmore\n".into()));
    Ok(())
}
