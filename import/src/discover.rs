//! Finds the sessions that agents keep on this machine.

use super::foreign::moment;
use super::recognise::{ImportSource, RecogniseError, SourceForm, recognise};
use super::{claude, codex, opencode};
use annals_core::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The folders where agents keep their sessions; `None` for one that does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    /// OpenCode's database: `$XDG_DATA_HOME/opencode/opencode.db`, by default below `~/.local/share`.
    pub opencode: Option<PathBuf>,
    /// Codex's rollouts: `$CODEX_HOME/sessions`, by default `~/.codex/sessions`; and `archived_sessions` next to it.
    pub codex: Vec<PathBuf>,
    /// Claude Code's transcripts: `$CLAUDE_CONFIG_DIR/projects`, by default `~/.claude/projects`.
    pub claude: Option<PathBuf>,
}

impl Homes {
    /// From the given environment variables.
    pub fn of(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
        let home = set("HOME");
        let below = |name: &str, default: &str| set(name).or_else(|| home.as_ref().map(|home| home.join(default)));
        let there = |path: PathBuf| path.exists().then_some(path);
        let codex = below("CODEX_HOME", ".codex");
        Self {
            opencode: below("XDG_DATA_HOME", ".local/share").and_then(|it| there(it.join("opencode/opencode.db"))),
            codex: ["sessions", "archived_sessions"]
                .iter()
                .filter_map(|name| codex.as_ref().and_then(|codex| there(codex.join(name))))
                .collect(),
            claude: below("CLAUDE_CONFIG_DIR", ".claude").and_then(|claude| there(claude.join("projects"))),
        }
    }

    /// From the environment of this process.
    pub fn from_env() -> Self {
        Self::of(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// Every file below them that may contain sessions.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.opencode.clone().into_iter().collect();
        for root in self.codex.iter().chain(&self.claude) {
            walk(root, &mut |path| {
                if path.extension().is_some_and(|extension| extension == "jsonl") {
                    found.push(path.to_owned());
                }
            });
        }
        found
    }
}

/// A foreign session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// The agent that recorded it.
    pub agent: &'static str,
    /// Its id in the source.
    pub foreign: String,
    /// Its title, or the start of its first prompt.
    pub title: Option<String>,
    /// The directory that it works in; empty when the source does not say.
    pub directory: String,
    /// Its creation time.
    pub created: Time,
    /// The time of its last change.
    pub updated: Time,
    /// The size of its file in bytes; `None` when it shares a database.
    pub bytes: Option<u64>,
    /// How many event rows it has, in a database.
    pub rows: Option<u64>,
    /// The source to import it from.
    pub source: ImportSource,
}

/// Lists every session below these folders, newest first, and the files that could not be read.
pub fn discover(homes: &Homes) -> (Vec<ListedSession>, Vec<RecogniseError>) {
    let (mut listed, mut errors) = (Vec::new(), Vec::new());
    for path in homes.files() {
        match recognise(&path) {
            Ok(source) => match list(&source) {
                Ok(found) => listed.extend(found),
                Err(error) => errors.push(error),
            },
            // A file that was just created.
            Err(RecogniseError::Unknown { .. }) => {}
            Err(error) => errors.push(error),
        }
    }
    listed.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.foreign.cmp(&b.foreign)));
    (listed, errors)
}

/// When a file changed last (ms), and its size in bytes.
pub(super) fn state_of(path: &Path) -> std::io::Result<(u64, u64)> {
    let meta = std::fs::metadata(path)?;
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((u64::try_from(changed.as_millis()).unwrap_or_default(), meta.len()))
}

/// How much of the end of a file is looked at.
const END: u64 = 16 * 1024;

/// The last `timestamp` (ms) near the end of a file of JSON lines; `None` where there is none.
fn last_moment(path: &Path, bytes: u64) -> std::io::Result<Option<u64>> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(bytes.saturating_sub(END)))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    let text = String::from_utf8_lossy(&end);
    let moment = |at: &str| moment(at.split_once('"')?.0);
    Ok(text.rsplit("\"timestamp\":\"").take(text.matches("\"timestamp\":\"").count()).find_map(moment))
}

