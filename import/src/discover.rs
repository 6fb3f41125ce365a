//! Finds the sessions that agents keep on this machine.

use super::codex::{self, RolloutLibrary};
use super::folders::{NotRead, walk};
use super::foreign::moment;
use super::recognise::{ImportSource, RecogniseError, SourceForm, recognise};
use super::{claude, opencode};
use annals_core::Time;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The folders where agents keep their sessions; `None` for one that does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    /// The databases of OpenCode and Kilo: `$OPENCODE_DB`, and `opencode/opencode*.db` and `kilo/kilo*.db` below `$XDG_DATA_HOME`, by
    /// default below `~/.local/share`.
    pub opencode: Vec<PathBuf>,
    /// The files of OpenCode before its database: `storage/session`, before that `project`, in the same folder.
    pub opencode_storage: Vec<PathBuf>,
    /// Codex's rollouts: `$CODEX_HOME/sessions`, by default `~/.codex/sessions`; and `archived_sessions` next to it.
    pub codex: Vec<PathBuf>,
    /// Claude Code's transcripts: `projects` in each folder of `$CLAUDE_CONFIG_DIR` (a list with commas), by default in `~/.claude` and
    /// `~/.config/claude`; and the local sessions of Claude Desktop.
    pub claude: Vec<PathBuf>,
}

impl Homes {
    /// From the given environment variables.
    pub fn of(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
        let home = set("HOME");
        let below = |name: &str, default: &str| set(name).or_else(|| home.as_ref().map(|home| home.join(default)));
        let there = |path: PathBuf| path.exists().then_some(path);
        let codex = below("CODEX_HOME", ".codex");
        let data = below("XDG_DATA_HOME", ".local/share");
        let opencode = data.as_ref().map(|data| data.join(opencode::AGENT));
        // `opencode.db`, and `opencode-CHANNEL.db` of other release channels; those of Kilo in its own folder.
        let folders = opencode.iter().cloned().chain(data.iter().map(|data| data.join(opencode::KILO)));
        let mut databases: Vec<PathBuf> = folders
            .flat_map(std::fs::read_dir)
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().and_then(|it| it.to_str()).is_some_and(opencode::is_database_name))
            .collect();
        databases.extend(set("OPENCODE_DB").and_then(|named| there(opencode.clone().unwrap_or_default().join(named))));
        databases.sort();
        databases.dedup();
        Self {
            opencode: databases,
            opencode_storage: ["storage/session", "project"]
                .iter()
                .filter_map(|name| opencode.as_ref().and_then(|opencode| there(opencode.join(name))))
                .collect(),
            codex: ["sessions", "archived_sessions"]
                .iter()
                .filter_map(|name| codex.as_ref().and_then(|codex| there(codex.join(name))))
                .collect(),
            claude: claude_folders(&set),
        }
    }

    /// From the environment of this process.
    pub fn from_env() -> Self {
        Self::of(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// Every file below them that may contain sessions, and what is not looked into.
    pub(super) fn files(&self) -> (Vec<PathBuf>, Vec<RecogniseError>) {
        let mut found: Vec<PathBuf> = self.opencode.clone();
        let mut skipped = Vec::new();
        let roots = self.codex.iter().chain(&self.claude).chain(&self.opencode_storage);
        for root in roots {
            // Codex compresses what is idle. The messages of a stored session are read with the file that describes it.
            let wanted = |path: &Path| has_ending(path, &["jsonl", "zst"]) || opencode::is_stored_session(path);
            let is_desktop = root.ends_with(DESKTOP);
            let wanted = |path: &Path| {
                let is_left_out = is_desktop && !path.ancestors().any(|folder| folder.ends_with(".claude/projects"));
                !is_left_out && wanted(path)
            };
            walk(root, &mut |path| found.extend(wanted(path).then(|| path.to_owned())), &mut |path, why| {
                skipped.push(not_looked_into(path, why));
            });
        }
        (found, skipped)
    }
}

/// The folder of the sessions that Claude Desktop runs on this machine.
const DESKTOP: &str = "local-agent-mode-sessions";

/// The folders with transcripts of Claude Code that exist, each once.
fn claude_folders(set: &impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let home = set("HOME");
    let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
    let config = set("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    let chosen = set("CLAUDE_CONFIG_DIR").map(|list| {
        let list = list.to_string_lossy().into_owned();
        list.split(',').map(str::trim).filter(|path| !path.is_empty()).map(PathBuf::from).collect::<Vec<_>>()
    });
    let default =
        || [below_home(".claude"), config.as_ref().map(|it| it.join("claude"))].into_iter().flatten().collect();
    let of_agent = chosen.unwrap_or_else(default).into_iter().map(|folder| folder.join("projects"));
    let desktop = [config.clone(), below_home("Library/Application Support"), set("APPDATA")];
    let of_desktop = desktop.into_iter().flatten().map(|folder| folder.join("Claude").join(DESKTOP));
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for folder in of_agent.chain(of_desktop) {
        // One may be a link to another.
        if let Ok(real) = folder.canonicalize()
            && seen.insert(real)
        {
            found.push(folder);
        }
    }
    found
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(|it| it.to_str()).is_some_and(|it| endings.contains(&it))
}

