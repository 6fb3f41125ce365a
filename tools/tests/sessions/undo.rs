//! Undos of a session's talk and files, in a real git worktree.

use crate::place::{Place, brief};
use crate::watched::{Moment, Watch, Watched};
use crate::world::{Tested, World, events, history};
use annals_core::event::Location;
use annals_projections::FileTotals;
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::{FunctionTool, ToolError, ToolOutput};
use annals_runtime::worktree::{FilesError, WhyLeft};
use annals_runtime::{Extent, MessagePlace, NewInput, NewSession, Refusal, RevertFiles, Session};
use annals_store::Boxed;
use annals_tools::worktree::files_at;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(serde::Deserialize)]
struct Write {
    path: String,
    text: Option<String>,
}

/// A tool that writes or deletes a file below the project; `text: null` deletes.
fn writes(root: PathBuf) -> FunctionTool<Write> {
    FunctionTool::new("write", "Writes a file.", &json!({"type": "object"}), move |Write { path, text }, _| {
        let path = root.join(path);
        async move {
            let done = match text {
                Some(text) => fs::write(path, text),
                None => fs::remove_file(path),
            };
            done.map(|()| ToolOutput::text("done")).map_err(|error| ToolError(error.to_string()))
        }
    })
}

/// An answer that writes files.
fn writing(number: usize, files: &[(&str, Option<&str>)]) -> ScriptedAttempt {
    let mut attempt = ScriptedAttempt::default();
    for (at, (path, text)) in files.iter().enumerate() {
        let input = json!({"path": path, "text": text}).to_string();
        attempt.calls.extend(ScriptedAttempt::call(format!("c{number}-{at}"), "write", &input).calls);
    }
    attempt
}

/// A Session in a project, three prompts in: `a` changed twice, `b` added, `gone` deleted; `mine` is the user's.
async fn worked() -> Result<(World, Place, Session), Box<dyn std::error::Error>> {
    let place = Place::committed(&[("a", "one\n"), ("gone", "was here\n"), ("mine", "mine\n")])?;
    let attempts = [
        writing(1, &[("a", Some("two\n"))]),
        ScriptedAttempt::text("first"),
        writing(2, &[("a", Some("three\n")), ("b", Some("new\n")), ("gone", None)]),
        ScriptedAttempt::text("second"),
    ];
    let mut world = World::new(attempts).tool(writes(place.root.clone()));
    world.services.files = Some(Arc::new(annals_tools::worktree::ShadowRepository::open(&place.root, &place.folder)?));
    let runtime = world.runtime();
    let location = place.root.to_string_lossy().into_owned();
    let session = runtime.create(NewSession::at(location, "build", "test/alpha")).await?;
    for prompt in ["one", "two", "three"] {
        session.admit(NewInput::steer(prompt)).await?;
        session.run().await?;
    }
    Ok((world, place, session))
}