/// The sessions of one source; empty for forms that have to be read as a whole.
///
/// # Errors
/// When it cannot be read.
pub fn list(source: &ImportSource) -> Result<Vec<ListedSession>, RecogniseError> {
    let path = &source.path;
    let io = |source| RecogniseError::Io { path: path.clone(), source };
    if source.form == SourceForm::OpenCodeDatabase {
        let rows = opencode::list(path).map_err(|error| io(std::io::Error::other(error.to_string())))?;
        return Ok(rows
            .into_iter()
            .map(|row| ListedSession {
                agent: opencode::AGENT,
                foreign: row.info.id.clone(),
                title: row.info.title.clone(),
                directory: row.info.directory.clone(),
                created: Time(row.info.created),
                updated: Time(row.updated),
                bytes: None,
                rows: row.rows,
                source: ImportSource { only: Some(BTreeSet::from([row.info.id])), ..source.clone() },
            })
            .collect());
    }
    let (changed, bytes) = state_of(path).map_err(io)?;
    // A copy of a file is younger than what it contains.
    let updated = last_moment(path, bytes).map_err(io)?.filter(|moment| *moment < changed).unwrap_or(changed);
    let (agent, foreign, directory, created, title) = match source.form {
        SourceForm::CodexRollout => match codex::header(path).map_err(io)? {
            Some((header, prompt)) => (codex::AGENT, header.id, header.cwd, header.created, prompt),
            None => return Ok(Vec::new()),
        },
        SourceForm::ClaudeTranscript => {
            let header = claude::header(path).map_err(io)?;
            (claude::AGENT, header.foreign(), header.cwd, header.created, header.prompt)
        }
        SourceForm::OpenCodeExport => {
            let (info, _, _) = opencode::export_header(path).map_err(|error| io(error.into()))?;
            (opencode::AGENT, info.id, info.directory, info.created, info.title)
        }
        SourceForm::OpenCodeEvents | SourceForm::OpenCodeDatabase | SourceForm::Annals => return Ok(Vec::new()),
    };
    let (created, updated) = (Time(created), Time(updated));
    let (bytes, source) = (Some(bytes), source.clone());
    Ok(vec![ListedSession { agent, foreign, title, directory, created, updated, bytes, rows: None, source }])
}

/// A selection of listed sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions that changed at this time or later.
    pub since: Option<Time>,
}

impl Selection {
    /// Whether a session is selected.
    pub fn takes(&self, listed: &ListedSession) -> bool {
        self.agent.as_deref().is_none_or(|agent| agent == listed.agent)
            && self.since.is_none_or(|since| listed.updated >= since)
    }

    /// The sources of the selected sessions: one per file, oldest session first.
    pub fn sources<'a>(&self, listed: impl IntoIterator<Item = &'a ListedSession>) -> Vec<ImportSource> {
        let mut chosen: Vec<&ListedSession> = listed.into_iter().filter(|listed| self.takes(listed)).collect();
        chosen.sort_by_key(|listed| listed.created);
        let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut sources: Vec<ImportSource> = Vec::new();
        for ListedSession { source, .. } in chosen {
            let place = *places.entry(source.path.clone()).or_insert(sources.len());
            match sources.get_mut(place) {
                Some(before) => {
                    if let (Some(only), Some(more)) = (&mut before.only, &source.only) {
                        only.extend(more.iter().cloned());
                    }
                }
                None => sources.push(source.clone()),
            }
        }
        sources
    }
}

/// The sources at a path: a file, or every recognised file below a folder, with the errors of files that could not be read.
/// Other files of a folder are skipped.
///
/// # Errors
/// When the path is a file that is not recognised, or cannot be read.
pub fn sources(path: &Path) -> Result<(Vec<ImportSource>, Vec<RecogniseError>), RecogniseError> {
    if !path.is_dir() {
        return Ok((vec![recognise(path)?], Vec::new()));
    }
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    walk(path, &mut |path| {
        let wanted = path.extension().and_then(|it| it.to_str());
        if !matches!(wanted, Some("jsonl" | "json" | "db")) || opencode::is_projection(path) {
            return;
        }
        match recognise(path) {
            Ok(source) => found.push(source),
            Err(RecogniseError::Unknown { .. } | RecogniseError::Projection { .. }) => {}
            Err(error) => errors.push(error),
        }
    });
    Ok((found, errors))
}

/// Calls `each` for every file below a folder, ordered by path. Folders that cannot be read are skipped. Links to folders, and
/// to files outside of this folder, are not followed.
fn walk(folder: &Path, each: &mut dyn FnMut(&Path)) {
    if let Ok(root) = std::fs::canonicalize(folder) {
        walk_below(&root, folder, each);
    }
}

fn walk_below(root: &Path, folder: &Path, each: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    for path in paths {
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        let leads_in = || std::fs::canonicalize(&path).is_ok_and(|target| target.starts_with(root) && !target.is_dir());
        if meta.is_dir() {
            walk_below(root, &path, each);
        } else if !meta.is_symlink() || leads_in() {
            each(&path);
        }
    }
}
