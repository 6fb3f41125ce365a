//! `annals config`: what is configured, where each value comes from, and which projects are trusted.

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json::object;
use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_config::{ConfigError, ConfigLayer, LoadedConfig, Places, ProjectFile, Setting, Trust, ValueOrigin, shown};
use annals_guard::redaction::Redactor;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The indentation of what does not fit on a line.
const BELOW: &str = "    ";

/// Show the configuration, or trust that of a project.
///
/// There is a user file (`annals config path` shows where) and a project file, `.annals/config.toml`, which takes
/// precedence. Project values that could harm you (commands, addresses that get your keys, rules that allow more)
/// apply only after `annals config trust`, and no longer once the file has changed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<ConfigCommand>,
}

#[derive(Clone, Debug, Subcommand)]
enum ConfigCommand {
    /// Show every value and where it comes from (default).
    Show(ProjectDirectory),
    /// Show the paths of the configuration files.
    Path(ProjectDirectory),
    /// Trust the configuration of a project until it changes.
    Trust(ProjectDirectory),
    /// Stop trusting the configuration of a project.
    Untrust(ProjectDirectory),
}

#[derive(Clone, Debug, Default, clap::Args)]
struct ProjectDirectory {
    /// The project, or a directory in it (default: the current directory).
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub fn run(args: &Args, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    match &args.what {
        None => show(&ProjectDirectory::default(), cli, out),
        Some(ConfigCommand::Show(at)) => show(at, cli, out),
        Some(ConfigCommand::Path(at)) => path(at, cli, out),
        Some(ConfigCommand::Trust(at)) => trust(at, cli, out),
        Some(ConfigCommand::Untrust(at)) => untrust(at, cli, out),
    }
}

fn show(at: &ProjectDirectory, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let LoadedConfig { config, refused, .. } =
        cli.environment.examined(&cli.environment.directory(at.directory.as_deref()))?;
    let settings: Vec<&Setting> =
        config.settings.all().iter().filter(|setting| says_something(setting, &config.settings)).collect();
    let mut settings = settings;
    // In one table's order of arrival, tables by name.
    settings.sort_by(|a, b| a.path.cmp(&b.path));
    if cli.style.json {
        let values: Vec<Value> = settings.iter().map(|setting| in_json(setting)).collect();
        let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
        object(out, &json!({"values": values, "refused": refused}))?;
        return Ok(Verdict::bad_if(!refused.is_empty()));
    }
    let places = cli.environment.places()?;
    let root = config.project.as_ref().map(|project| project.root.as_path());
    for setting in settings {
        let emphasis = if setting.origin == ValueOrigin::BuiltIn { Emphasis::Dim } else { Emphasis::Plain };
        let from = format!("# {}", plain(&from(&setting.origin, places.home.as_deref(), root)));
        draw(&line(setting), emphasis, &from, &cli.style, out)?;
    }
    if refused.is_empty() {
        return Ok(Verdict::Fine);
    }
    let untrusted = config.project.map(|project| ConfigError::Untrusted {
        problems: refused,
        file: project.file,
        project: project.root,
    });
    if let Some(untrusted) = untrusted {
        cli.remarks.say(Emphasis::Bad, &untrusted.to_string());
    }
    Ok(Verdict::BadNews)
}

/// A value and where it comes from: on one line, or below one another, indented.
fn draw(line: &str, emphasis: Emphasis, from: &str, style: &Style, out: &mut dyn Write) -> std::io::Result<()> {
    let from_painted = style.paint(Emphasis::Dim, from);
    if columns(line) + 2 + columns(from) <= style.width {
        return writeln!(out, "{}  {from_painted}", style.paint(emphasis, line));
    }
    let lines = wrap(line, style.width.saturating_sub(BELOW.len()));
    for (at, part) in lines.iter().enumerate() {
        writeln!(out, "{}{}", if at == 0 { "" } else { BELOW }, style.paint(emphasis, part))?;
    }
    writeln!(out, "{BELOW}{from_painted}")
}

/// Where a value comes from, in brief: a file of the project's by its place in that, one of the user's by its place at home.
fn from(origin: &ValueOrigin, home: Option<&Path>, project: Option<&Path>) -> String {
    let ValueOrigin::File { layer, path, line } = origin else { return origin.to_string() };
    let within = |folder: Option<&Path>| path.strip_prefix(folder?).ok();
    match layer {
        ConfigLayer::Project => within(project).map(|within| format!("{}:{line} (project)", within.display())),
        ConfigLayer::User => within(home).map(|within| format!("~/{}:{line}", within.display())),
    }
    .unwrap_or_else(|| origin.to_string())
}

/// An empty table is not shown when other settings show its content.
fn says_something(setting: &Setting, all: &annals_config::MergedSettings) -> bool {
    let is_marker = setting.value.as_object().is_some_and(serde_json::Map::is_empty);
    !is_marker
        || !all.all().iter().any(|other| other.path.len() > setting.path.len() && other.path.starts_with(&setting.path))
}

fn line(setting: &Setting) -> String {
    plain(&format!("{} = {}", shown(&setting.path), value(setting)))
}

/// Values that may be secrets are not shown, and secrets in others neither.
fn value(setting: &Setting) -> Value {
    match setting.path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["providers", _, "headers", _] => "[hidden]".into(),
        _ => match &setting.value {
            Value::String(text) => Redactor::default().redact(text).text.into_owned().into(),
            other => other.clone(),
        },
    }
}

