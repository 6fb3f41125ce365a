//! The program and the git branch that each line of a transcript names.

use super::AGENT;
use crate::foreign::JsonObject;
use annals_core::event::{GitState, ProcessInfo};

/// The process that wrote a line. A line that does not name its version or branch has those of the line before it.
pub fn of_line(object: &JsonObject<'_>, before: &ProcessInfo) -> ProcessInfo {
    let git = match object.text("gitBranch").as_deref() {
        None => before.git.clone(),
        // Not a repository.
        Some("") => None,
        // A detached `HEAD`.
        Some("HEAD") => Some(GitState::default()),
        Some(branch) => Some(GitState { branch: Some(branch.to_owned()), ..GitState::default() }),
    };
    let version = object.text("version").or_else(|| before.version.clone());
    ProcessInfo { program: AGENT.into(), version, git, ..ProcessInfo::default() }
}
