//! A restore happens whole or not at all.

use crate::place::{Failure, Place};
use annals_runtime::worktree::{Files, FilesError, Undo};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn a_file_that_changes_after_the_plan_stops_the_restore_and_nothing_changed() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n"), ("b", "1\n"), ("sub/c", "1\n")])?;
    let step = place
        .step(|place| {
            place.write("a", "2\n")?;
            place.write("b", "2\n")?;
            place.write("made/d", "2\n")?;
            place.remove("sub/c")
        })
        .await?;
    let plan = place.files.plan(&Undo { steps: vec![step], staged: None }).await?;
    place.write("made/d", "x\n")?;
    let before = place.world()?;
    let refused = place.files.restore(&plan).await;
    assert!(matches!(refused, Err(FilesError::Changed { ref path }) if path == "made/d"), "{refused:?}");
    assert_eq!(place.world()?, before);
    Ok(())
}

#[tokio::test]
async fn a_file_in_the_way_stops_the_restore_and_nothing_changed() -> Result<(), Failure> {
    let place = Place::committed(&[(".gitignore", "*.log\n"), ("a", "1\n"), ("x", "file\n")])?;
    let step = place
        .step(|place| {
            place.write("a", "2\n")?;
            place.remove("x")?;
            place.write("x/inner", "2\n")
        })
        .await?;
    let undo = Undo { steps: vec![step], staged: None };
    place.write("x/mine", "mine\n")?;
    let refused = place.files.plan(&undo).await;
    assert!(matches!(refused, Err(FilesError::InTheWay { ref by, .. }) if by == "x/mine"), "{refused:?}");
    place.remove("x/mine")?;
    // No capture sees an ignored file; the restore does.
    place.write("x/deep/mine.log", "mine\n")?;
    let plan = place.files.plan(&undo).await?;
    let before = place.world()?;
    let refused = place.files.restore(&plan).await;
    assert!(matches!(refused, Err(FilesError::InTheWay { ref by, .. }) if by == "x/deep/mine.log"), "{refused:?}");
    assert_eq!(place.world()?, before);
    fs::remove_dir_all(place.path("x/deep"))?;
    fs::create_dir(place.path("x/empty"))?;
    place.files.restore(&place.files.plan(&undo).await?).await?;
    assert_eq!((place.read("a")?, place.read("x")?), ("1\n".into(), "file\n".into()));
    Ok(())
}

#[tokio::test]
async fn a_content_that_is_missing_stops_the_restore_and_nothing_changed() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n"), ("b", "only here\n")])?;
    let step = place
        .step(|place| {
            place.write("a", "2\n")?;
            place.write("b", "2\n")
        })
        .await?;
    let plan = place.files.plan(&Undo { steps: vec![step], staged: None }).await?;
    let lost = match &plan.restores[1].to {
        Some(annals_runtime::worktree::TreeEntry::File { id, .. }) => id.clone(),
        other => return Err(format!("{other:?}").into()),
    };
    fs::remove_file(place.folder.join(format!("git/objects/{}/{}", &lost[..2], &lost[2..])))?;
    let before = place.world()?;
    let refused = place.files.restore(&plan).await;
    assert!(matches!(refused, Err(FilesError::NoContent { ref path, .. }) if path == "b"), "{refused:?}");
    assert_eq!(place.world()?, before);
    Ok(())
}

#[tokio::test]
async fn nothing_is_written_through_a_link_that_leads_out_of_the_project() -> Result<(), Failure> {
    let place = Place::committed(&[("dir/a", "1\n")])?;
    let outside = place.folder.join("outside");
    fs::create_dir(&outside)?;
    let step = place.step(|place| fs::remove_dir_all(place.path("dir"))).await?;
    let plan = place.files.plan(&Undo { steps: vec![step], staged: None }).await?;
    place.link("dir", outside.to_str().ok_or("temporary path")?)?;
    let refused = place.files.restore(&plan).await;
    assert!(matches!(refused, Err(FilesError::InTheWay { ref by, .. }) if by == "dir"), "{refused:?}");
    assert_eq!(fs::read_dir(&outside)?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn a_path_that_leads_out_of_the_project_is_refused() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let step = place.step(|place| place.write("a", "2\n")).await?;
    let plan = place.files.plan(&Undo { steps: vec![step], staged: None }).await?;
    for path in ["../a", "/a", "b//a", ".git/config", "b/.GIT/config", "./a", ""] {
        let mut bent = plan.clone();
        bent.restores[0].path = path.into();
        let refused = place.files.restore(&bent).await;
        assert!(matches!(refused, Err(FilesError::BadPath { .. })), "{path}: {refused:?}");
    }
    assert_eq!(place.read("a")?, "2\n");
    Ok(())
}

#[tokio::test]
async fn a_file_that_only_its_owner_may_read_stays_so() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o600))?;
    let step = place.step(|place| place.write("a", "2\n")).await?;
    place.undo(&[step]).await?;
    assert_eq!(fs::metadata(place.path("a"))?.permissions().mode() & 0o777, 0o600);
    assert_eq!(place.read("a")?, "1\n");
    Ok(())
}

#[tokio::test]
async fn the_directory_of_the_session_stays_when_it_becomes_empty() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    fs::create_dir_all(place.path("work/here"))?;
    let files = annals_tools::worktree::ShadowRepository::open(&place.path("work/here"), &place.folder)?;
    let step = place.step(|place| place.write("work/here/sub/b", "2\n")).await?;
    files.restore(&files.plan(&Undo { steps: vec![step], staged: None }).await?).await?;
    assert!(place.path("work/here").is_dir() && !place.path("work/here/sub").exists());
    Ok(())
}

#[tokio::test]
async fn a_restore_that_a_crash_cut_short_is_taken_back_before_anything_else() -> Result<(), Failure> {
    // As a crash leaves it: `edited` was replaced, `gone` moved away, `new/one` placed, `later` not yet reached.
    let place = Place::committed(&[("edited", "before\n"), ("gone", "before\n"), ("later", "before\n")])?;
    let before = place.world()?;
    let staging = place.path(".annals-restore-0123456789abcdef");
    for part in ["new", "old", "directory"] {
        fs::create_dir_all(staging.join(part))?;
    }
    for (number, path) in ["edited", "gone"].iter().enumerate() {
        fs::rename(place.path(path), staging.join(format!("old/{number}")))?;
    }
    place.write("edited", "after\n")?;
    place.write("new/one", "after\n")?;
    fs::write(staging.join("new/3"), "after\n")?;
    let note = r#"{"name":".annals-restore-0123456789abcdef","moves":[
        {"path":"edited","leaves":true,"comes":true},{"path":"gone","leaves":true,"comes":false},
        {"path":"new/one","leaves":false,"comes":true},{"path":"later","leaves":true,"comes":true}],"made":["new"]}"#;
    fs::write(place.folder.join("restore.json"), note)?;
    place.files.capture().await?;
    assert_eq!(place.world()?, before);
    assert!(!staging.exists() && !place.path("new").exists() && !place.folder.join("restore.json").exists());
    Ok(())
}
