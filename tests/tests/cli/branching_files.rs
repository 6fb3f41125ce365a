//! `annals revert` on a session whose host kept its files, as `annals run` does, at 80 columns, for eyes.
#![cfg(unix)]

use crate::cli::command::Annals;
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{FixedDefinitions, LocationServices, Settings, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs, ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, Tool, ToolError, ToolOutput};
use annals_runtime::{NewInput, NewSession, Ports, Runtime};
use annals_store::{DiskLog, OpenMode};
use annals_tools::worktree::{files_kept_in, shadow_folder};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn writes(root: PathBuf) -> impl Tool {
    FunctionTool::new("write", "Writes a file.", &json!({"type": "object"}), move |input: serde_json::Value, _| {
        let (path, text) =
            (root.join(input["path"].as_str().unwrap_or_default()), input["text"].as_str().map(str::to_owned));
        async move {
            let done = match text {
                Some(text) => fs::write(path, text),
                None => fs::remove_file(path),
            };
            done.map(|()| ToolOutput::text("done")).map_err(|error| ToolError(error.to_string()))
        }
    })
}

fn writing(number: usize, path: &str, text: Option<&str>) -> ScriptedAttempt {
    ScriptedAttempt::call(format!("c{number}"), "write", json!({"path": path, "text": text}).to_string())
}

/// A project, and a session of three prompts in it that a host ran in the store.
pub(super) fn hosted() -> Result<(Annals, PathBuf), Box<dyn std::error::Error>> {
    let annals = Annals::new();
    let root = annals.file("project");
    fs::create_dir(&root)?;
    let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(&root).status()?;
    assert!(made.success());
    fs::write(root.join("clock.txt"), "tick\ntock\n")?;
    fs::write(root.join("mine.txt"), "mine\n")?;
    let attempts = [
        writing(1, "clock.txt", Some("tick\ntock\nding\n")),
        ScriptedAttempt::text("It strikes now."),
        writing(2, "bell.txt", Some("brass\n")),
        writing(3, "clock.txt", Some("tick\ntack\nding\n")),
        ScriptedAttempt::text("There is a bell."),
    ];
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    events.block_on(host(&annals.store(), &root, attempts.into()))?;
    Ok((annals, root))
}

async fn host(store: &Path, root: &Path, attempts: Vec<ScriptedAttempt>) -> Tested {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let services = LocationServices { files: Some(files_kept_in(store, root)), ..LocationServices::default() };
    services.tools.register([Arc::new(writes(root.to_owned())) as Arc<dyn Tool>])?.detach();
    let log = Arc::new(DiskLog::open(store, OpenMode::Create)?.0);
    let ports = Ports {
        log: log.clone(),
        provider: Arc::new(ScriptedProvider::new(attempts)),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().model(bare_model(&"test/alpha".into(), 200_000, 32_000))),
    };
    let runtime = Runtime::new(ports, Settings::default());
    let new = NewSession {
        title: Some("Mend the clock".into()),
        ..NewSession::at(root.to_string_lossy(), "build", "test/alpha")
    };
    let session = runtime.create(new).await?;
    for prompt in ["let it strike", "and ring", "thanks"] {
        session.admit(NewInput::steer(prompt)).await?;
        session.run().await?;
    }
    Ok(())
}

fn files(root: &Path) -> std::io::Result<Vec<String>> {
    let mut all = Vec::new();
    for name in ["bell.txt", "clock.txt", "mine.txt"] {
        match fs::read_to_string(root.join(name)) {
            Ok(text) => all.push(format!("{name}: {text}")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

#[test]
fn a_revert_shows_the_diff_and_puts_files_back_and_a_clear_brings_them_again() -> Tested {
    let (annals, root) = hosted()?;
    let after = files(&root)?;
    let staged = annals.show(&["revert", "@last", "--to", "turn:2"]);
    assert_eq!(files(&root)?, ["clock.txt: tick\ntock\nding\n", "mine.txt: mine\n"]);
    let moved = annals.show(&["revert", "@last", "--to", "turn:1"]);
    assert_eq!(files(&root)?, ["clock.txt: tick\ntock\n", "mine.txt: mine\n"]);
    let cleared = annals.show(&["revert", "@last", "--clear"]);
    assert_eq!(files(&root)?, after);
    insta::assert_snapshot!([staged, moved, cleared].join("\n"));
    Ok(())
}

#[test]
fn a_committed_revert_keeps_the_restored_files_and_what_the_user_changed_is_left_alone() -> Tested {
    let (annals, root) = hosted()?;
    fs::write(root.join("bell.txt"), "silver\n")?;
    let staged = annals.show(&["revert", "@last", "--to", "turn:1"]);
    let committed = annals.show(&["revert", "@last", "--commit"]);
    assert_eq!(files(&root)?, ["bell.txt: silver\n", "clock.txt: tick\ntock\n", "mine.txt: mine\n"]);
    assert_eq!(annals.run(&["verify"]).status, 0);
    insta::assert_snapshot!([staged, committed].join("\n"));
    Ok(())
}

#[test]
fn the_talk_alone_is_undone_by_choice_and_where_no_files_are_kept() -> Tested {
    let (annals, root) = hosted()?;
    let after = files(&root)?;
    let chosen = annals.show(&["revert", "@last", "--to", "turn:2", "--talk"]);
    fs::remove_dir_all(shadow_folder(annals.store(), &root)?.shown())?;
    let gone = annals.show(&["revert", "@last", "--to", "turn:2"]);
    assert_eq!(files(&root)?, after);
    insta::assert_snapshot!([chosen, gone].join("\n"));
    Ok(())
}

#[test]
fn files_that_cannot_be_put_back_here_keep_the_revert_staged() -> Tested {
    let (annals, root) = hosted()?;
    assert_eq!(annals.run(&["revert", "@last", "--to", "turn:2"]).status, 0);
    fs::remove_dir_all(shadow_folder(annals.store(), &root)?.shown())?;
    let printed = annals.show(&["revert", "@last", "--clear"]);
    let printed = printed.split_once(": ").map(|(_, rest)| rest.to_owned()).unwrap_or(printed);
    insta::assert_snapshot!(printed);
    Ok(())
}

#[test]
fn a_tree_tells_what_sessions_changed_and_a_fork_begins_with_nothing() -> Tested {
    let (annals, _root) = hosted()?;
    let forked = annals.run(&["fork", "@last"]);
    let id = forked.out.split_whitespace().next().unwrap_or_default().to_owned();
    let tree = annals.show(&["tree"]);
    let shown: Vec<&str> = tree.lines().filter_map(|line| line.split_once("  ")).map(|(_, rest)| rest.trim()).collect();
    let replay = annals.show(&["replay", "@last"]).replace(&id, "FORK");
    // Where the project lies is in the log.
    let replay: Vec<&str> = replay.lines().filter(|line| !line.starts_with("head ")).collect();
    insta::assert_snapshot!([shown.join("\n"), replay.join("\n")].join("\n\n"));
    Ok(())
}
