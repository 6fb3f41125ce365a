//! The first tools in real turns: judged by rules, asked for, interrupted, and seen in the log.

use crate::process::{is_gone, process};
use crate::world::{Tested, World, history};
use annals_core::Event;
use annals_core::event::{AgentProfile, ContextEvent, Effect, Rule, ToolEvent};
use annals_core::{NoBlobs, Seq};
use annals_runtime::context::instructions::InstructionFiles;
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use annals_runtime::ports::RealFilesystem;
use annals_runtime::settings::NestedInstructions;
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::{SkillTool, Tool};
use annals_runtime::{Boxed, NewInput, NewSession, Outcome, Runtime, Session};
use annals_tools::{Workplace, skills, tools};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

type Error = Box<dyn std::error::Error>;

/// A project on disk, and a world whose tools work there.
struct Project {
    folder: TempDir,
    world: World,
}

fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
    Rule { action: action.into(), resource: resource.into(), effect }
}

fn calls(made: &[(&str, &str, Value)]) -> ScriptedAttempt {
    let mut attempt = ScriptedAttempt::default();
    for (call, tool, input) in made {
        attempt.calls.extend(ScriptedAttempt::call(*call, *tool, input.to_string()).calls);
    }
    attempt
}

impl Project {
    fn new(attempts: impl IntoIterator<Item = ScriptedAttempt>, rules: &[Rule]) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("project/.git"))?;
        let mut world = World::new(attempts);
        let place = Workplace::at(folder.path().join("project"), folder.path().join("project"));
        world.services.tools.register(tools(&place))?.detach();
        let agent = AgentProfile { agent: "build".into(), system: None, steps: None, permissions: rules.to_vec() };
        world.definitions = world.definitions.agent(agent);
        Ok(Self { folder, world })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    fn put(&self, path: &str, text: &str) -> std::io::Result<()> {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        std::fs::write(path, text)
    }

    async fn session(&self) -> Result<(Runtime, Session), Error> {
        let runtime = self.world.runtime();
        let location = self.at("").canonicalize()?.display().to_string();
        let session = runtime.create(NewSession::at(location.as_str(), "build", "test/alpha")).await?;
        Ok((runtime, session))
    }

    async fn run(&self) -> Result<Session, Error> {
        let (_, session) = self.session().await?;
        session.admit(NewInput::steer("go")).await?;
        assert_eq!(session.run().await?, Outcome::Idle);
        Ok(session)
    }

    async fn events(&self, session: &Session) -> Result<Vec<Event>, Error> {
        let slices = self.world.log.read(session.id(), Seq::ZERO, 10_000).await?;
        Ok(slices
            .iter()
            .flat_map(|slice| slice.records().map(|record| record.event.clone()).collect::<Vec<_>>())
            .collect())
    }
}

/// Answers every question in one way and keeps what was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>, Option<PermissionAnswer>);

impl Approver for Asked {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        let line = format!("{} {}", question.action, question.resources.join(" | "));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let answer = self.1.clone().unwrap_or(PermissionAnswer::Once);
        Box::pin(async move { Answered::by_user(answer) })
    }
}

