//! Projects: the root of the git repository that contains a directory, or the directory itself. A command over sessions
//! means those of the project that it is started in.

use annals_core::SessionId;
use annals_inspect::recorded_path::{self, below, last_name, resolved};
use annals_projections::{Catalogue, CatalogueEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    /// Its folder, as it was named and without symbolic links. Of two, the first is shown.
    folders: Vec<PathBuf>,
    /// A name that is not a path: it matches projects whose folders have this name.
    name: Option<String>,
}

/// Selects sessions by their directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProjectScope {
    /// Of all.
    #[default]
    All,
    /// Of those in a project.
    In(ProjectFolder),
}

/// The folder of the project that a directory belongs to. A directory that does not exist any more belongs to the repository
/// that contained it, if that still exists; a worktree that Claude Code made within a project belongs to that.
pub fn root(directory: &Path) -> PathBuf {
    let is_worktree = |folder: &&Path| folder.ends_with(".claude/worktrees");
    let of_worktree = directory.ancestors().skip(1).find(is_worktree).and_then(|folder| folder.parent()?.parent());
    let directory = of_worktree.unwrap_or(directory);
    let repository = directory.ancestors().find(|folder| folder.is_absolute() && folder.join(".git").exists());
    repository.unwrap_or(directory).to_owned()
}

/// The last name of each path; with the one before it where several paths share it.
pub fn short_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    let last = |path: &str, count: usize| {
        let all: Vec<&str> = recorded_path::names(path).collect();
        let from = all.len().saturating_sub(count);
        all.get(from..).unwrap_or_default().join("/")
    };
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for path in &paths {
        *counts.entry(last(path, 1)).or_default() += 1;
    }
    let short = |path: &&str| {
        let one = last(path, 1);
        let shown = if counts.get(&one).is_some_and(|count| *count > 1) { last(path, 2) } else { one };
        ((*path).to_owned(), if shown.is_empty() { (*path).to_owned() } else { shown })
    };
    paths.iter().map(short).collect()
}

/// A path without `.`, `..` and a slash at its end, also where it does not exist.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

impl ProjectFolder {
    /// The project that contains a directory.
    pub fn around(directory: &Path) -> Self {
        let directory = normal(directory);
        Self::in_folder(&root(&directory))
    }

    fn in_folder(directory: &Path) -> Self {
        let mut folders = vec![normal(directory)];
        folders.extend(directory.canonicalize().ok().filter(|real| *real != folders[0]));
        Self { folders, name: None }
    }

    /// The project that a user names: by a path, from the directory `from` on, or by the name of its folder.
    pub fn named(text: &str, from: &Path) -> Self {
        let path = from.join(text);
        let is_name = !path.exists()
            && !matches!(text, "" | "." | "..")
            && (recorded_path::is_windows(text) || !text.contains('/'));
        match is_name {
            true => Self { folders: vec![normal(&path)], name: Some(text.to_owned()) },
            false => Self::around(&path),
        }
    }

    /// A folder that a user names: by a path, from the directory `from` on, or by its name alone.
    pub fn folder(text: &str, from: &Path) -> Self {
        Self { name: Self::named(text, from).name, ..Self::in_folder(&from.join(text)) }
    }

    /// Whether a directory is in the project.
    pub fn contains(&self, directory: &str) -> bool {
        let path = Path::new(directory);
        // A path of Windows counts as a name here: it leads to no folder of this machine.
        let is_named = |name: &String| {
            last_name(&root(path).to_string_lossy()) == name
                || recorded_path::is_windows(name)
                    && (below(directory, name).is_some() || resolved(directory, "") == resolved(name, ""))
        };
        !directory.is_empty()
            && (self.folders.iter().any(|folder| path.starts_with(folder)) || self.name.as_ref().is_some_and(is_named))
    }
}