#[tokio::test]
async fn an_undo_with_files_shows_the_diff_restores_and_records_and_a_clear_is_its_inverse() -> Tested {
    let (_world, place, session) = worked().await?;
    let (after, talk) = (place.world()?, history(&session).await?);
    let plan = session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    let RevertFiles::Restored(files) = &plan.files else { return Err("files must be restored".into()) };
    assert_eq!(brief(&files.now.files), ["modified a +1 -1", "deleted b +0 -1", "added gone +1 -0"]);
    assert!(files.now.diff.text.contains("-three\n+two\n"), "{}", files.now.diff.text);
    assert_eq!(place.world()?, after, "planning changes nothing");
    session.stage(&plan).await?;
    assert_eq!((place.read("a")?.as_str(), place.read("gone")?.as_str()), ("two\n", "was here\n"));
    assert!(place.read("b").is_err());
    let staged = session.view().await?.session.revert.clone().ok_or("it is staged")?;
    assert_eq!(staged.files, files.now.files);
    let diff = staged.diff.ok_or("the diff is recorded")?.resolve(&*session.blobs()).into_owned();
    assert_eq!(diff, files.now.diff.text);
    // The boundary moves: from the second message to the first and back is no trace.
    for n in [1, 2, 1] {
        let plan = session.plan_revert(MessagePlace::User(n), Extent::ConversationAndFiles).await?;
        session.stage(&plan).await?;
        assert_eq!(place.read("a")?, if n == 1 { "one\n" } else { "two\n" });
    }
    assert!(session.clear_revert().await?.is_some());
    assert_eq!(place.world()?, after, "byte for byte");
    assert_eq!(history(&session).await?, talk);
    assert!(session.clear_revert().await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_committed_undo_keeps_the_restored_files_and_a_prompt_commits_it() -> Tested {
    let (_world, place, session) = worked().await?;
    session.stage(&session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?).await?;
    let restored = place.world()?;
    session.admit(NewInput::steer("on")).await?;
    session.run().await?;
    assert_eq!(place.world()?, restored);
    let expected = ["user one", "assistant tool-calls: write=completed(done)", "assistant stop: first", "user on"];
    assert_eq!(history(&session).await?[..4], expected);
    Ok(())
}

#[tokio::test]
async fn the_talk_alone_is_undone_by_choice_and_puts_back_what_an_earlier_stage_restored() -> Tested {
    let (_world, place, session) = worked().await?;
    let after = place.world()?;
    let plan = session.plan_revert(MessagePlace::User(1), Extent::Conversation).await?;
    assert_eq!(plan.files, RevertFiles::Untouched);
    session.stage(&plan).await?;
    assert_eq!(place.world()?, after);
    session.stage(&session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?).await?;
    assert_ne!(place.world()?, after);
    session.stage(&session.plan_revert(MessagePlace::User(2), Extent::Conversation).await?).await?;
    assert_eq!(place.world()?, after);
    assert!(session.view().await?.session.revert.as_ref().is_some_and(|staged| staged.files.is_empty()));
    Ok(())
}

#[tokio::test]
async fn what_the_user_changed_since_is_left_alone_and_named() -> Tested {
    let (_world, place, session) = worked().await?;
    place.write("b", "the user's own\n")?;
    place.write("mine", "changed\n")?;
    let plan = session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    let RevertFiles::Restored(files) = &plan.files else { return Err("files must be restored".into()) };
    let left: Vec<_> = files.left.iter().map(|left| (left.path.as_str(), left.why)).collect();
    assert_eq!(left, [("b", WhyLeft::Edited)]);
    session.stage(&plan).await?;
    assert_eq!((place.read("b")?.as_str(), place.read("mine")?.as_str()), ("the user's own\n", "changed\n"));
    Ok(())
}

#[tokio::test]
async fn a_restore_that_fails_changes_nothing_and_says_why() -> Tested {
    let (world, place, session) = worked().await?;
    let plan = session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    place.write("a", "changed just now\n")?;
    let (before, mut log) = (place.world()?, events(&world, &session).await?);
    let refused = session.stage(&plan).await.err().ok_or("it must be refused")?;
    assert_eq!(refused.to_string(), "a changed in the meantime");
    log.extend(["restore.begun", "restore.abandoned"]);
    assert_eq!((place.world()?, events(&world, &session).await?), (before, log));
    let view = session.view().await?;
    assert_eq!((&view.session.revert, &view.session.restoring), (&None, &None));
    Ok(())
}

#[tokio::test]
async fn a_plan_for_a_session_that_went_on_is_refused_before_any_file_changes() -> Tested {
    let (_world, place, session) = worked().await?;
    let plan = session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    session.admit(NewInput::steer("meanwhile")).await?;
    let before = place.world()?;
    assert!(matches!(session.stage(&plan).await, Err(Refusal::Outdated)));
    assert_eq!(place.world()?, before);
    Ok(())
}

#[tokio::test]
async fn a_title_that_comes_between_a_plan_and_its_stage_changes_nothing_that_the_plan_depends_on() -> Tested {
    let (world, place, session) = worked().await?;
    let plan = session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    session.set_title("Meanwhile").await?;
    session.stage(&plan).await?;
    assert_eq!(place.read("a")?, "two\n");
    let talk = session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?;
    session.set_title("Again").await?;
    session.stage(&talk).await?;
    assert_eq!(place.read("a")?, "one\n");
    let log = events(&world, &session).await?;
    let last = ["session.titled", "restore.begun", "revert.staged", "session.titled", "restore.begun", "revert.staged"];
    assert_eq!(log[log.len() - 6..], last);
    assert_eq!(session.view().await?.session.title.as_deref(), Some("Again"));
    Ok(())
}

#[tokio::test]
async fn a_restore_that_cannot_be_recorded_is_taken_back() -> Tested {
    let (mut world, place, session) = worked().await?;
    let before = place.world()?;
    // Somebody prompts while the files are restored.
    let overtaking = Watched { inner: files_at(&place.root, &place.folder), watch: Overtaking(session.clone()) };
    world.services.files = Some(Arc::new(overtaking));
    let runtime = world.runtime();
    let other = runtime.session(session.id()).await?;
    let plan = other.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?;
    let refused = other.stage(&plan).await;
    assert!(matches!(refused, Err(Refusal::Outdated)), "{refused:?}");
    assert_eq!(place.world()?, before);
    assert_eq!(other.view().await?.session.revert, None);
    Ok(())
}

/// Somebody else who prompts while files are restored.
struct Overtaking(Session);

impl Watch for Overtaking {
    fn at(&self, moment: Moment) -> Boxed<'_, Result<(), FilesError>> {
        Box::pin(async move {
            if moment == Moment::Restores {
                let prompt = NewInput::steer("meanwhile").named("meanwhile");
                self.0.admit(prompt).await.map_err(|_| FilesError::CutShort)?;
            }
            Ok(())
        })
    }
}

#[tokio::test]
async fn what_an_interrupted_step_changed_is_undone_too() -> Tested {
    let place = Place::committed(&[("a", "one\n")])?;
    let root = place.root.clone();
    let running = Arc::new(tokio::sync::Notify::new());
    let (started, path) = (running.clone(), root.join("a"));
    let tool = FunctionTool::new("work", "Works.", &json!({"type": "object"}), move |_: serde_json::Value, _| {
        let (started, path) = (started.clone(), path.clone());
        async move {
            fs::write(path, "half\n").map_err(|error| ToolError(error.to_string()))?;
            started.notify_one();
            std::future::pending::<()>().await;
            Ok(ToolOutput::default())
        }
    });
    let mut world = World::new([ScriptedAttempt::call("c1", "work", "{}")]).tool(tool);
    world.services.files = Some(files_at(&place.root, &place.folder));
    let runtime = world.runtime();
    let session = runtime.create(NewSession::at(root.to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = tokio::spawn({
        let session = session.clone();
        async move { session.run().await }
    });
    running.notified().await;
    session.interrupt();
    run.await??;
    session.stage(&session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?).await?;
    assert_eq!(place.read("a")?, "one\n");
    session.clear_revert().await?;
    assert_eq!(place.read("a")?, "half\n");
    Ok(())
}

#[tokio::test]
async fn outside_git_only_the_talk_is_undone_and_that_is_said() -> Tested {
    let place = tempfile::tempdir()?;
    let mut world = World::new([ScriptedAttempt::text("hi")]);
    world.services.files = Some(files_at(place.path(), place.path().join("shadow")));
    let runtime = world.runtime();
    let session = runtime.create(NewSession::at(place.path().to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    let plan = session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?;
    let RevertFiles::ConversationOnly { why } = &plan.files else { return Err("talk only".into()) };
    assert!(why.contains("is not in a git worktree"), "{why}");
    session.stage(&plan).await?;
    assert!(session.commit_revert().await?.is_some());
    assert_eq!(history(&session).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn captures_of_another_location_restore_nothing_here() -> Tested {
    let (_world, place, session) = worked().await?;
    let after = place.world()?;
    let elsewhere = Location { directory: place.root.join("sub").to_string_lossy().into_owned(), workspace: None };
    session.move_to(elsewhere).await?;
    let plan = session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?;
    let RevertFiles::Restored(files) = &plan.files else { return Err("a plan".into()) };
    assert!(files.restores.is_empty());
    assert_eq!(files.unknown_steps, 5);
    session.stage(&plan).await?;
    assert_eq!(place.world()?, after);
    Ok(())
}

#[tokio::test]
async fn a_session_tells_what_it_changed_so_far_and_an_undo_takes_its_part_back() -> Tested {
    let (world, place, session) = worked().await?;
    let totals = |files, additions, deletions| Some(FileTotals { files, additions, deletions });
    // `a` was changed twice, `b` added, `gone` deleted: three files in all, against those before the first step.
    assert_eq!(session.view().await?.session.changed.totals(), totals(3, 2, 2));
    let summaries = || async {
        let kinds = events(&world, &session).await?;
        Ok::<_, annals_store::ReadError>(kinds.iter().filter(|kind| **kind == "files.summarised").count())
    };
    assert_eq!(summaries().await?, 2, "an activity without a change is not summarised");
    session.stage(&session.plan_revert(MessagePlace::User(2), Extent::ConversationAndFiles).await?).await?;
    assert_eq!(session.view().await?.session.changed.totals(), totals(3, 2, 2), "it is only staged");
    session.commit_revert().await?;
    assert_eq!(session.view().await?.session.changed.totals(), totals(1, 1, 1));
    place.write("a", "one\n")?;
    session.admit(NewInput::steer("on")).await?;
    session.run().await?;
    assert_eq!(session.view().await?.session.changed.totals(), totals(0, 0, 0), "the user put it back");
    let fork = session.fork(None).await?;
    assert_eq!(fork.view().await?.session.changed.totals(), None, "a fork has changed nothing yet");
    Ok(())
}