impl Asked {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[tokio::test]
async fn an_agent_reads_edits_and_runs_within_its_project_by_its_rules() -> Tested {
    let turn = [
        calls(&[("c1", "read", json!({"path": "a.txt"})), ("c2", "glob", json!({"pattern": "*.txt"}))]),
        calls(&[("c3", "edit", json!({"path": "a.txt", "old_string": "one", "new_string": "two"}))]),
        calls(&[("c4", "bash", json!({"command": "cat a.txt && ls"}))]),
        ScriptedAttempt::text("done"),
    ];
    let allowed = [rule("*", "*", Effect::Allow), rule("external_directory", "*", Effect::Ask)];
    let mut project = Project::new(turn, &allowed)?;
    let asked = Arc::new(Asked::default());
    project.world.approver = asked.clone();
    project.put("a.txt", "one\n")?;
    let session = project.run().await?;
    assert_eq!(
        history(&session).await?,
        [
            "user go",
            "assistant tool-calls: read=completed(     1\tone\n) | glob=completed(a.txt\n)",
            "assistant tool-calls: edit=completed(Edited a.txt (+1 -1 lines).)",
            "assistant tool-calls: bash=completed(two\na.txt\nCommand exited with code 0.)",
            "assistant stop: done",
        ]
    );
    assert!(asked.all().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_path_outside_is_asked_for_twice_and_an_always_holds_for_its_directory() -> Tested {
    let mut project = Project::new([], &[rule("read", "*", Effect::Allow)])?;
    let beside = project.folder.path().canonicalize()?;
    std::fs::write(beside.join("b.txt"), "b")?;
    std::fs::write(beside.join("c.txt"), "c")?;
    let read = |call, path| calls(&[(call, "read", json!({"path": path}))]);
    let write = calls(&[("c3", "write", json!({"path": "../d.txt", "content": "d"}))]);
    project.world = World {
        provider: Arc::new(annals_runtime::testing::ScriptedProvider::new([
            read("c1", "../b.txt"),
            read("c2", "../c.txt"),
            write,
            ScriptedAttempt::text("done"),
        ])),
        ..project.world
    };
    let asked = Arc::new(Asked(Mutex::default(), Some(PermissionAnswer::Always)));
    project.world.approver = asked.clone();
    let session = project.run().await?;
    let folder = beside.display();
    assert_eq!(asked.all(), [format!("external_directory {folder}"), format!("edit {folder}/d.txt")]);
    assert_eq!(std::fs::read_to_string(beside.join("d.txt"))?, "d");
    let kept: Vec<String> = session.view().await?.permissions.rules.iter().map(|rule| rule.resource.clone()).collect();
    assert_eq!(kept, [folder.to_string(), format!("{folder}/d.txt")]);
    Ok(())
}

#[tokio::test]
async fn what_is_denied_is_not_asked_for_in_part() -> Tested {
    let turn = [
        calls(&[("c1", "write", json!({"path": "../d.txt", "content": "d"}))]),
        calls(&[("c2", "bash", json!({"command": "ls; rm -r src"}))]),
        ScriptedAttempt::text("done"),
    ];
    let rules =
        [rule("edit", "/*", Effect::Deny), rule("bash", "*", Effect::Allow), rule("bash", "rm *", Effect::Deny)];
    let mut project = Project::new(turn, &rules)?;
    let asked = Arc::new(Asked::default());
    project.world.approver = asked.clone();
    let outside = project.folder.path().canonicalize()?.join("d.txt");
    let session = project.run().await?;
    let history = history(&session).await?;
    assert_eq!(
        history[1..3],
        [
            format!("assistant tool-calls: write=error(Permission denied: edit on {})", outside.display()),
            "assistant tool-calls: bash=error(Permission denied: bash on rm -r src)".into(),
        ]
    );
    assert!(asked.all().is_empty() && !outside.exists());
    Ok(())
}

#[tokio::test]
async fn a_command_that_a_pattern_would_allow_in_part_is_asked_for() -> Tested {
    let turn = [
        calls(&[("c1", "bash", json!({"command": "echo a; echo $(echo b) > c"}))]),
        calls(&[("c2", "bash", json!({"command": "echo *"}))]),
        calls(&[("c3", "bash", json!({"command": "echo *"}))]),
        ScriptedAttempt::text("done"),
    ];
    let mut project = Project::new(turn, &[])?;
    let asked = Arc::new(Asked(Mutex::default(), Some(PermissionAnswer::Always)));
    project.world.approver = asked.clone();
    let session = project.run().await?;
    let first = "bash echo a | echo $ | echo b | > c | (echo a; echo $(echo b) > c)";
    assert_eq!(asked.all(), [first, "bash echo *", "bash echo *"], "an always remembers no pattern");
    assert!(session.view().await?.permissions.rules.iter().all(|rule| !rule.resource.contains('*')));
    Ok(())
}

#[tokio::test]
async fn an_interrupt_ends_the_process_group_before_the_call_is_settled() -> Tested {
    let command = "trap '' TERM; (trap '' TERM; echo $BASHPID > inner; while true; do sleep 1; done) & wait";
    let turn =
        [calls(&[("c1", "bash", json!({"command": command})), ("c2", "bash", json!({"command": "echo quick"}))])];
    let project = Project::new(turn, &[rule("*", "*", Effect::Allow)])?;
    let (_, session) = project.session().await?;
    session.admit(NewInput::steer("go")).await?;
    let running = session.clone();
    let run = tokio::spawn(async move { running.run().await });
    let inner = process(&project.at("inner")).await?;
    session.interrupt();
    assert_eq!(run.await??, Outcome::Interrupted);
    assert!(is_gone(inner));
    let history = history(&session).await?;
    assert!(history[1].contains("bash=error(Tool execution interrupted)"), "{history:?}");
    assert!(session.view().await?.calls.open.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_goes_away_takes_its_commands_along() -> Tested {
    let command = "sleep 1000 & echo $! > inner; wait";
    let project =
        Project::new([calls(&[("c1", "bash", json!({"command": command}))])], &[rule("*", "*", Effect::Allow)])?;
    let (runtime, session) = project.session().await?;
    session.admit(NewInput::steer("go")).await?;
    let run = tokio::spawn(async move { session.run().await });
    let inner = process(&project.at("inner")).await?;
    run.abort();
    drop(runtime);
    while !is_gone(inner) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn reading_a_file_brings_the_instructions_near_it_to_light() -> Tested {
    let turn = [calls(&[("c1", "read", json!({"path": "sub/a.txt"}))]), ScriptedAttempt::text("done")];
    let mut project = Project::new(turn, &[rule("*", "*", Effect::Allow)])?;
    project.put("sub/AGENTS.md", "Be brief.")?;
    project.put("sub/a.txt", "text")?;
    let config = Arc::new(InstructionFiles::default());
    project.world.services.nested = Some(NestedInstructions { files: Arc::new(RealFilesystem), config });
    let session = project.run().await?;
    let found = project.events(&session).await?.into_iter().find_map(|event| match event {
        Event::Context(ContextEvent::InstructionDiscovered(found)) => Some(found.path),
        _ => None,
    });
    assert_eq!(found, Some(project.at("sub/AGENTS.md").canonicalize()?.display().to_string()));
    Ok(())
}

#[tokio::test]
async fn a_long_output_is_kept_whole_in_a_file_and_in_the_log_with_both_ends() -> Tested {
    let turn = [calls(&[("c1", "bash", json!({"command": "seq 1 20000"}))]), ScriptedAttempt::text("done")];
    let project = Project::new(turn, &[rule("*", "*", Effect::Allow)])?;
    let session = project.run().await?;
    let events = project.events(&session).await?;
    let settled = events.iter().find_map(|event| match event {
        Event::Tool(ToolEvent::Settled(settled)) => Some(settled),
        _ => None,
    });
    let settled = settled.ok_or("a settlement")?;
    assert!(settled.truncated && !settled.lossy && settled.paths.len() == 1);
    let structured = settled.structured.as_ref().map(|json| json.value(&NoBlobs)).unwrap_or_default();
    assert_eq!((&structured["exit"], &structured["omitted"]), (&json!(0), &json!(0)));
    let blobs = session.blobs();
    let output = settled.output.resolve(&*blobs);
    assert!(output.starts_with("1\n2\n") && output.ends_with("20000\nCommand exited with code 0."));
    Ok(())
}

#[tokio::test]
async fn a_skill_is_loaded_from_its_folder() -> Tested {
    let turn = [calls(&[("c1", "skill", json!({"name": "audit"}))]), ScriptedAttempt::text("done")];
    let mut project = Project::new(turn, &[rule("*", "*", Effect::Allow)])?;
    project.put(".agents/skills/audit/SKILL.md", "---\nname: audit\ndescription: Reads logs.\n---\nRead the log.\n")?;
    let root = project.at(".agents/skills").display().to_string();
    let catalogue = Arc::new(skills::SkillFolders::new(Arc::new(RealFilesystem), [root.clone()]));
    project.world.services.tools.register([Arc::new(SkillTool::new(catalogue.clone())) as Arc<dyn Tool>])?.detach();
    project.world.services.skills = Some(catalogue);
    let session = project.run().await?;
    let expected = format!(
        "assistant tool-calls: skill=completed(Read the log.\n\nThe files that this skill names lie in {root}/audit.)"
    );
    assert!(history(&session).await?.contains(&expected), "{:?}", history(&session).await?);
    Ok(())
}
