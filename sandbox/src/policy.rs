//! What a confined command may do.

use crate::git;
use serde::{Deserialize, Serialize};
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
    /// Places that can never be changed, also within the writable ones.
    pub read_only: Vec<PathBuf>,
    /// Places within the writable ones that cannot be changed, or are put back, besides what git obeys.
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

/// What shells, the desktop and git obey below a home folder.
const HOME: [&str; 31] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".gitconfig",
    ".tmux.conf",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".pam_environment",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".local/bin",
    "bin",
    ".config/git",
    ".config/fish",
    ".config/zsh",
    ".config/nvim",
    ".config/systemd",
    ".config/autostart",
    ".config/environment.d",
    ".config/annals",
];

impl SandboxPolicy {
    /// The usual policy of a project: it and `/tmp` may be changed, except what git obeys and the files below the project that are named
    /// `obeyed`; keys are hidden, and start-up files of the home folder stay as they are, also where the project contains them; there is
    /// no network.
    pub fn of_project(project: impl Into<PathBuf>, home: Option<&Path>, obeyed: &[&str]) -> Self {
        let project: PathBuf = project.into();
        let mut write = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        write.extend(git::git_folders(&project).into_iter().filter(|folder| !folder.starts_with(&project)));
        // Git's folder is kept in parts: most of it changes with every commit.
        let obeyed = obeyed.iter().filter(|name| **name != ".git");
        let protect = obeyed.map(|name| project.join(name)).collect();
        let of_home = |names: &[&str]| home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect();
        let (mut hide, read_only): (Vec<PathBuf>, _) = (of_home(&KEYS), of_home(&HOME));
        hide.extend(SYSTEM.map(PathBuf::from));
        Self { project, writable: true, write, hide, read_only, protect, network: false }
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

    /// The places within writable ones that stay closed: hidden ones that exist, and those that are read-only, without links.
    pub(crate) fn closed(&self) -> Vec<PathBuf> {
        let writes = self.writes();
        let within = |place: &PathBuf| writes.iter().any(|write| place.starts_with(write));
        let read_only = self.read_only.iter().map(|place| real(place));
        self.hides().into_iter().chain(read_only).filter(within).collect()
    }

    /// Writable folders in which a command cannot make files directly without bubblewrap, since something in them stays closed.
    pub fn narrowed(&self) -> Vec<PathBuf> {
        let (writes, closed) = (self.writes(), self.closed());
        let holds = |write: &PathBuf| closed.iter().any(|place| place.starts_with(write));
        writes.into_iter().filter(holds).collect()
    }
}

/// A path without links as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    known.map_or_else(
        || path.to_owned(),
        |(above, real)| path.strip_prefix(above).map_or_else(|_| real.clone(), |rest| real.join(rest)),
    )
}
