//! The sources of an import: the named files, or what agents keep on this machine.

use super::Args;
use crate::command_context::CommandContext;
use crate::error::{CliError, ImportCommandError};
use crate::import_into::shown_by;
use crate::json;
use crate::layout::{clip, columns, name, pad, plain};
use crate::progress::Bar;
use crate::shown_title::{shown_title, without_keys};
use crate::style::{Emphasis, counted};
use annals_host::project::{root, short_paths};
use annals_import::{
    Homes, ImportFollower, ImportOptions, ImportPlan, ImportSource, ImportState, ListedSession, PlannedSource,
    RecogniseError, Selection, SessionReport, discover, list_sessions, sources,
};
use annals_store::OpenMode;
use annals_store::cache::ViewCache;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What an import reads.
pub struct Wanted {
    /// The sources that are read, in the order in which they are imported.
    pub sources: Vec<PlannedSource>,
    /// The sessions of files that did not change since they were imported.
    pub known: Vec<SessionReport>,
    /// The refused files, each with an error that names it.
    pub refused: Vec<(PathBuf, CliError)>,
    /// What was imported of each file.
    pub state: ImportState,
    /// Whether the store keeps that: not when files were named, or are imported in another way.
    keeps: bool,
    /// Where the agents keep their sessions; empty when files were named.
    homes: Homes,
}

impl Wanted {
    /// The named files; without any, what changed of the selected sessions of the agents on this machine.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn of(args: &Args, selection: &Selection, cli: &CommandContext) -> Result<Self, CliError> {
        let mut state = ImportState::default();
        if !args.files.is_empty() {
            let (sources, refused) = named(&args.files, cli);
            let sources = sources.into_iter().map(PlannedSource::from).collect();
            return Ok(Self { sources, known: Vec::new(), refused, state, keeps: false, homes: Homes::default() });
        }
        let (homes, mut titles) = (cli.homes(), BTreeMap::new());
        // Otherwise every file says something that is not kept.
        let keeps = !args.as_new && !args.keep_originals && !args.redact && args.report.is_none();
        if keeps {
            match cli.store(OpenMode::ReadOnly).await {
                Ok(reader) => {
                    state = ImportState::load(&cli.place.cache(OpenMode::ReadOnly), &**reader.log()).await?;
                    if cli.style.json {
                        let sessions = reader.catalogue().await?.sessions.into_iter();
                        titles = sessions.map(|(session, entry)| (session, entry.title)).collect();
                    }
                }
                Err(CliError::NoStore { .. }) => {}
                Err(error) => return Err(error),
            }
            cli.close().await?;
        }
        let ImportPlan { sources, mut known, errors } = ImportPlan::of(&homes, &[], selection, &mut state, true);
        for session in &mut known {
            session.title = titles.remove(&session.session);
        }
        Ok(Self { sources, known, refused: failures(errors, cli), state, keeps, homes })
    }

    /// Prints the refused files, one line each.
    ///
    /// # Errors
    /// The last of them, when none of the named files can be imported.
    pub fn say_refused(&mut self, cli: &CommandContext) -> Result<(), CliError> {
        let nothing = self.homes == Homes::default() && self.sources.is_empty();
        say_refused(&mut self.refused, nothing, cli)
    }

    /// The number of sessions, as far as it is known before reading: a file counts as one.
    pub fn sessions(&self) -> u64 {
        let of = |planned: &PlannedSource| planned.source.only.as_ref().map_or(1, |only| only.len() as u64);
        self.sources.iter().map(of).sum()
    }

    /// Keeps in the store what was imported.
    pub fn save_state(&mut self, cli: &CommandContext) {
        if let Some(cache) = self.kept_in(cli) {
            save_state(&mut self.state, &cache);
        }
    }

    /// Where the store keeps what was imported, once there is a store.
    pub fn kept_in(&self, cli: &CommandContext) -> Option<ViewCache> {
        self.keeps.then(|| cli.place.cache(OpenMode::Existing))
    }

    /// What follows all of it.
    pub fn follower(self, selection: Selection, options: ImportOptions) -> ImportFollower {
        let Self { sources, state, homes, .. } = self;
        let files = match homes == Homes::default() {
            true => sources.into_iter().map(|planned| planned.source.path).collect(),
            false => Vec::new(),
        };
        ImportFollower { homes, files, selection, options: ImportOptions { prompts: false, ..options }, state }
    }
}

/// Keeps what was imported.
pub fn save_state(state: &mut ImportState, cache: &ViewCache) {
    if let Err(error) = state.save(cache) {
        tracing::debug!(%error, "what was imported is not kept: the next import reads all files again");
    }
}

/// The sources at these paths, and the files that were refused.
fn named(paths: &[PathBuf], cli: &CommandContext) -> (Vec<ImportSource>, Vec<(PathBuf, CliError)>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for path in paths {
        match sources(path) {
            Ok((sources, errors)) => {
                if sources.is_empty() && errors.is_empty() {
                    refused.push((path.clone(), ImportCommandError::NothingThere { path: path.clone() }.into()));
                }
                found.extend(sources);
                refused.extend(failures(errors, cli));
            }
            Err(error) => refused.push((path.clone(), error.into())),
        }
    }
    (found, refused)
}

