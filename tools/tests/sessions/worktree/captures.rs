//! What a capture holds, and what runs while it is made.

use crate::place::{Failure, Place, brief, git};
use annals_runtime::worktree::{DIFF_LIMIT, Files, FilesError, LARGEST_UNTRACKED, WhySkipped};
use annals_tools::worktree::{ShadowRepository, files_at};
use std::fs;

#[tokio::test]
async fn an_empty_project_is_captured_and_equal_files_are_equal_trees() -> Result<(), Failure> {
    let place = Place::new()?;
    let empty = place.tree().await?;
    assert_eq!(place.tree().await?, empty);
    place.write("a", "1")?;
    assert_ne!(place.tree().await?, empty);
    place.remove("a")?;
    assert_eq!(place.tree().await?, empty);
    Ok(())
}

#[tokio::test]
async fn changes_are_counted_and_shown_and_binary_files_are_marked() -> Result<(), Failure> {
    let place = Place::committed(&[("kept", "k\n"), ("edited", "1\n2\n"), ("gone", "x\n"), ("old name", "same\n")])?;
    place.write("picture", [0, 159, 146, 150])?;
    let before = place.tree().await?;
    place.write("edited", "1\ntwo\n3\n")?;
    place.remove("gone")?;
    fs::rename(place.path("old name"), place.path("sub name"))?;
    place.write("picture", [0, 1, 2, 3])?;
    place.write("dir/ü\tnew", "n\n")?;
    let changes = place.files.changes(&before, None).await?;
    assert_eq!(
        brief(&changes.files),
        [
            "added dir/ü\tnew +1 -0",
            "modified edited +2 -1",
            "deleted gone +0 -1",
            "deleted old name +0 -1",
            "modified picture +0 -0",
            "added sub name +1 -0",
        ]
    );
    assert!(changes.diff.text.contains("--- a/edited\n+++ b/edited\n@@ -1,2 +1,3 @@\n 1\n-2\n+two\n+3\n"));
    assert!(changes.diff.text.contains("Binary files a/picture and b/picture differ\n"));
    assert!(!changes.diff.cut);
    let now = place.tree().await?;
    assert_eq!(place.files.changes(&before, Some(&now)).await?, changes);
    assert!(place.files.changes(&now, None).await?.files.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_long_diff_is_cut_at_a_line_and_the_list_stays_whole() -> Result<(), Failure> {
    let place = Place::new()?;
    let before = place.tree().await?;
    place.write("a", "0123456789abcdef\n".repeat(40_000))?;
    place.write("b", "1\n")?;
    let changes = place.files.changes(&before, None).await?;
    assert_eq!(brief(&changes.files), ["added a +40000 -0", "added b +1 -0"]);
    assert!(changes.diff.cut);
    assert!(changes.diff.text.len() <= DIFF_LIMIT + 100);
    assert!(changes.diff.text.ends_with("+0123456789abcdef\n[the diff is longer than 256 KiB and was cut here]\n"));
    Ok(())
}

#[tokio::test]
async fn ignored_files_are_not_captured_from_any_of_the_places_that_git_reads() -> Result<(), Failure> {
    let place = Place::committed(&[(".gitignore", "*.log\n"), ("deep/.gitignore", "/only-here\n")])?;
    fs::write(place.path(".git/info/exclude"), "private\n")?;
    let before = place.tree().await?;
    for path in ["a.log", "private", "deep/only-here", "deep/x.log"] {
        place.write(path, "x")?;
    }
    assert_eq!(place.tree().await?, before);
    place.write("only-here", "x")?;
    assert_eq!(brief(&place.files.changes(&before, None).await?.files), ["added only-here +1 -0"]);
    Ok(())
}

#[tokio::test]
async fn a_tracked_file_is_captured_though_it_is_ignored() -> Result<(), Failure> {
    let place = Place::committed(&[(".gitignore", "*.log\n")])?;
    place.write("kept.log", "1\n")?;
    git(&place.root, &["add", "-f", "kept.log"])?;
    let before = place.tree().await?;
    place.write("kept.log", "2\n")?;
    assert_eq!(brief(&place.files.changes(&before, None).await?.files), ["modified kept.log +1 -1"]);
    Ok(())
}

#[tokio::test]
async fn large_untracked_files_and_other_repositories_are_skipped_and_named() -> Result<(), Failure> {
    let place = Place::new()?;
    let large = vec![b'x'; usize::try_from(LARGEST_UNTRACKED)? + 1];
    place.write("tracked", &large)?;
    place.commit()?;
    place.write("large", &large)?;
    place.write("fits", &large[1..])?;
    place.write("vendor/inner/a", "a")?;
    git(&place.path("vendor/inner"), &["init", "-q"])?;
    let capture = place.files.capture().await?;
    let skipped: Vec<_> = capture.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.why)).collect();
    let bytes = LARGEST_UNTRACKED + 1;
    assert_eq!(skipped, [("vendor/inner", WhySkipped::Repository), ("large", WhySkipped::TooLarge { bytes })]);
    place.write("tracked", "small now")?;
    place.write("vendor/inner/a", "b")?;
    place.remove("large")?;
    let changes = place.files.changes(&capture.tree, None).await?;
    assert_eq!(brief(&changes.files), ["modified tracked +1 -1"]);
    assert_eq!(changes.uncaptured, ["large", "vendor/inner/a"]);
    assert!(!changes.diff.text.contains("Subproject"));
    Ok(())
}

