//! What a command must leave as it is although its folder is writable. Landlock cannot take a part out of such a folder, so it is
//! compared after the command, and put back.

mod brought;
mod folders;
mod state;

use crate::SandboxPolicy;
use crate::git;
use brought::BroughtRepositories;
use folders::KeptFolders;
use state::{FileState, ProtectedPlace};
use std::path::{Path, PathBuf};

/// What a command changed, and whether it is as it was again.
pub type PutBack = (PathBuf, bool);

/// Protected files and folders as they were: those of the policy, and of git's folders what git runs or obeys.
#[derive(Debug)]
pub struct ProtectedFiles {
    folders: KeptFolders,
    places: Vec<ProtectedPlace>,
    /// `HEAD` of git folders. It changes with every checkout; without a valid one git takes the folder for none.
    heads: Vec<(PathBuf, FileState)>,
    repositories: BroughtRepositories,
}

impl ProtectedFiles {
    /// What a policy protects, which need not exist.
    pub fn capture(policy: &SandboxPolicy) -> Self {
        let project = &policy.project;
        let own = git::git_folders(project);
        let entered = git::entered_repositories(project);
        let mut gits: Vec<PathBuf> = own.iter().chain(&entered).filter(|git| is_folder(git)).cloned().collect();
        let nested: Vec<PathBuf> = gits.iter().flat_map(|git| git::nested(git)).collect();
        gits.extend(nested);
        gits.sort();
        gits.dedup();
        let mut folders = KeptFolders::default();
        for git in &gits {
            let inner = git::REQUIRED_FOLDERS.into_iter().chain(git::NESTED.map(|(name, _)| name));
            folders.keep(git);
            inner.for_each(|name| folders.keep(&git.join(name)));
        }
        let obeyed = gits.iter().flat_map(|git| git::OBEYED.map(|name| (git.clone(), git.join(name))));
        let of_project = policy.protect.iter().map(|place| (project.clone(), place.clone()));
        // A `.git` that is a file or a link.
        let leading = std::iter::once(project.join(".git")).chain(entered.iter().cloned());
        let leading = leading.filter(|git| !is_folder(git) && git.symlink_metadata().is_ok());
        let places = obeyed.chain(of_project).chain(leading.map(|git| (project.clone(), git)));
        let places = places.map(|(root, place)| {
            folders.keep_links(&root, &place);
            ProtectedPlace::of(place)
        });
        let places = places.collect();
        let heads = gits.iter().map(|git| git.join("HEAD")).filter(|head| git::is_valid_head(head));
        let heads = heads.filter_map(|head| Some((head.clone(), FileState::at(&head)?))).collect();
        let repositories = BroughtRepositories::before(project, &gits, &entered);
        Self { folders, places, heads, repositories }
    }

    /// Puts back what is different now; gives what was, and whether each is as it was.
    pub fn restore(&self) -> Vec<PutBack> {
        let mut changed = self.folders.restore();
        changed.extend(self.places.iter().filter_map(ProtectedPlace::restore));
        let heads = self.heads.iter().filter(|(head, _)| !git::is_valid_head(head));
        changed.extend(heads.map(|(head, state)| (head.clone(), state.write_over(head).is_ok())));
        changed.extend(self.repositories.disarm());
        let mut named: Vec<PutBack> = Vec::new();
        for (path, restored) in changed {
            match named.iter_mut().find(|(known, _)| *known == path) {
                Some((_, before)) => *before &= restored,
                None => named.push((path, restored)),
            }
        }
        named
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Moves something out of the way, below a name that is free.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1..).map(|n| path.with_file_name(format!("{name}.set-aside-{n}")));
    let mut free = free.filter(|path| path.symlink_metadata().is_err());
    let to = free.next().ok_or(std::io::ErrorKind::AlreadyExists)?;
    std::fs::rename(path, &to)?;
    Ok(to)
}

#[cfg(test)]
mod tests;
