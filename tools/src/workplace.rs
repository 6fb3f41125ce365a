//! Where tools work, and where a path that a model names really leads.

pub(super) mod lsp;

pub use lsp::{LanguageServer, LanguageServers};

use super::background::BackgroundCommands;
use super::confinement::Confinement;
use super::editor_files::EditorFiles;
use super::git_environment::inherited_git_settings;
use super::seen_files::SeenFiles;
use super::terminal::TerminalOverlay;
use super::variables::is_shown;
use annals_core::bound::Limits;
use annals_guard::guarded_resource;
use annals_runtime::ports::StorePath;
use annals_runtime::tools::Demand;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The permission action that a directory outside the project is judged by, before what is done there.
pub const EXTERNAL_DIRECTORY: &str = "external_directory";

/// How many links to nothing are followed in one path.
const LINKS: usize = 40;

/// Variables with keys of model providers: a command never sees them.
const KEYS: [&str; 19] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
];

/// A Location as the tools see it. Clones share what is known of the files that sessions have read.
#[derive(Clone, Debug)]
pub struct Workplace {
    directory: PathBuf,
    project: PathBuf,
    readable: Vec<PathBuf>,
    outputs: Option<StorePath>,
    hidden: BTreeSet<String>,
    variables: Vec<String>,
    confinement: Option<Confinement>,
    limits: Limits,
    records: Option<StorePath>,
    seen: Arc<SeenFiles>,
    commands: BackgroundCommands,
    command_limit_ms: Option<u64>,
    servers: Option<LanguageServers>,
    terminals: Arc<dyn TerminalOverlay>,
    editor: Option<Arc<dyn EditorFiles>>,
}

impl Workplace {
    /// Tools that resolve relative paths from `directory` and need no further permission within `project`, which holds
    /// it. Both are absolute.
    pub fn at(directory: impl AsRef<Path>, project: impl AsRef<Path>) -> Self {
        // What cannot be looked at now is compared as it is named: nothing lies within it by accident.
        let real = |path: &Path| follow(path, LINKS).unwrap_or_else(|_| path.into());
        Self {
            directory: real(directory.as_ref()),
            project: real(project.as_ref()),
            readable: Vec::new(),
            outputs: None,
            hidden: KEYS.iter().map(ToString::to_string).collect(),
            variables: Vec::new(),
            confinement: None,
            limits: Limits::default(),
            records: None,
            seen: Arc::default(),
            commands: BackgroundCommands::default(),
            command_limit_ms: None,
            servers: None,
            terminals: Arc::new(()),
            editor: None,
        }
    }

    /// A folder outside the project that is read and searched as if it were inside, such as that of skills. Changing
    /// something there still needs permission.
    #[must_use]
    pub fn readable(mut self, folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        self.readable.push(follow(folder, LINKS).unwrap_or_else(|_| folder.into()));
        self
    }

    /// The folder of the managed tool output files, read and searched like a [`readable`](Self::readable) one, also after the
    /// store has been moved.
    #[must_use]
    pub fn outputs(self, folder: impl Into<StorePath>) -> Self {
        Self { outputs: Some(folder.into()), ..self }
    }

    /// Environment variables that are hidden from commands, in addition to the well-known keys of providers.
    #[must_use]
    pub fn hiding(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hidden.extend(variables.into_iter().map(Into::into));
        self
    }

    /// Environment variables that commands see in addition to the usual ones: names, and patterns with `*`. Those that are
    /// [hidden](Self::hiding) stay hidden.
    #[must_use]
    pub fn showing(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.variables.extend(variables.into_iter().map(Into::into));
        self
    }

    /// The sandbox in which commands run; without one they run as the user does.
    #[must_use]
    pub fn confined(self, confinement: Confinement) -> Self {
        Self { confinement: Some(confinement), ..self }
    }

    pub(super) fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    /// What one call may show the model, where the runtime's [`Settings`](annals_runtime::Settings) differ from the usual.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Where temporary files of changes are recorded, so that those of a process that was killed are removed later
    /// ([`remove_leftovers`](super::remove_leftovers)); a folder outside the project. Without it they stay.
    #[must_use]
    pub fn recording(self, folder: impl Into<StorePath>) -> Self {
        Self { records: Some(folder.into()), ..self }
    }

    /// Keeps commands that run in the background, for a host that is to know of them.
    #[must_use]
    pub fn in_background(self, commands: BackgroundCommands) -> Self {
        Self { commands, ..self }
    }

    /// The time limit of commands without another, in milliseconds.
    #[must_use]
    pub fn command_limit(self, command_limit_ms: Option<u64>) -> Self {
        Self { command_limit_ms, ..self }
    }

    /// Language servers, which check the files that tools change.
    #[must_use]
    pub fn checked_by(self, servers: LanguageServers) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// Who gives variables for terminals.
    #[must_use]
    pub fn terminals(self, terminals: Arc<dyn TerminalOverlay>) -> Self {
        Self { terminals, ..self }
    }

    /// An editor that holds files.
    #[must_use]
    pub fn in_editor(self, editor: Option<Arc<dyn EditorFiles>>) -> Self {
        Self { editor, ..self }
    }

    pub(super) fn editor(&self) -> Option<&dyn EditorFiles> {
        self.editor.as_deref()
    }

    /// The variables of the host for a terminal whose command runs in `workdir`.
    pub(super) fn terminal_overlay(&self, workdir: &Path) -> BTreeMap<String, String> {
        self.terminals.variables(&self.directory, workdir)
    }

