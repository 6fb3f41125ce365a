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
use annals_import::{Homes, ImportSource, ListedSession, RecogniseError, Selection, discover, list_sessions, sources};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The sources of an import, and the files that were refused.
pub struct Wanted {
    /// The sources, in the order in which they are imported.
    pub sources: Vec<ImportSource>,
    /// The refused files, each with an error that names it.
    pub refused: Vec<(PathBuf, CliError)>,
    /// The selected sessions of the agents on this machine; empty when files were named.
    listed: Vec<ListedSession>,
    /// Where the agents keep their sessions; empty when files were named.
    pub homes: Homes,
    /// Whether files were named.
    named: bool,
}

impl Wanted {
    /// The named files; without any, the selected sessions of the agents on this machine.
    pub fn of(args: &Args, selection: &Selection, cli: &CommandContext) -> Self {
        if args.files.is_empty() {
            return Self::discovered(selection, cli);
        }
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for path in &args.files {
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
        Self { sources: found, refused, listed: Vec::new(), homes: Homes::default(), named: true }
    }

    fn discovered(selection: &Selection, cli: &CommandContext) -> Self {
        let homes = cli.homes();
        let (mut listed, errors) = discover(&homes);
        listed.retain(|one| selection.takes(one));
        let refused = failures(errors, cli);
        Self { sources: selection.sources(&listed), refused, listed, homes, named: false }
    }

    /// Prints the refused files, one line each.
    ///
    /// # Errors
    /// The last of them, when none of the named files can be imported.
    pub fn say_refused(&mut self, cli: &CommandContext) -> Result<(), CliError> {
        let nothing = self.named && self.sources.is_empty() && self.listed.is_empty();
        let last = if nothing { self.refused.pop() } else { None };
        for (_, error) in &self.refused {
            cli.remarks.say(Emphasis::Bad, &error.to_string());
        }
        last.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The number of sessions, as far as it is known before reading: a file counts as one.
    pub fn sessions(&self) -> u64 {
        let of = |source: &ImportSource| source.only.as_ref().map_or(1, |only| only.len() as u64);
        self.sources.iter().map(of).sum()
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
