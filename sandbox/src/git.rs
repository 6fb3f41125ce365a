//! The git folders of a project: where `.git` leads, which files in them git runs or obeys, and repositories within the project that git
//! enters by itself.

mod index;
mod settings;

pub(crate) use settings::{MINIMAL, only_harmless};

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What git runs or obeys, below one of its folders.
pub(crate) const OBEYED: [&str; 10] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "commondir",
    "gitdir",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "branches",
    "remotes",
];

/// Without these git takes a folder for no repository, and searches further: in the project itself, then above it.
pub(crate) const REQUIRED_FOLDERS: [&str; 2] = ["objects", "refs"];

/// Folders of a git folder that hold further git folders, and how deep.
pub(crate) const NESTED: [(&str, usize); 2] = [("modules", 16), ("worktrees", 1)];

/// Whether git takes a folder for a repository without a worktree, or for the folder of one.
pub fn is_git_folder(folder: &Path) -> bool {
    let there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    there("HEAD") && (there("commondir") || there("objects") && there("refs"))
}

/// The folders in which git keeps what belongs to a worktree: its own, and for a linked worktree the common one. Empty without any.
pub(crate) fn git_folders(root: &Path) -> Vec<PathBuf> {
    let own = root.join(".git");
    let Ok(found) = own.symlink_metadata() else { return Vec::new() };
    if found.is_dir() {
        return vec![own];
    }
    // What a repository brings along may lead to any folder: only git's own layout is believed.
    let believed = |folder: &PathBuf| folder.join("HEAD").symlink_metadata().is_ok();
    if found.is_symlink() {
        return own.canonicalize().ok().into_iter().filter(|folder| folder.is_dir() && believed(folder)).collect();
    }
    let Some(worktree) = named(&own, root, "gitdir:") else { return Vec::new() };
    let common = named(&worktree.join("commondir"), &worktree, "");
    let linked = common.is_some() || worktree.components().any(|part| part.as_os_str() == ".git");
    [Some(worktree), common].into_iter().flatten().filter(|folder| linked && believed(folder)).collect()
}

