//! `annals mcp`: the MCP servers that are configured.

mod found;
mod inspect;

use crate::command_context::CommandContext;
use crate::error::{CliError, McpCommandError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::Emphasis;
use annals_config::{Config, PROJECT_FILE, WrittenServer, remove_server, write_server};
use annals_host::Signals;
use annals_tools::mcp::{McpServer, is_logged_in, log_in, log_out};
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Add, list, remove and try MCP servers, and log in to them.
///
/// Servers are in the configuration (`[mcp.NAME]`); their tools are offered in `annals run` and `chat` as mcp__SERVER__TOOL.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: McpCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum McpCommand {
    /// Add a server: a program, or an address.
    Add(AddArgs),
    /// List the configured servers.
    List,
    /// Remove a server from the configuration.
    Remove(RemoveArgs),
    /// Log in to a server in the browser (OAuth).
    Login(NameArgs),
    /// Forget the login to a server.
    Logout(NameArgs),
    /// Start a server, or connect to it, and show what it offers.
    Inspect(NameArgs),
    /// Add the servers that Claude Code, Codex and .mcp.json have.
    Import(ImportArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct AddArgs {
    /// Use this name: letters, digits, `-` and `_`.
    #[arg(value_name = "NAME")]
    name: String,
    /// The program and its arguments (after `--`, if they begin with a dash), or an address.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<String>,
    /// The address of a server that is reached by HTTP.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Set an environment variable for the program; may be repeated.
    #[arg(long, short = 'e', value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Let the program see one of your environment variables; may be repeated.
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Send a header to the address; may be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Send the token in this environment variable to the address.
    #[arg(long, value_name = "NAME")]
    bearer_env: Option<String>,
    /// Write it into the file of the project, .annals/config.toml, instead of yours.
    #[arg(long)]
    project: bool,
    /// Replace a server of the same name.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct NameArgs {
    /// The server.
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Clone, Debug, clap::Args)]
struct RemoveArgs {
    /// The server.
    #[arg(value_name = "NAME")]
    name: String,
    /// Remove it from the file of the project instead of yours.
    #[arg(long)]
    project: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct ImportArgs {
    /// Read this file: .mcp.json, .claude.json or config.toml of Codex (default: those of this project and of yours).
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    match &args.what {
        McpCommand::Add(args) => add(args, cli),
        McpCommand::List => list(cli, out),
        McpCommand::Remove(args) => remove(args, cli),
        McpCommand::Login(args) => login(&args.name, cli, out).await,
        McpCommand::Logout(args) => logout(&args.name, cli),
        McpCommand::Inspect(args) => {
            let server = named(&config(cli)?, &args.name)?;
            inspect::run(server, cli, out).await
        }
        McpCommand::Import(args) => found::run(args.file.as_deref(), cli, out),
    }
}

fn config(cli: &CommandContext) -> Result<Config, CliError> {
    Ok(cli.environment.config(&cli.environment.directory)?)
}

/// A configured server.
fn named(config: &Config, name: &str) -> Result<McpServer, McpCommandError> {
    let servers = config.mcp();
    let known = servers.iter().map(|server| server.name.clone()).collect();
    let found = servers.into_iter().find(|server| server.name == name);
    found.ok_or_else(|| McpCommandError::Unknown { name: name.to_owned(), known })
}

/// The file that is changed.
fn file(project: bool, cli: &CommandContext) -> Result<PathBuf, CliError> {
    let config = config(cli)?;
    Ok(match (project, &config.project) {
        (false, _) => config.files().0.to_owned(),
        (true, Some(project)) => project.file.clone(),
        (true, None) => annals_host::project::root(&cli.environment.directory).join(PROJECT_FILE),
    })
}

fn add(args: &AddArgs, cli: &CommandContext) -> Result<Verdict, CliError> {
    let mut server = WrittenServer {
        command: args.command.clone(),
        url: args.url.clone(),
        env: pairs(&args.env, '=')?,
        pass_env: args.pass_env.clone(),
        headers: pairs(&args.header, ':')?,
        bearer_env: args.bearer_env.clone(),
    };
    if let ([address], None) = (server.command.as_slice(), &server.url)
        && (address.starts_with("https://") || address.starts_with("http://"))
    {
        server.url = server.command.pop();
    }
    match (server.command.is_empty(), &server.url) {
        (true, None) => return Err(McpCommandError::Nothing.into()),
        (false, Some(_)) => return Err(McpCommandError::Both.into()),
        _ => {}
    }
    annals_config::check_server_name(&args.name).map_err(McpCommandError::Name)?;
    let file = file(args.project, cli)?;
    if !write_server(&file, &args.name, &server, args.force)? {
        return Err(McpCommandError::There { name: args.name.clone(), file }.into());
    }
    cli.remark(&plain(&format!(
        "{} added to {}; to try it: annals mcp inspect {}",
        args.name,
        file.display(),
        args.name
    )));
    if args.project {
        cli.remark("it is started once you trust the project's configuration: annals config trust");
    }
    Ok(Verdict::Fine)
}

fn pairs(texts: &[String], sign: char) -> Result<Vec<(String, String)>, McpCommandError> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once(sign).ok_or_else(|| McpCommandError::NoPair { text: text.clone(), sign })?;
        Ok((name.trim().to_owned(), value.trim_start().to_owned()))
    };
    texts.iter().map(pair).collect()
}

