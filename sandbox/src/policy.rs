//! What a confined command may do.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What a confined command may do. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The project's folder.
    pub project: PathBuf,
    /// Whether the project may be changed.
    pub writable: bool,
    /// Further places that may be changed.
    pub write: Vec<PathBuf>,
    /// Places that cannot be read.
    pub hide: Vec<PathBuf>,
    /// Places within the writable ones that cannot be changed, or are put back.
    pub protect: Vec<PathBuf>,
    /// Whether the command may use sockets.
    pub network: bool,
}

/// Places below a home folder that keep keys, tokens and histories.
const KEYS: [&str; 34] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".config/gh",
    ".config/gcloud",
    ".config/hub",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/git/credentials",
    ".mozilla",
    ".local/share/keyrings",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/opencode/auth.json",
    ".bash_history",
    ".zsh_history",
];

/// Places of the system that keep keys; the user that runs the command may be the administrator.
const SYSTEM: [&str; 7] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/var/run/secrets",
];

/// What git runs or obeys, below its folder.
const GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// What this program and editors obey, below the project.
const PROJECT: [&str; 4] = [".annals", ".claude", ".codex", ".vscode/settings.json"];

impl SandboxPolicy {
    /// The usual policy of a project: it and `/tmp` may be changed, except git's hooks and configuration and those of agents;
    /// keys are hidden; there is no network.
    pub fn of_project(project: impl Into<PathBuf>, home: Option<&Path>) -> Self {
        let project: PathBuf = project.into();
        let git = git_folders(&project);
        let mut write = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        write.extend(git.iter().filter(|folder| !folder.starts_with(&project)).cloned());
        let of_git = git.iter().flat_map(|folder| GIT.map(|name| folder.join(name)));
        let modules = git.iter().flat_map(|folder| modules(&folder.join("modules"), 3));
        let protect = of_git.chain(modules).chain(PROJECT.map(|name| project.join(name))).collect();
        let keys = home.into_iter().flat_map(|home| KEYS.map(|name| home.join(name)));
        let hide = keys.chain(SYSTEM.map(PathBuf::from)).collect();
        Self { project, writable: true, write, hide, protect, network: false }
    }

    /// The places that may be changed and exist.
    pub(crate) fn writes(&self) -> Vec<PathBuf> {
        let project = self.writable.then_some(&self.project);
        project.into_iter().chain(&self.write).filter_map(|path| path.canonicalize().ok()).collect()
    }

    /// The places that are hidden and exist, without links.
    pub(crate) fn hides(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.hide.iter().filter_map(|path| path.canonicalize().ok()).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// The folders of git of a project: its own, and for a linked worktree that of the worktree and the common one.
fn git_folders(project: &Path) -> Vec<PathBuf> {
    let own = project.join(".git");
    if own.is_dir() {
        return vec![own];
    }
    let named = |file: &Path, from: &Path, prefix: &str| {
        let text = fs::read_to_string(file).ok()?;
        let path = text.trim().strip_prefix(prefix)?.trim().to_owned();
        from.join(path).canonicalize().ok()
    };
    let Some(worktree) = named(&own, project, "gitdir:") else { return Vec::new() };
    let common = named(&worktree.join("commondir"), &worktree, "");
    // A file that a repository brings along may name any folder: only git's own layout is believed.
    let is_git = |folder: &PathBuf| folder.join("HEAD").is_file();
    let linked = common.is_some() || worktree.components().any(|part| part.as_os_str() == ".git");
    [Some(worktree), common].into_iter().flatten().filter(|folder| linked && is_git(folder)).collect()
}

/// The hooks and configuration of the submodules below a folder.
fn modules(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = entries.filter(|path| depth > 0 && path.is_dir());
    let of = |path: PathBuf| match path.join("HEAD").is_file() {
        true => GIT.map(|name| path.join(name)).to_vec(),
        false => modules(&path, depth - 1),
    };
    folders.flat_map(of).collect()
}