/// Prints refused files, one line each.
fn say_refused(refused: &mut Vec<(PathBuf, CliError)>, nothing: bool, cli: &CommandContext) -> Result<(), CliError> {
    let last = if nothing { refused.pop() } else { None };
    for (_, error) in refused {
        cli.remarks.say(Emphasis::Bad, &error.to_string());
    }
    last.map_or(Ok(()), |(_, error)| Err(error))
}

/// The sessions of the sources, as `--dry-run` lists them.
pub struct ListedSources {
    /// The named sources.
    sources: Vec<ImportSource>,
    /// The refused files, each with an error that names it.
    pub refused: Vec<(PathBuf, CliError)>,
    /// The selected sessions of the agents on this machine; empty when files were named.
    listed: Vec<ListedSession>,
    /// Whether files were named.
    named: bool,
}

impl ListedSources {
    /// Of the named files; without any, the selected sessions of the agents on this machine.
    pub fn of(args: &Args, selection: &Selection, cli: &CommandContext) -> Self {
        if !args.files.is_empty() {
            let (sources, refused) = named(&args.files, cli);
            return Self { sources, refused, listed: Vec::new(), named: true };
        }
        let (mut listed, errors) = discover(&cli.homes());
        listed.retain(|one| selection.takes(one));
        Self { sources: Vec::new(), refused: failures(errors, cli), listed, named: false }
    }

    /// Prints the refused files, one line each.
    ///
    /// # Errors
    /// The last of them, when none of the named files can be listed.
    pub fn say_refused(&mut self, cli: &CommandContext) -> Result<(), CliError> {
        let nothing = self.named && self.sources.is_empty() && self.listed.is_empty();
        say_refused(&mut self.refused, nothing, cli)
    }

    /// Lists the sessions, newest first, and writes nothing.
    ///
    /// # Errors
    /// When a source cannot be read, or the output refuses.
    pub async fn list(&mut self, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
        if self.named {
            let bar = Bar::new(cli.shows_progress(), "reading");
            for source in std::mem::take(&mut self.sources) {
                match list_sessions(&source, &mut shown_by(&bar)).await {
                    Ok(listed) => self.listed.extend(listed),
                    Err(error) => self.refused.push((source.path, error.into())),
                }
            }
            bar.clear();
        }
        self.listed.sort_by_key(|one| std::cmp::Reverse(one.updated));
        if cli.style.json {
            return self.in_json(out);
        }
        let roots: Vec<String> =
            self.listed.iter().map(|one| root(Path::new(&one.directory)).to_string_lossy().into_owned()).collect();
        let projects = short_paths(roots.iter().map(String::as_str));
        let shown = |root: &String| clip(&name(projects.get(root).unwrap_or(root)), PROJECT);
        let width = roots.iter().map(|root| columns(&shown(root))).max().unwrap_or(0);
        for (one, root) in self.listed.iter().zip(&roots) {
            let age = cli.style.short_age(one.updated);
            let head = format!("{:<11}  {age:>10}  {}  ", one.agent, pad(&shown(root), width));
            let title = shown_title(one.title.as_deref().unwrap_or("(no title)"));
            let room = if cli.watched { cli.style.width.saturating_sub(columns(&head)).max(8) } else { usize::MAX };
            writeln!(out, "{}{}", cli.style.paint(Emphasis::Dim, &head), clip(&title, room))?;
        }
        let count = counted(self.listed.len() as u64, "session");
        match (self.listed.is_empty(), self.named) {
            (true, true) => {}
            (true, false) => cli.remark(NOTHING),
            (false, true) => cli.remark(&format!("{count}; nothing was imported (--dry-run)")),
            (false, false) => {
                cli.remark(&format!("{count}; to import all: annals import; to import some: --since 7d, --agent NAME"));
            }
        }
        Ok(())
    }

    fn in_json(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let item = |one: &ListedSession| {
            json!({
                "agent": one.agent, "id": one.foreign, "title": one.title.as_deref().map(without_keys), "directory": one.directory, "created": one.created,
                "updated": one.updated, "bytes": one.bytes, "rows": one.rows,
                "file": one.source.path.to_string_lossy(),
            })
        };
        json::list(out, self.listed.iter().map(item))?;
        Ok(())
    }
}

/// The errors that make an import fail, each with its file. The others are said.
fn failures(errors: Vec<RecogniseError>, cli: &CommandContext) -> Vec<(PathBuf, CliError)> {
    let (remarks, failures): (Vec<_>, Vec<_>) = errors.into_iter().partition(RecogniseError::is_remark);
    remarks.iter().for_each(|remark| cli.remark(&plain(&remark.to_string())));
    failures.into_iter().map(|error| (error.path().to_owned(), error.into())).collect()
}

/// The most columns of a project.
const PROJECT: usize = 20;

/// The remark when no agent keeps sessions on this machine.
pub const NOTHING: &str = "no session of OpenCode, Codex CLI or Claude Code was found; name a file to import it";