impl ProjectScope {
    /// Whether the sessions of a directory are meant.
    pub fn takes(&self, directory: &str) -> bool {
        match self {
            Self::All => true,
            Self::In(project) => project.contains(directory),
        }
    }

    /// The directories of sessions that are meant; `None` for all.
    pub fn directories(&self, catalogue: &Catalogue) -> Option<BTreeSet<String>> {
        let Self::In(project) = self else { return None };
        let all: BTreeSet<&str> = catalogue.sessions.values().map(|entry| entry.directory.as_str()).collect();
        Some(all.into_iter().filter(|directory| project.contains(directory)).map(str::to_owned).collect())
    }
}

/// The session that changed last of those that are wanted.
pub fn newest(catalogue: &Catalogue, wanted: impl Fn(&CatalogueEntry) -> bool) -> Option<SessionId> {
    let found = catalogue.sessions.iter().filter(|(_, entry)| wanted(entry));
    found.max_by_key(|(id, entry)| (entry.updated, **id)).map(|(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_the_repository_or_the_directory_and_its_namesakes_are_not_in_it() {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().canonicalize().unwrap();
        let (repository, below) = (base.join("shop"), base.join("shop/web/src"));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::create_dir_all(repository.join(".git")).unwrap();
        assert_eq!(root(&below), repository);
        assert_eq!(root(&repository.join("gone/long ago")), repository);
        assert_eq!(root(Path::new("/gone/long ago")), Path::new("/gone/long ago"));
        assert_eq!(root(Path::new("/gone/shop/.claude/worktrees/calm-sea/src")), Path::new("/gone/shop"));
        assert_eq!(root(Path::new("/gone/.claude/worktrees")), Path::new("/gone/.claude/worktrees"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let project = ProjectFolder::around(&below);
        assert!(project.contains(&text(&repository)) && project.contains(&text(&below)));
        assert!(!project.contains(&text(&base)) && !project.contains(&format!("{}ping", text(&repository))));
        assert!(!project.contains(""));
        std::os::unix::fs::symlink(&repository, base.join("link")).unwrap();
        assert!(ProjectFolder::around(&base.join("link/web/..")).contains(&text(&repository)));
    }

    #[test]
    fn a_project_is_named_by_a_path_or_the_name_of_its_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("shop")).unwrap();
        let shop = base.join("shop").to_str().unwrap().to_owned();
        assert!(ProjectFolder::named("shop", &base).contains(&shop));
        assert!(!ProjectFolder::named("shop", &base).contains("/elsewhere/shop"));
        assert!(ProjectFolder::named("store", &base).contains("/elsewhere/store"));
        assert!(!ProjectFolder::named("store", &base).contains("/elsewhere/storefront"));
        for windows in [r"C:\Users\x\store", r"c:\Users\x\store\", "d:/store"] {
            assert!(ProjectFolder::named("store", &base).contains(windows), "{windows}");
        }
        let store = ProjectFolder::named("C:/Users/x/store", &base);
        assert!(store.contains(r"c:\Users\x\store\src") && store.contains(r"C:\Users\x\store"));
        assert!(!store.contains(r"C:\Users\x\storefront") && !store.contains("/srv/store"));
        assert!(ProjectFolder::named("./store", &base).contains(base.join("store/src").to_str().unwrap()));
    }

    #[test]
    fn paths_are_shown_by_their_last_names_unless_they_share_them() {
        let windows = [r"C:\x\web", "/srv/web", r"D:\api", r"C:\"];
        let short = short_paths(windows);
        assert_eq!(windows.map(|path| short[path].as_str()), ["x/web", "srv/web", "api", r"C:\"]);
        let short = short_paths(["/a/shop", "/b/shop", "/work/annals", "/", ""]);
        let shown: Vec<&str> = ["/a/shop", "/b/shop", "/work/annals", "/", ""].map(|path| short[path].as_str()).into();
        assert_eq!(shown, ["a/shop", "b/shop", "annals", "/", ""]);
    }
}