/// Whether git takes a file for the `HEAD` of a repository.
pub(crate) fn is_valid_head(head: &Path) -> bool {
    if let Ok(target) = fs::read_link(head) {
        return target.starts_with("refs");
    }
    let text = head.metadata().is_ok_and(|found| found.is_file()).then(|| fs::read_to_string(head).ok()).flatten();
    text.is_some_and(|text| {
        let names = text.strip_prefix("ref:").is_some_and(|name| name.trim_start().starts_with("refs/"));
        names || text.len() >= 40 && text.bytes().take(40).all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The folder that a file of git names.
fn named(file: &Path, from: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim().strip_prefix(prefix)?.trim().to_owned();
    from.join(path).canonicalize().ok()
}

/// The git folders of submodules and linked worktrees below a git folder.
pub(crate) fn nested(git: &Path) -> Vec<PathBuf> {
    NESTED.iter().flat_map(|(name, depth)| below(&git.join(name), *depth)).collect()
}

fn below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    // Not through a link: what it leads to is none of this repository.
    let itself = depth > 0 && folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let entries = itself.then(|| fs::read_dir(folder)).into_iter().flatten().flatten().flatten();
    let folders =
        entries.map(|entry| entry.path()).filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
    let of = |path: PathBuf| match path.join("HEAD").symlink_metadata().is_ok() {
        // A submodule has submodules of its own.
        true => [vec![path.clone()], below(&path.join("modules"), depth - 1)].concat(),
        false => below(&path, depth - 1),
    };
    folders.flat_map(of).collect()
}

/// Whether a folder of the project is one of another repository than the project's: git obeys the configuration there, which files of the
/// project, an archive or a command may have brought along. Worktrees and submodules whose git folder is in the project's own
/// do not count.
pub fn is_other_repository(folder: &Path, project: &Path) -> bool {
    is_git_folder(folder) || other_git(folder, &git_folders(project)).is_some()
}

/// The `.git` of a folder, unless that leads into the folders of git that are given.
fn other_git(folder: &Path, own: &[PathBuf]) -> Option<PathBuf> {
    let git = folder.join(".git");
    let found = git.symlink_metadata().ok()?;
    let leads = if found.is_file() { named(&git, folder, "gitdir:") } else { git.canonicalize().ok() };
    let keeps = |own: &PathBuf| {
        let own = own.canonicalize().ok()?;
        let leads = leads.as_ref()?;
        Some(NESTED.iter().any(|(name, _)| leads.starts_with(own.join(name))))
    };
    (!own.iter().any(|own| keeps(own) == Some(true))).then_some(git)
}

/// The `.git` of folders that the index of a project lists as repositories and whose git folder is not in the project's own: `git status`
/// in the project runs git in them.
pub fn entered_repositories(project: &Path) -> Vec<PathBuf> {
    let own = git_folders(project);
    let Some(first) = own.first() else { return Vec::new() };
    // A split index has shared parts in the same folder.
    let files = fs::read_dir(first).into_iter().flatten().flatten().map(|entry| entry.path());
    let shared =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"sharedindex."));
    let indexes = std::iter::once(first.join("index")).chain(files.filter(shared));
    let listed: BTreeSet<PathBuf> = indexes.flat_map(|index| index::repositories(&index)).collect();
    listed.into_iter().filter_map(|path| other_git(&project.join(path), &own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(at: &Path, args: &[&str]) -> std::io::Result<()> {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let output = Command::new("git").args(identity).args(args).current_dir(at).output()?;
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    #[test]
    fn repositories_that_files_brought_along_are_told_from_those_of_the_project() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let (project, other) = (root.join("project"), root.join("other"));
        fs::create_dir_all(project.join("plain"))?;
        fs::create_dir_all(&other)?;
        git(&other, &["init", "-q"])?;
        git(&other, &["commit", "-q", "--allow-empty", "-m", "x"])?;
        git(&project, &["init", "-q"])?;
        git(&project, &["submodule", "--quiet", "add", "../other", "sub"])?;
        git(&project, &["commit", "-q", "-m", "x"])?;
        git(&project, &["worktree", "add", "-q", "linked"])?;
        git(&project, &["clone", "-q", "../other", "cloned"])?;
        git(&project, &["clone", "-q", "--bare", "../other", "bare"])?;
        fs::create_dir_all(project.join("half"))?;
        fs::write(project.join("half/HEAD"), "ref: refs/heads/x\n")?;
        fs::write(project.join("half/commondir"), "../bare\n")?;
        std::os::unix::fs::symlink("../bare", project.join("plain/.git"))?;
        let other: Vec<_> = ["sub", "linked", "cloned", "bare", "half", "plain", "missing"]
            .into_iter()
            .filter(|name| is_other_repository(&project.join(name), &project))
            .collect();
        assert_eq!(other, ["cloned", "bare", "half", "plain"]);
        assert_eq!(entered_repositories(&project), Vec::<PathBuf>::new());
        git(&project, &["add", "cloned"])?;
        assert_eq!(entered_repositories(&project), [project.join("cloned/.git")]);
        for version in ["2", "3", "4"] {
            git(&project, &["update-index", "--index-version", version, "--force-write-index"])?;
            assert_eq!(entered_repositories(&project), [project.join("cloned/.git")], "version {version}");
        }
        let nested: Vec<_> = nested(&project.join(".git")).iter().map(|git| git.file_name().map(Into::into)).collect();
        assert_eq!(nested, [Some(PathBuf::from("sub")), Some(PathBuf::from("linked"))]);
        assert_eq!(git_folders(&project.join("linked")), [project.join(".git/worktrees/linked"), project.join(".git")]);
        Ok(())
    }
}