    pub(super) fn commands(&self) -> &BackgroundCommands {
        &self.commands
    }

    pub(super) fn command_limit_ms(&self) -> Option<u64> {
        self.command_limit_ms
    }

    pub(super) fn servers(&self) -> Option<&LanguageServers> {
        self.servers.as_ref()
    }

    pub(super) fn records(&self) -> Option<&StorePath> {
        self.records.as_ref()
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn bound(&self) -> Limits {
        self.limits
    }

    pub(super) fn seen(&self) -> &SeenFiles {
        &self.seen
    }

    /// Whether a command may see a variable.
    pub(super) fn shows(&self, variable: &str) -> bool {
        !self.hidden.contains(variable) && is_shown(variable, &self.variables)
    }

    /// The settings of git that every command is given.
    pub(super) fn git_settings(&self) -> Vec<(OsString, OsString)> {
        inherited_git_settings(|variable| self.shows(variable))
    }

    /// Whether a resolved directory belongs to another repository than the project's, such as one that files of the project make.
    pub(super) fn in_other_repository(&self, real: &Path) -> bool {
        let mut folders = real.ancestors().take_while(|folder| *folder != self.project);
        folders.any(|folder| annals_sandbox::is_other_repository(folder, &self.project))
    }

    /// Where a path that a model named really leads: absolute, without links, `.` and `..`. It need not exist.
    pub(super) fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        follow(&self.directory.join(path), LINKS)
    }

    /// A resolved path as the model is shown it: relative to where it works, or absolute.
    pub(super) fn shown(&self, path: &Path) -> String {
        printable(path.strip_prefix(&self.directory).unwrap_or(path))
    }

    /// What doing something to a path needs permission for.
    pub(super) fn demands(&self, action: &str, path: &str, access: PathAccess) -> Vec<Demand> {
        let demand = |action: &str, resource: String| Demand { action: action.into(), resources: vec![resource] };
        let Ok(real) = self.resolve(path) else {
            // The call will fail; what it named is judged as strictly as can be.
            return vec![demand(EXTERNAL_DIRECTORY, literal(path)), demand(action, literal(path))];
        };
        let mut demands = Vec::new();
        if let Some(directory) = self.external(&real, access) {
            demands.push(demand(EXTERNAL_DIRECTORY, directory));
        }
        demands.push(demand(action, self.resource(&real)));
        // A file that makes programs run is judged by its name, too, wherever it is and however that is written.
        let named = guarded_resource(&self.resource(&real)).filter(|_| action == super::EDIT);
        if let (Some(named), Some(last)) = (named, demands.last_mut())
            && !last.resources.contains(&named)
        {
            last.resources.push(named);
        }
        demands
    }

    /// The directory to ask for, if a resolved path lies outside.
    pub(super) fn external(&self, real: &Path, access: PathAccess) -> Option<String> {
        let inside = real.starts_with(&self.project) || real.starts_with(&self.directory);
        if inside || access == PathAccess::Look && self.is_readable(real) {
            return None;
        }
        let directory = if real.is_dir() { real } else { real.parent().unwrap_or(real) };
        Some(literal(&directory.to_string_lossy()))
    }

    /// Whether a resolved path outside the project may be read like one inside.
    fn is_readable(&self, real: &Path) -> bool {
        let outputs = || self.outputs.as_ref().and_then(|outputs| follow(&outputs.shown(), LINKS).ok());
        self.readable.iter().any(|folder| real.starts_with(folder))
            || outputs().is_some_and(|outputs| real.starts_with(outputs))
    }

    /// A resolved path as permission rules name it: relative to the project, `.` for the project itself, or absolute.
    pub(super) fn resource(&self, real: &Path) -> String {
        match real.strip_prefix(&self.project) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => literal(&inside.to_string_lossy()),
            Err(_) => literal(&real.to_string_lossy()),
        }
    }
}

/// What a tool does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathAccess {
    /// Reads or searches.
    Look,
    /// Changes something, or runs there.
    Touch,
}

/// A file may be called `*`, which as a resource would mean everything.
pub(super) fn literal(path: &str) -> String {
    if path == "*" { "./*".into() } else { path.into() }
}

/// A path for eyes: on one line, and text.
pub(super) fn printable(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() {
        return ".".into();
    }
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars()
        .flat_map(|one| if one.is_control() { one.escape_default().collect::<Vec<_>>() } else { vec![one] })
        .collect()
}

/// The path without links, `.` and `..`; below what does not exist, as it is named.
fn follow(path: &Path, links: usize) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) => return Ok(real),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error),
    }
    if links == 0 {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too many symbolic links"));
    }
    let mut components = path.components();
    let last = components.next_back();
    let above = components.as_path();
    match last {
        Some(Component::Normal(name)) => {
            let at = follow(above, links)?.join(name);
            match at.read_link() {
                // A link to what does not exist: writing makes its target.
                Ok(target) => follow(&at.parent().unwrap_or(&at).join(target), links - 1),
                Err(_) => Ok(at),
            }
        }
        Some(Component::ParentDir) => Ok(follow(above, links)?.parent().map_or_else(|| "/".into(), Path::to_path_buf)),
        Some(Component::CurDir) => follow(above, links),
        Some(root) => Ok(PathBuf::from(root.as_os_str())),
        None => Ok(PathBuf::new()),
    }
}