#[tokio::test]
async fn captured_bytes_are_the_bytes_on_disk_whatever_attributes_say() -> Result<(), Failure> {
    let place = Place::new()?;
    let rules = "* text=auto eol=lf ident\n*.big filter=spy\n*.wide working-tree-encoding=UTF-16\n";
    place.write(".gitattributes", rules)?;
    place.write("crlf", "one\r\ntwo $Id$\r\n")?;
    place.write("x.big", "big")?;
    place.write("x.wide", "no UTF-16")?;
    let before = place.world()?;
    let step = place
        .step(|place| {
            place.remove("crlf")?;
            place.remove("x.big")?;
            place.write("x.wide", "changed")
        })
        .await?;
    place.undo(&[step]).await?;
    assert_eq!(place.world()?, before);
    Ok(())
}

#[tokio::test]
async fn nothing_that_the_project_configures_is_run() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let spy = place.folder.join("spy");
    let ran = place.folder.join("ran");
    fs::write(&spy, format!("#!/bin/sh\necho ran >> '{}'\ncat\n", ran.display()))?;
    fs::set_permissions(&spy, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let spy = spy.to_str().ok_or("temporary path")?;
    for key in ["core.fsmonitor", "filter.spy.clean", "filter.spy.smudge", "diff.spy.command", "diff.spy.textconv"] {
        git(&place.root, &["config", key, spy])?;
    }
    git(&place.root, &["config", "diff.external", spy])?;
    for hook in ["post-index-change", "post-checkout", "pre-commit", "reference-transaction"] {
        fs::copy(spy, place.path(".git/hooks").join(hook))?;
    }
    place.write(".gitattributes", "* filter=spy diff=spy\n")?;
    let before = place.world()?;
    let index = fs::read(place.path(".git/index"))?;
    let step = place.step(|place| place.write("a", "2\n")).await?;
    place.undo(&[step]).await?;
    place.write("a", "3\n")?;
    let transfer = place.files.uncommitted("").await?;
    let departure = place.files.plan_departure(&transfer).await?;
    place.files.restore(&departure).await?;
    assert_eq!(place.read("a")?, "1\n");
    assert!(before.contains_key(".gitattributes") && !place.path(".gitattributes").exists());
    assert!(!ran.exists(), "something of the project's was run");
    assert_eq!(fs::read(place.path(".git/index"))?, index, "the project's own index was written");
    Ok(())
}

#[tokio::test]
async fn outside_git_only_the_talk_can_be_undone_and_that_is_said() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    fs::create_dir(&project)?;
    let files = files_at(&project, folder.path().join("shadow"));
    let why = files.conversation_only().ok_or("files can be restored outside git")?;
    assert!(why.ends_with("project is not in a git worktree"), "{why}");
    assert!(matches!(files.capture().await, Err(FilesError::ConversationOnly { .. })));
    assert!(!folder.path().join("shadow").exists());
    Ok(())
}

#[tokio::test]
async fn the_shadow_folder_must_lie_outside_the_project() -> Result<(), Failure> {
    let place = Place::new()?;
    let inside = place.path("sub/shadow");
    assert!(matches!(ShadowRepository::open(&place.root, &inside), Err(FilesError::FolderInside { .. })));
    assert!(!place.path("sub").exists());
    Ok(())
}

#[tokio::test]
async fn captures_survive_tidying_and_a_new_process() -> Result<(), Failure> {
    let place = Place::committed(&[("sub/a", "1\n")])?;
    let step = place.step(|place| place.write("sub/a", "2\n")).await?;
    place.files.tidy().await?;
    let again = ShadowRepository::open(&place.path("sub"), &place.folder)?;
    assert_eq!(again.root(), place.root);
    let undo = annals_runtime::worktree::Undo { steps: vec![step], staged: None };
    again.restore(&again.plan(&undo).await?).await?;
    assert_eq!(place.read("sub/a")?, "1\n");
    Ok(())
}

#[tokio::test]
async fn many_captures_at_once_take_turns() -> Result<(), Failure> {
    let place = Place::committed(&[("a", "1\n")])?;
    let other = ShadowRepository::open(&place.root, &place.folder)?;
    let (first, second, third) = tokio::join!(place.files.capture(), other.capture(), place.files.capture());
    let first = first?;
    assert_eq!((&first, &first), (&second?, &third?));
    Ok(())
}