fn list(cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let config = config(cli)?;
    let servers = config.mcp();
    if cli.style.json {
        json::list(out, servers.iter().map(|server| in_json(server, &config)))?;
        return Ok(Verdict::Fine);
    }
    if servers.is_empty() {
        cli.remark("no MCP server is configured; to add one: annals mcp add NAME COMMAND...");
    }
    let width = servers.iter().map(|server| server.name.len()).max().unwrap_or_default();
    for server in &servers {
        let mut row = plain(&what(server));
        if is_logged_in(server) {
            row.push_str(" · logged in");
        }
        let from = config.mcp_origin(&server.name).unwrap_or_default();
        let from = cli.style.paint(Emphasis::Dim, &format!("  # {}", plain(&from)));
        writeln!(out, "{:width$}  {row}{from}", server.name)?;
    }
    Ok(Verdict::Fine)
}

/// The command or the address.
fn what(server: &McpServer) -> String {
    match &server.http {
        Some(endpoint) => endpoint.url.clone(),
        None => [std::slice::from_ref(&server.program), &server.arguments].concat().join(" "),
    }
}

fn in_json(server: &McpServer, config: &Config) -> Value {
    let command = [std::slice::from_ref(&server.program), &server.arguments].concat();
    json!({
        "name": server.name,
        "command": server.http.is_none().then_some(command),
        "url": server.http.as_ref().map(|endpoint| &endpoint.url),
        "logged_in": is_logged_in(server),
        "origin": config.mcp_origin(&server.name),
    })
}

fn remove(args: &RemoveArgs, cli: &CommandContext) -> Result<Verdict, CliError> {
    let server = config(cli).ok().and_then(|config| named(&config, &args.name).ok());
    let file = file(args.project, cli)?;
    if !remove_server(&file, &args.name)? {
        return Err(McpCommandError::NotThere { name: args.name.clone(), file }.into());
    }
    if let Some(server) = server {
        log_out(&server).map_err(McpCommandError::Server)?;
    }
    cli.remark(&plain(&format!("{} removed from {}", args.name, file.display())));
    Ok(Verdict::Fine)
}

async fn login(name: &str, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let server = named(&config(cli)?, name)?;
    let (sender, address) = tokio::sync::oneshot::channel();
    let show = move |page: &str| drop(sender.send(page.to_owned()));
    let mut signals = Signals::listen()?;
    let logging_in = log_in(&server, show);
    tokio::pin!(logging_in, address);
    let mut is_shown = false;
    loop {
        tokio::select! {
            page = &mut address, if !is_shown => {
                is_shown = true;
                if let Ok(page) = page {
                    writeln!(out, "{page}")?;
                    out.flush()?;
                    cli.remark("open this page in a browser to log in; Ctrl-C gives up");
                }
            }
            done = &mut logging_in => {
                done.map_err(McpCommandError::Server)?;
                cli.remark(&plain(&format!("logged in to {name}")));
                return Ok(Verdict::Fine);
            }
            _ = signals.next() => return Ok(Verdict::BadNews),
        }
    }
}

fn logout(name: &str, cli: &CommandContext) -> Result<Verdict, CliError> {
    let server = named(&config(cli)?, name)?;
    let was_in = log_out(&server).map_err(McpCommandError::Server)?;
    cli.remark(&plain(&if was_in { format!("logged out of {name}") } else { format!("there is no login to {name}") }));
    Ok(Verdict::Fine)
}
