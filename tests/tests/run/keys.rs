//! Every key of the configuration, from the file to what the model sees; where no request can show a key, to the part of the
//! host that it reaches. A key without a row in the table fails the test.

mod rows;
mod table;

use annals_config::{Config, ConfigKey, Environment, KEYS, ValueKind, Variables};
use annals_core::event::Location;
use annals_host::{Chosen, HostContext, HostProgram, RunOptions, StoreChoice, configured};
use annals_projections::Request;
use annals_runtime::Session;
use annals_runtime::host::{HostParts, QuestionSender, StoreHost};
use annals_runtime::ports::{AnswerStream, Provider, ProviderRequest};
use annals_runtime::testing::{ScriptedAttempt, ScriptedProvider};
use annals_store::MemoryLog;
use annals_store::disk::StorePath;
use rows::table;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use table::{ALLOWED, Seen};

/// What every configuration begins with.
const BASE: &str = "model = \"anthropic/claude-sonnet-5\"\ntitles = false\n";

/// The paths of the keys below one, with `NAME` for what users name.
fn paths(keys: &[ConfigKey], below: &str) -> Vec<String> {
    let of = |key: &ConfigKey| match key.kind {
        ValueKind::Table(inner) => paths(inner, &format!("{below}{}.", key.name)),
        ValueKind::Each(inner) => paths(inner, &format!("{below}{}.NAME.", key.name)),
        _ => vec![format!("{below}{}", key.name)],
    };
    keys.iter().flat_map(of).collect()
}

/// A provider that keeps what it is sent.
struct Listener {
    answers: ScriptedProvider,
    heard: Arc<Mutex<Vec<Arc<Request>>>>,
}

impl Provider for Listener {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(request.request.clone());
        self.answers.send(request)
    }
}

/// A home and a project with a configuration.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new(toml: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let world = Self { folder };
        for (path, text) in [
            ("home/.config/annals/config.toml", format!("{toml}\n")),
            ("home/own.md", "Text of a file.".into()),
            ("home/rules.md", "A further rule.".into()),
            ("home/global.md", "A global rule.".into()),
            ("home/more/dive/SKILL.md", "---\nname: dive\ndescription: Dives.\n---\nDive.".into()),
            (
                "home/models.json",
                r#"{"lists": {"api": "https://l/v1", "npm": "@ai-sdk/openai-compatible", "models": {"m": {}}}}"#.into(),
            ),
            ("project/.git/HEAD", "ref: refs/heads/main".into()),
            ("project/AGENTS.md", "The rule of the project.".into()),
            ("project/long.md", "A long text. ".repeat(40)),
            ("project/RULES.md", "A rule by another name.".into()),
        ] {
            let path = world.folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A text without the folder, which differs from world to world.
    fn without_home(&self, text: String) -> String {
        text.replace(&self.folder.path().display().to_string(), "WORLD")
    }

    fn environment(&self) -> Environment {
        let variable = |name, value: &str| (name, value.to_owned());
        let home = self.at("home").display().to_string();
        let mut variables = vec![
            variable("HOME", &home),
            variable("ANTHROPIC_API_KEY", "a"),
            variable("OPENAI_API_KEY", "b"),
            variable("OWN_SECRET", "hunter2-correct-horse"),
            variable("OWN_PASSED", "passed"),
            variable("OWN_PLAIN", "plain-looking-words"),
            variable("API_TOKEN", "pa55word-of-the-house"),
        ];
        variables.extend(std::env::var("PATH").ok().map(|path| ("PATH", path)));
        Environment { variables: Variables::fixed(variables), directory: self.at("project") }
    }

    fn config(&self) -> Result<Config, String> {
        self.environment().config(&self.at("project")).map_err(|error| error.to_string())
    }

    fn parts(&self) -> Result<(HostParts, annals_host::Chosen), String> {
        let program = HostProgram { name: "test", version: "0", build: None };
        let place = StoreChoice::of(Some(&self.at("store")), None).map_err(|error| error.to_string())?;
        let context = HostContext::new(program, place, self.environment());
        let (questions, _) = QuestionSender::channel();
        configured(&context, &RunOptions::default(), None, questions).map_err(|error| error.to_string())
    }

    /// A session whose provider gives these answers.
    async fn running(&self, answers: Vec<ScriptedAttempt>) -> Result<Running, String> {
        let shown = |error: &dyn std::error::Error| error.to_string();
        let (mut parts, chosen) = self.parts()?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        parts.provider = Arc::new(Listener { answers: ScriptedProvider::new(answers), heard: heard.clone() });
        let store = self.at("store");
        std::fs::create_dir_all(&store).map_err(|error| shown(&error))?;
        let opened = StoreHost::open(Arc::new(MemoryLog::new()), None, StorePath::from(store), parts);
        let host = opened.map_err(|error| shown(&error))?;
        let session = host.runtime.create(chosen.new_session()).await.map_err(|error| shown(&error))?;
        let location = Location { directory: chosen.directory.clone(), workspace: None };
        host.prepare_location(&location).await;
        Ok(Running { _host: host, session, chosen, heard })
    }

    /// Everything that providers were sent in a session of one prompt, as text.
    async fn sent(&self, prompt: &str, answers: Vec<ScriptedAttempt>) -> Result<String, String> {
        let running = self.running(answers).await?;
        running.ask(prompt).await;
        let view = running.session.view().await.map_err(|error| error.to_string())?;
        let policy = format!("policy {:?}", view.session.policy);
        let requests: Vec<String> = running.heard().iter().map(|request| shown(request)).collect();
        Ok([vec![policy], requests].concat().join("\n"))
    }
}

