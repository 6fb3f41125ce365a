//! Repositories that a command made where git enters them by itself: as that of the project, as a submodule, as a worktree. They may stay,
//! without settings that run programs.

use super::{PutBack, is_folder, set_aside};
use crate::git::{self, MINIMAL, only_harmless};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The repositories that were there.
#[derive(Debug)]
pub(super) struct BroughtRepositories {
    project: PathBuf,
    /// Git's folders, those of submodules and worktrees included.
    folders: BTreeSet<PathBuf>,
    entered: BTreeSet<PathBuf>,
    has_git: bool,
    /// Whether the project is a repository without a worktree.
    bare: bool,
}

impl BroughtRepositories {
    pub(super) fn before(project: &Path, folders: &[PathBuf], entered: &[PathBuf]) -> Self {
        Self {
            project: project.to_owned(),
            folders: folders.iter().cloned().collect(),
            entered: entered.iter().cloned().collect(),
            has_git: project.join(".git").symlink_metadata().is_ok(),
            bare: git::is_git_folder(project),
        }
    }

    /// Takes what runs programs out of new repositories; gives what was changed for that.
    pub(super) fn disarm(&self) -> Vec<PutBack> {
        let mut changed = Vec::new();
        let own = self.project.join(".git");
        if !self.has_git && own.symlink_metadata().is_ok() {
            disarm_git(&own, &mut changed);
        }
        if !self.bare && git::is_git_folder(&self.project) {
            let head = self.project.join("HEAD");
            changed.push((head.clone(), set_aside(&head).is_ok()));
        }
        for folder in &self.folders {
            for (name, _) in git::NESTED {
                let holder = folder.join(name);
                // Their folders would be elsewhere.
                if holder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                    changed.push((holder.clone(), fs::remove_file(&holder).is_ok()));
                }
            }
            let new = git::nested(folder).into_iter().filter(|nested| !self.folders.contains(nested));
            new.for_each(|nested| disarm_folder(&nested, &mut changed));
        }
        let entered = git::entered_repositories(&self.project);
        let new = entered.into_iter().filter(|git| !self.entered.contains(git) && *git != own);
        new.for_each(|git| disarm_git(&git, &mut changed));
        changed
    }
}

/// Disarms a new `.git`. One that leads elsewhere is removed.
fn disarm_git(git: &Path, changed: &mut Vec<PutBack>) {
    if !is_folder(git) {
        changed.push((git.to_owned(), fs::remove_file(git).is_ok()));
        return;
    }
    disarm_folder(git, changed);
    git::nested(git).iter().for_each(|nested| disarm_folder(nested, changed));
}

fn disarm_folder(folder: &Path, changed: &mut Vec<PutBack>) {
    for name in git::OBEYED {
        let place = folder.join(name);
        let Ok(found) = place.symlink_metadata() else { continue };
        let text = || fs::read_to_string(&place).unwrap_or_else(|_| "unreadable".into());
        let harmless = match name {
            "config" | "config.worktree" => found.is_file() && only_harmless(&text()),
            "hooks" => found.is_dir() && only_samples(&place),
            // Of a linked worktree.
            "commondir" => found.is_file() && text().trim() == "../..",
            // They run nothing.
            "gitdir" | "objects/info/alternates" => found.is_file(),
            "info" => found.is_dir(),
            // `git init` makes one.
            "branches" => found.is_dir() && fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none()),
            _ => false,
        };
        if harmless {
            continue;
        }
        let removed = if found.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) };
        let disarmed = match name {
            "config" => removed.and_then(|()| fs::write(&place, MINIMAL)),
            _ => removed,
        };
        changed.push((place, disarmed.is_ok()));
    }
}

/// Whether a folder of hooks has nothing that git runs.
fn only_samples(hooks: &Path) -> bool {
    fs::read_dir(hooks).into_iter().flatten().flatten().all(|entry| {
        let is_sample = entry.file_name().to_string_lossy().ends_with(".sample");
        is_sample && entry.file_type().is_ok_and(|kind| kind.is_file())
    })
}
