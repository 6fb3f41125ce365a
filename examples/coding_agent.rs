//! A coding agent in the terminal, of the parts that `annals run` has: your configuration (models, keys, agents, rules, instructions,
//! skills, MCP servers), the tools of `annals-tools`, and a store on disk.
//!
//! `cargo run -p annals-examples --bin coding_agent -- "which tests are slow?"` works in the current directory with the model of
//! your configuration. Without a prompt it reads a note in a folder of its own, with a scripted server as the model.

mod scripted_server;

use annals_config::{Environment, VARIABLE, Variables};
use annals_core::SessionId;
use annals_core::event::Location;
use annals_providers::http::HttpProvider;
use annals_runtime::host::{HostParts, StoreHost};
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use annals_runtime::ports::{SystemClock, now_of};
use annals_runtime::{Boxed, NewSession, Settings};
use annals_store::disk::StorePath;
use annals_store::{OpenMode, SharedLog};
use annals_tools::mcp::McpServers;
use annals_tools::{BackgroundCommands, LocalServices, OwnFolders};
use std::error::Error;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::Path;
use std::sync::Arc;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let prompt = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let folder = tempfile::tempdir()?;
    let (environment, prompt) = match prompt.is_empty() {
        true => (demonstration(folder.path()).await?, "What does notes.txt say?".to_owned()),
        false => (Environment::of_process(), prompt),
    };
    let store = match environment.variables.get("ANNALS_STORE") {
        Some(store) => store.into(),
        None => std::env::temp_dir().join("annals-coding-agent"),
    };
    let (session, answer) = asked(&environment, &store, &prompt).await?;
    println!("{answer}");
    eprintln!("annals --store {} replay {session}", store.display());
    Ok(())
}

/// Asks the configured model in a new session of the directory.
async fn asked(environment: &Environment, store: &Path, prompt: &str) -> Result<(SessionId, String), Failure> {
    let config = Arc::new(environment.config(&environment.directory)?);
    let agent = config.default_agent();
    let model =
        config.default_model(&agent).ok_or("no model: write `model = \"PROVIDER/NAME\"` into your configuration")?;
    let log = SharedLog::open(store, OpenMode::Create).await?;
    let parts = HostParts {
        provider: Arc::new(HttpProvider::new(config.clone(), now_of(Arc::new(SystemClock::local())))),
        definitions: config.clone(),
        settings: Settings {
            compaction: config.compaction(),
            output: config.output(),
            redactor: config.redactor(),
            ..Settings::default()
        },
        services_at: Arc::new(LocalServices {
            builtins: config.builtins(),
            instructions: config.instructions(),
            skills: config.skills(),
            hidden: Vec::new(),
            variables: config.shown_variables(),
            sandbox: None,
            output: config.output(),
            mcp: McpServers::new(config.mcp()),
            command_limit_ms: config.command_limit_ms(),
            commands: BackgroundCommands::default(),
            search: config.search(),
            servers: config.language_servers(),
            user: None,
            custom_tools: config.custom_tools(),
            editor: None,
            terminals: Arc::new(config.terminal_variables()),
            context: config.context_programs(),
            configuration: None,
            own: OwnFolders::default(),
        }),
        subagents: config.subagents(),
        clock: Arc::new(config.clock()),
        approver: Arc::new(Terminal),
    };
    let host = StoreHost::open(Arc::new(log.clone()), None, StorePath::held(log.folder()?), parts)?;
    let location = Location { directory: environment.directory.display().to_string(), workspace: None };
    for remark in host.prepare_location(&location).await {
        eprintln!("{remark}");
    }
    let new = NewSession { policy: config.policy(), ..NewSession::at(location.directory, agent, model) };
    let session = host.runtime.create(new).await?;
    Ok((session.id(), session.ask(prompt).await?))
}

/// Asks at the terminal what no rule decides; without a terminal the answer is no.
struct Terminal;

impl Approver for Terminal {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        Box::pin(async move {
            // What a model wrote must not control the terminal.
            let input: String = question.input.chars().flat_map(char::escape_debug).collect();
            let allowed = tokio::task::spawn_blocking(move || confirmed(&format!("{} {input}", question.tool))).await;
            let answer = match allowed {
                Ok(true) => PermissionAnswer::Once,
                Ok(false) | Err(_) => PermissionAnswer::Reject { feedback: None },
            };
            Answered { answer, by: "user".into() }
        })
    }
}

fn confirmed(what: &str) -> bool {
    if !stdin().is_terminal() {
        return false;
    }
    print!("{what}\nAllow it? [y/N] ");
    let mut line = String::new();
    let read = stdout().flush().and_then(|()| stdin().read_line(&mut line));
    read.is_ok() && line.trim().eq_ignore_ascii_case("y")
}

/// A folder with a note, a configuration and a store, and a server whose model reads the note.
async fn demonstration(folder: &Path) -> Result<Environment, Failure> {
    let url = scripted_server::url().await?;
    std::fs::write(folder.join("notes.txt"), "Ship on Friday.")?;
    let config = folder.join("config.toml");
    let text = format!(
        "model = \"local/scripted\"\n[providers.local]\nbase_url = \"{url}\"\n[models.\"local/scripted\"]\ncontext = 32000\noutput = 4000\n"
    );
    std::fs::write(&config, text)?;
    let path = |name: &str| folder.join(name).display().to_string();
    let variables = [(VARIABLE, path("config.toml")), ("HOME", path("")), ("ANNALS_STORE", path("store"))];
    Ok(Environment { variables: Variables::fixed(variables), directory: folder.to_owned() })
}
