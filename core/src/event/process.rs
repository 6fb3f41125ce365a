//! Which program, where and for whom, writes to a session.

use super::payload;
use crate::text::{as_text, from_text};
use alloc::string::String;
use core::fmt;

payload! {
    /// The state of the git repository that contains a session's directory.
    #[derive(Default)]
    GitState {
        /// The branch that `HEAD` names; `None` for a detached `HEAD`, or if it is not known.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        branch: Option<String>,
        /// The commit of `HEAD` in hexadecimal; `None` before the first commit.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        commit: Option<String>,
        /// Whether files differ from that commit; `None` if it was not found out.
        dirty: Option<bool>,
        /// The address of the remote repository, if another agent recorded it.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        repository: Option<String>,
    } texts {}
}

payload! {
    /// A process that appends to a session: the program, the machine, the user, and the state of the files that it starts from.
    #[derive(Default)]
    ProcessInfo {
        /// The name of the program, such as `annals`.
        program: String,
        /// Its version.
        version: Option<String>,
        /// What distinguishes builds of one version: set when it is built.
        build: Option<String>,
        /// The name of the machine.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        host: Option<String>,
        /// The name of the user who runs it, as the operating system has it.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        user: Option<String>,
        /// Set if the session's directory is in a git repository.
        git: Option<GitState>,
    } texts {}
}

payload! {
    /// A process began to append to the session: in the first batch that it appends, once per process and session. The
    /// process that creates a session is in [`SessionCreated`](super::SessionCreated) instead.
    ProcessAttached {
        /// Which one.
        process: ProcessInfo,
    } texts {}
}

/// `main at 1f2e3d4, uncommitted changes`.
impl fmt::Display for GitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A commit that was withheld is a note, which is not cut.
        let short = |commit: &str| match commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            true => String::from(commit.get(..7).unwrap_or(commit)),
            false => String::from(commit),
        };
        match (&self.branch, &self.commit) {
            (Some(branch), Some(commit)) => write!(f, "{branch} at {}", short(commit))?,
            (Some(branch), None) => f.write_str(branch)?,
            (None, Some(commit)) => f.write_str(&short(commit))?,
            (None, None) => f.write_str("unknown commit")?,
        }
        match self.dirty {
            Some(true) => f.write_str(", uncommitted changes"),
            Some(false) | None => Ok(()),
        }
    }
}

/// `annals 0.1.0 (build 7) by ada on host, git main at 1f2e3d4`.
impl fmt::Display for ProcessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        for (before, value, after) in [
            (" ", &self.version, ""),
            (" (build ", &self.build, ")"),
            (" by ", &self.user, ""),
            (" on ", &self.host, ""),
        ] {
            if let Some(value) = value {
                write!(f, "{before}{value}{after}")?;
            }
        }
        match &self.git {
            Some(git) => write!(f, ", git {git}"),
            None => Ok(()),
        }
    }
}