fn not_looked_into(path: &Path, why: NotRead) -> RecogniseError {
    let path = path.to_owned();
    match why {
        NotRead::Unreadable(source) => RecogniseError::Io { path, source },
        NotRead::Link => RecogniseError::Link { path },
    }
}

/// Recognises files, each with the rollouts among them. Files that are read with another one are left out, and files that were just
/// created or are not for this program; others that cannot be recognised are errors.
fn recognise_all(files: &[PathBuf], errors: &mut Vec<RecogniseError>) -> Vec<ImportSource> {
    let mut found = Vec::new();
    for path in files {
        match recognise(path) {
            Ok(source) => found.push(source),
            Err(error) if error.is_foreign() => {}
            Err(error) => errors.push(error),
        }
    }
    let is_rollout = |source: &ImportSource| source.form == SourceForm::CodexRollout;
    let library = RolloutLibrary::of(found.iter().filter(|it| is_rollout(it)).map(|it| it.path.as_path()));
    found.retain(|source| !is_rollout(source) || !library.is_read_with_another(&source.path));
    for source in found.iter_mut().filter(|source| is_rollout(source)) {
        source.library = Some(library.clone());
    }
    found
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
    let mut listed = Vec::new();
    let (files, mut errors) = homes.files();
    for source in recognise_all(&files, &mut errors) {
        match list(&source) {
            Ok(found) => listed.extend(found),
            Err(error) => errors.push(error),
        }
    }
    // OpenCode moved stored sessions to its database, and left the files.
    let in_database: BTreeSet<String> = listed
        .iter()
        .filter(|it| it.source.form == SourceForm::OpenCodeDatabase)
        .map(|it| it.foreign.clone())
        .collect();
    listed.retain(|it| it.source.form != SourceForm::OpenCodeStorage || !in_database.contains(&it.foreign));
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
pub fn list(source: &ImportSource) -> Result<Vec<ListedSession>, RecogniseError> {
    let path = &source.path;
    let io = |source| RecogniseError::Io { path: path.clone(), source };
    if source.form == SourceForm::OpenCodeDatabase {
        let rows = opencode::list(path).map_err(|error| io(std::io::Error::other(error.to_string())))?;
        return Ok(rows
            .into_iter()
            .map(|row| ListedSession {
                agent: row.info.agent_name(),
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
    if source.form == SourceForm::CodexRollout {
        return rollout(source).map_err(io);
    }
    let (changed, bytes) = state_of(path).map_err(io)?;
    // A copy of a file is younger than what it contains.
    let updated = last_moment(path, bytes).map_err(io)?.filter(|moment| *moment < changed).unwrap_or(changed);
    let (agent, foreign, directory, created, title) = match source.form {
        SourceForm::ClaudeTranscript => {
            let header = claude::header(path).map_err(io)?;
            (claude::AGENT, header.foreign(), header.cwd, header.created, header.prompt)
        }
        SourceForm::OpenCodeExport => {
            let (info, _, _) = opencode::export_header(path).map_err(|error| io(error.into()))?;
            (opencode::AGENT, info.id, info.directory, info.created, info.title)
        }
        SourceForm::OpenCodeStorage => {
            let info = opencode::stored_session(path).map_err(io)?;
            (opencode::AGENT, info.id, info.directory, info.created, info.title)
        }
        SourceForm::CodexRollout | SourceForm::OpenCodeEvents | SourceForm::OpenCodeDatabase | SourceForm::Annals => {
            return Ok(Vec::new());
        }
    };
    let (created, updated) = (Time(created), Time(updated));
    let (bytes, source) = (Some(bytes), source.clone());
    Ok(vec![ListedSession { agent, foreign, title, directory, created, updated, bytes, rows: None, source }])
}

/// The thread of a rollout. Its files together are its size; the newest says when it changed.
fn rollout(source: &ImportSource) -> std::io::Result<Vec<ListedSession>> {
    let Some(thread) = codex::list(&source.path, source.library.as_ref())? else { return Ok(Vec::new()) };
    let (mut updated, mut size) = (0, 0);
    for path in &thread.files {
        let (changed, bytes) = state_of(path)?;
        updated = last_moment(path, bytes)?.filter(|moment| *moment < changed).unwrap_or(changed).max(updated);
        size += bytes;
    }
    Ok(vec![ListedSession {
        agent: codex::AGENT,
        foreign: thread.id,
        title: thread.title,
        directory: thread.directory,
        created: Time(thread.created),
        updated: Time(updated),
        bytes: Some(size),
        rows: None,
        source: source.clone(),
    }])
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
        self.takes_session(listed.agent, listed.updated)
    }

    /// Whether a session of an agent that changed last at this time is selected.
    pub(super) fn takes_session(&self, agent: &str, updated: Time) -> bool {
        self.agent.as_deref().is_none_or(|wanted| wanted == agent) && self.since.is_none_or(|since| updated >= since)
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
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    walk(
        path,
        &mut |path| {
            if has_ending(path, &["jsonl", "json", "db", "zst"]) && !opencode::is_projection(path) {
                files.push(path.to_owned());
            }
        },
        &mut |path, why| errors.push(not_looked_into(path, why)),
    );
    let found = recognise_all(&files, &mut errors);
    Ok((found, errors))
}