/// A session and what its provider was sent.
struct Running {
    _host: StoreHost,
    session: Session,
    chosen: Chosen,
    heard: Arc<Mutex<Vec<Arc<Request>>>>,
}

impl Running {
    /// Asks, and gives the newest request. A run that fails shows what was sent all the same.
    async fn ask(&self, prompt: &str) -> String {
        if let Err(error) = self.session.ask(prompt).await {
            eprintln!("{error}");
        }
        self.heard().last().map(|request| request.to_json().to_string()).unwrap_or_default()
    }

    fn heard(&self) -> Vec<Arc<Request>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn shown(request: &Request) -> String {
    let tools: Vec<Value> = request.tools.iter().map(|tool| serde_json::to_value(tool).unwrap_or_default()).collect();
    let shown = json!({
        "request": request.to_json(), "definitions": tools, "model": format!("{:?}", request.model),
        "options": format!("{:?}", request.options), "purpose": request.purpose.to_string(),
    });
    serde_json::to_string_pretty(&shown).unwrap_or_default()
}

#[test]
fn every_key_has_a_row() {
    let keys: BTreeSet<String> = paths(KEYS, "").into_iter().collect();
    let rows: Vec<String> = table().into_iter().map(|row| row.key.to_owned()).collect();
    let listed: BTreeSet<String> = rows.iter().cloned().collect();
    let missing: Vec<&String> = keys.difference(&listed).collect();
    assert!(missing.is_empty(), "keys that no row runs to what they do: {missing:?}");
    let unknown: Vec<&String> = listed.difference(&keys).collect();
    assert!(unknown.is_empty(), "rows of keys that do not exist: {unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_reaches_what_it_is_for() {
    let mut wrong = Vec::new();
    for row in table() {
        if let Err(why) = reaches(&row).await {
            wrong.push(format!("{}: {why}", row.key));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a row's value has its effect, and nothing has it without the value.
async fn reaches(row: &table::Row) -> Result<(), String> {
    let (with, without) = (World::new(&row.toml), World::new(&row.base));
    let (seen, before, expected, absent) = match &row.seen {
        Seen::Sent(expected) => (sent(&with, row).await?, sent(&without, row).await?, *expected, false),
        Seen::NotSent(expected) => (sent(&with, row).await?, sent(&without, row).await?, *expected, true),
        Seen::Differs(part) => {
            let shown = |world: &World| Ok::<_, String>(world.without_home(part(&world.config()?)));
            let differs = shown(&with)? != shown(&without)?;
            return if differs { Ok(()) } else { Err("it changes nothing".to_owned()) };
        }
        Seen::Part(part, expected) => (part(&with.config()?), part(&without.config()?), *expected, false),
    };
    let (seen, before) = (with.without_home(seen), without.without_home(before));
    match (seen.contains(expected), before.contains(expected)) {
        (seen, before) if seen != absent && before == absent => Ok(()),
        (true, true) => Err(format!("{expected:?} is there without the key as well")),
        (false, false) => Err(format!("{expected:?} is not in {seen}")),
        (seen, _) => Err(format!("{expected:?}: {seen}, and the other way round was expected")),
    }
}

async fn sent(world: &World, row: &table::Row) -> Result<String, String> {
    world.sent(row.prompt, row.answers.clone()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_is_edited_counts_from_the_next_request_on() {
    let world = World::new(BASE);
    let running = world.running(vec![ScriptedAttempt::text("ok"); 5]).await.expect("a session");
    let asked = |text| running.ask(text);
    let file = world.at("home/.config/annals/config.toml");
    let write = |text: &str| std::fs::write(&file, format!("{BASE}{text}")).expect("a file");
    let source = "[context.ticket]\ncommand = [\"echo\", \"Ticket 7.\"]\n";
    assert!(!asked("one").await.contains("Ticket 7."));
    write(source);
    assert!(asked("two").await.contains("Ticket 7."), "a source that was added");
    write("[context.ticket]\ncommand = 1\n");
    assert!(!asked("three").await.contains("no longer applies"), "what is wrong is not used");
    write("[skills]\nfolders = [\"~/more\"]\n[instructions]\nfiles = [\"~/rules.md\"]\n");
    let now = asked("four").await;
    for expected in ["`config/ticket` no longer applies", "Dives.", "A further rule."] {
        assert!(now.contains(expected), "{expected} is not in {now}");
    }
    let command = world.at("home/.config/annals/commands/hail.md");
    assert!(!running.chosen.expander.is_template("/hail"));
    std::fs::create_dir_all(command.parent().expect("a folder")).expect("a folder");
    std::fs::write(&command, "Hail $1!").expect("a file");
    assert_eq!(running.chosen.expander.expand("/hail Ada", None).await.text, "Hail Ada!");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_hooks_and_servers_that_are_edited_count_from_the_next_request_on() {
    let base = format!("{BASE}{ALLOWED}");
    let world = World::new(&base);
    let calls = |id: &str, tool: &str| ScriptedAttempt::call(id, tool, "{}");
    let ok = || ScriptedAttempt::text("ok");
    let answers = vec![ok(), calls("c1", "status"), ok(), calls("c2", "ls"), ok(), calls("c3", "ls"), ok()];
    let running = world.running(answers).await.expect("a session");
    let write = |text: &str| {
        std::fs::write(world.at("home/.config/annals/config.toml"), format!("{base}{text}")).expect("a file");
    };
    running.ask("one").await;
    let (started, boundary) = (world.at("started"), world.at("boundary"));
    write(&format!(
        "[custom_tools.status]\ncommand = [\"echo\", \"All is well.\"]\n[custom_tools.ls]\ncommand = [\"echo\", \"Listed.\"]\n\
         [hooks.after]\non = \"after_tool\"\ncommand = [\"echo\", \"Hooked.\"]\n\
         [hooks.before]\non = \"boundary\"\ncommand = [\"touch\", {boundary:?}]\n\
         [mcp.ends]\ncommand = [\"touch\", {started:?}]\n"
    ));
    let answer = running.ask("two").await;
    assert!(answer.contains("All is well.\\nHooked."), "{answer}");
    assert!(started.exists() && boundary.exists());
    let answer = running.ask("three").await;
    assert!(answer.contains("Listed."), "it takes the place of a built-in tool: {answer}");
    write("");
    let answer = running.ask("four").await;
    assert_eq!((answer.matches("Listed.").count(), answer.matches("Hooked.").count()), (1, 2), "{answer}");
    let offered = running.heard().iter().map(|request| request.tool_names().contains(&"status")).collect::<Vec<_>>();
    assert_eq!(offered, [false, true, true, true, true, false, false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_program_that_prints_nothing_is_told_as_gone_and_stops_nothing() {
    let world = World::new("");
    let file = world.at("ticket");
    let config =
        format!("{BASE}[context.ticket]\ncommand = [\"cat\", {:?}]\nchanged = \"Now:\"\n", file.display().to_string());
    std::fs::write(world.at("home/.config/annals/config.toml"), config).expect("a file");
    let print = |text: &str| std::fs::write(&file, text).expect("a file");
    print("");
    let running = world.running(vec![ScriptedAttempt::text("ok"); 6]).await.expect("a session");
    assert!(running.ask("one").await.contains("one"), "nothing at the first request is no reason to wait");
    print("Ticket 7.");
    assert!(running.ask("two").await.contains("Ticket 7."));
    print("Ticket 8.");
    assert!(running.ask("three").await.contains("Now:\\nTicket 8."));
    print("\n");
    assert!(running.ask("four").await.contains("The context `config/ticket` no longer applies."));
    std::fs::remove_file(&file).expect("the file");
    running.ask("five").await;
    let answer = running.ask("six").await;
    assert_eq!(answer.matches("no longer applies").count(), 1, "a program that fails changes nothing: {answer}");
    assert_eq!(running.heard().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subagent_has_todos_and_tasks_only_by_a_rule_of_its_own() {
    let task = r#"{"description":"d","prompt":"p","subagent_type":"helper"}"#;
    let helper = "[tasks]\ndepth = 2\n[agents.helper]\ndescription = \"Helps.\"\nmode = \"subagent\"\n";
    let own = "permissions = [[\"todo\", \"*\", \"allow\"], [\"task\", \"*\", \"allow\"]]\n";
    for (rules, expected) in [("", [false, false]), (own, [true, true])] {
        let world = World::new(&format!("{BASE}{ALLOWED}{helper}{rules}"));
        let mut answers = vec![ScriptedAttempt::call("c1", "task", task)];
        answers.extend(vec![ScriptedAttempt::text("ok"); 3]);
        let running = world.running(answers).await.expect("a session");
        running.ask("let the helper do it").await;
        let heard = running.heard();
        let child = heard.iter().find(|request| request.agent.as_str() == "helper").expect("a request of the child");
        let has = ["todo", "task"].map(|tool| child.tool_names().contains(&tool));
        assert_eq!(has, expected, "{:?}", child.tool_names());
        let parent = heard.first().expect("a request").tool_names().contains(&"todo");
        assert!(parent, "a session of the user has todos");
    }
}