fn in_json(setting: &Setting) -> Value {
    let origin = match &setting.origin {
        ValueOrigin::BuiltIn => json!({"built_in": true}),
        ValueOrigin::Environment(name) => json!({"variable": name}),
        ValueOrigin::File { layer, path, line } => {
            let layer = match layer {
                ConfigLayer::User => "user",
                ConfigLayer::Project => "project",
            };
            json!({"file": path.to_string_lossy(), "line": line, "of": layer})
        }
    };
    json!({"key": setting.path, "value": value(setting), "origin": origin})
}

fn path(at: &ProjectDirectory, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let places = cli.environment.places()?;
    let directory = cli.environment.directory(at.directory.as_deref());
    let project = ProjectFile::find(&directory, &cli.environment.variables);
    let trusted = match &project {
        Some(project) => Some(Trust::kept_in(&places.trust).holds(project, &text(project)?)?),
        None => None,
    };
    if cli.style.json {
        object(
            out,
            &json!({
                "user": {"file": places.user_file.to_string_lossy(), "exists": places.user_file.is_file()},
                "project": project.map(|project| json!({"file": project.file.to_string_lossy(), "trusted": trusted})),
            }),
        )?;
        return Ok(Verdict::Fine);
    }
    let aside = |style: &Style, text: &str| style.paint(Emphasis::Dim, text);
    let Places { user_file, .. } = &places;
    let there = if user_file.is_file() { "" } else { "  (does not exist)" };
    writeln!(out, "user     {}{}", user_file.display(), aside(&cli.style, there))?;
    match project {
        Some(project) => {
            let trusted = if trusted == Some(true) { "  (trusted)" } else { "  (not trusted)" };
            writeln!(out, "project  {}{}", project.file.display(), aside(&cli.style, trusted))?;
        }
        None => writeln!(out, "project  {}", aside(&cli.style, "none (it would be .annals/config.toml)"))?,
    }
    Ok(Verdict::Fine)
}

fn trust(at: &ProjectDirectory, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let (places, project) = named(at, cli)?;
    // Only a valid file is trusted, and exactly the text that was checked, even if the file has changed since.
    let LoadedConfig { refused, text, .. } = cli.environment.examined(&project.root)?;
    let text = text.ok_or_else(|| ConfigError::NoProject { directory: project.root.clone() })?;
    Trust::kept_in(&places.trust).give(&project, &text)?;
    for problem in &refused {
        writeln!(out, "{}  {}", cli.style.paint(Emphasis::Warn, "allowed"), plain(&problem.to_string()))?;
    }
    writeln!(out, "{} is trusted until it changes.", project.file.display())?;
    Ok(Verdict::Fine)
}

fn untrust(at: &ProjectDirectory, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let (places, project) = named(at, cli)?;
    let was = Trust::kept_in(&places.trust).take(&project)?;
    let outcome = if was { "is no longer trusted" } else { "was not trusted" };
    writeln!(out, "{} {outcome}.", project.file.display())?;
    Ok(Verdict::Fine)
}

fn named(at: &ProjectDirectory, cli: &CommandContext) -> Result<(Places, ProjectFile), CliError> {
    let directory = cli.environment.directory(at.directory.as_deref());
    let found = ProjectFile::find(&directory, &cli.environment.variables);
    let project = found.ok_or(ConfigError::NoProject { directory })?;
    Ok((cli.environment.places()?, project))
}

fn text(project: &ProjectFile) -> Result<String, ConfigError> {
    std::fs::read_to_string(&project.file).map_err(|source| ConfigError::File { path: project.file.clone(), source })
}
