//! What is put back, and what is only told.

use super::{ProtectedFiles, PutBack};
use crate::SandboxPolicy;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const CONFIG: &str = "[core]\n\tbare = false\n";

/// A project with a repository.
fn project() -> io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let git = root.join(".git");
    for name in ["hooks", "info", "objects/info", "refs/heads"] {
        fs::create_dir_all(git.join(name))?;
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(git.join("config"), CONFIG)?;
    fs::write(git.join("hooks/old"), "old")?;
    fs::write(git.join("objects/one"), "object")?;
    Ok((folder, root))
}

/// Does something to a project as a command would; gives what was put back.
fn put_back(root: &Path, act: impl FnOnce() -> io::Result<()>) -> io::Result<Vec<PutBack>> {
    let policy = SandboxPolicy::of_project(root, None, &[".annals", ".cargo/config.toml"]);
    let kept = ProtectedFiles::capture(&policy);
    assert_eq!(kept.restore(), []);
    act()?;
    let changed = kept.restore();
    let repeated: Vec<PutBack> = kept.restore().into_iter().filter(|(_, restored)| *restored).collect();
    assert_eq!(repeated, [], "it is as it was");
    Ok(changed)
}

fn is_whole(root: &Path) -> io::Result<()> {
    let git = root.join(".git");
    assert_eq!(fs::read_to_string(git.join("config"))?, CONFIG);
    assert_eq!(fs::read_to_string(git.join("hooks/old"))?, "old");
    assert_eq!(fs::read_to_string(git.join("objects/one"))?, "object");
    assert_eq!(fs::read_to_string(git.join("HEAD"))?, "ref: refs/heads/main\n");
    assert!(!git.join("commondir").exists() && git.join("refs/heads").is_dir());
    Ok(())
}

#[test]
fn what_git_obeys_is_put_back_and_named() -> io::Result<()> {
    let (_folder, root) = project()?;
    let git = root.join(".git");
    let changed = put_back(&root, || {
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n")?;
        fs::remove_file(git.join("hooks/old"))?;
        fs::write(git.join("config"), "[core]\nhooksPath=x\n")?;
        symlink("config", git.join("config.worktree"))?;
        fs::write(git.join("commondir"), "../.evil\n")?;
        fs::write(git.join("objects/info/alternates"), "/elsewhere\n")?;
        fs::write(git.join("info/attributes"), "* filter=x\n")?;
        fs::write(git.join("info/refs"), "written by git gc\n")?;
        fs::write(git.join("index"), "changes with every commit")?;
        fs::create_dir(root.join(".annals"))?;
        fs::write(root.join(".annals/config.toml"), "x")
    })?;
    let mut names: Vec<&str> = Vec::new();
    for (path, restored) in &changed {
        assert!(restored, "{}", path.display());
        names.extend(path.strip_prefix(&root).ok().and_then(Path::to_str));
    }
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ".annals",
            ".git/commondir",
            ".git/config",
            ".git/config.worktree",
            ".git/hooks",
            ".git/info",
            ".git/objects/info/alternates"
        ]
    );
    is_whole(&root)?;
    assert!(git.join("index").exists() && git.join("info/refs").exists());
    Ok(())
}

#[test]
fn a_git_folder_that_was_moved_away_comes_back_whole() -> io::Result<()> {
    for replaced in ["nothing", "file", "link", "folder"] {
        let (_folder, root) = project()?;
        let (git, away) = (root.join(".git"), root.join("deep/away"));
        let changed = put_back(&root, || {
            fs::create_dir(root.join("deep"))?;
            fs::rename(&git, &away)?;
            fs::write(away.join("config"), "[core]\nfsmonitor=x\n")?;
            match replaced {
                "file" => fs::write(&git, "gitdir: deep/away\n"),
                "link" => symlink("deep/away", &git),
                "folder" => fs::create_dir_all(git.join("hooks")),
                _ => Ok(()),
            }
        })?;
        assert_eq!(changed, [(git.clone(), true), (git.join("config"), true)], "{replaced}");
        is_whole(&root)?;
        assert!(!away.exists(), "{replaced}");
    }
    Ok(())
}

#[test]
fn parts_of_a_git_folder_come_back_so_that_git_searches_nowhere_else() -> io::Result<()> {
    let (_folder, root) = project()?;
    let git = root.join(".git");
    let changed = put_back(&root, || {
        fs::rename(git.join("objects"), root.join("objects"))?;
        fs::rename(git.join("refs"), root.join("refs"))?;
        fs::rename(git.join("HEAD"), root.join("HEAD"))?;
        fs::write(root.join("config"), "[core]\nfsmonitor=x\nworktree=.\n")?;
        symlink("/", git.join("objects"))
    })?;
    assert_eq!(changed, [(git.join("objects"), true), (git.join("refs"), true), (git.join("HEAD"), true)]);
    is_whole(&root)
}

#[test]
fn what_is_gone_is_told_and_replaced_by_what_git_takes_for_a_repository() -> io::Result<()> {
    for again in [false, true] {
        let (_folder, root) = project()?;
        let git = root.join(".git");
        let changed = put_back(&root, || {
            fs::remove_dir_all(&git)?;
            if again {
                fs::create_dir_all(git.join("hooks"))?;
                fs::write(git.join("hooks/pre-commit"), "evil")?;
            }
            Ok(())
        })?;
        assert!(changed.contains(&(git.clone(), false)), "{changed:?}");
        assert_eq!(fs::read_to_string(git.join("config"))?, CONFIG);
        assert!(git.join("HEAD").is_file() && git.join("objects").is_dir() && git.join("refs").is_dir());
        assert!(!git.join("hooks/pre-commit").exists() && git.join("hooks/old").exists());
    }
    Ok(())
}

#[test]
fn nothing_is_put_back_through_a_link() -> io::Result<()> {
    let (_folder, root) = project()?;
    let outside = tempfile::tempdir()?;
    let other = outside.path().canonicalize()?;
    fs::create_dir_all(other.join("hooks"))?;
    fs::create_dir_all(other.join("sub"))?;
    fs::write(other.join("hooks/mine"), "mine")?;
    fs::write(other.join("config.toml"), "mine")?;
    for name in ["HEAD", "objects", "refs", "config", "sub/HEAD"] {
        fs::write(other.join(name), "mine")?;
    }
    let git = root.join(".git");
    let changed = put_back(&root, || {
        fs::remove_dir_all(git.join("hooks"))?;
        symlink(other.join("hooks"), git.join("hooks"))?;
        symlink(&other, root.join(".cargo"))?;
        symlink(&other, git.join("modules"))
    })?;
    assert!(changed.iter().all(|(_, restored)| *restored), "{changed:?}");
    is_whole(&root)?;
    assert!(root.join(".cargo").symlink_metadata().is_err() && git.join("modules").symlink_metadata().is_err());
    for name in ["hooks/mine", "config.toml", "config", "sub/HEAD"] {
        assert_eq!(fs::read_to_string(other.join(name))?, "mine", "{name}");
    }
    Ok(())
}

#[test]
fn another_name_of_a_protected_file_does_not_reach_it_later() -> io::Result<()> {
    let (_folder, root) = project()?;
    put_back(&root, || fs::hard_link(root.join(".git/config"), root.join("alias")))?;
    fs::write(root.join("alias"), "[core]\nfsmonitor=x\n")?;
    is_whole(&root)
}

#[test]
fn a_repository_that_a_command_makes_stays_without_what_runs_programs() -> io::Result<()> {
    let (_folder, root) = project()?;
    let git = root.join(".git");
    fs::rename(&git, root.join("kept"))?;
    let plain =
        put_back(&root, || fs::rename(root.join("kept"), &git).and_then(|()| fs::remove_file(git.join("hooks/old"))))?;
    assert_eq!(plain, []);
    fs::rename(&git, root.join("kept"))?;
    let changed = put_back(&root, || {
        fs::rename(root.join("kept"), &git)?;
        fs::write(git.join("config"), "[core]\nfsmonitor=x\n")?;
        fs::write(git.join("hooks/post-checkout"), "evil")
    })?;
    assert_eq!(changed, [(git.join("config"), true), (git.join("hooks"), true)]);
    assert!(git.join("objects/one").exists() && !git.join("hooks/post-checkout").exists());
    assert!(!fs::read_to_string(git.join("config"))?.contains("fsmonitor"));
    // Submodules and worktrees, too.
    let changed = put_back(&root, || {
        for place in ["modules/a/b", "worktrees/w"] {
            fs::create_dir_all(git.join(place))?;
            fs::write(git.join(place).join("HEAD"), "ref: refs/heads/main\n")?;
        }
        fs::write(git.join("modules/a/b/config"), "[core]\nsshCommand=x\n")?;
        fs::write(git.join("worktrees/w/commondir"), "../../../.evil\n")
    })?;
    assert_eq!(changed, [(git.join("modules/a/b/config"), true), (git.join("worktrees/w/commondir"), true)]);
    Ok(())
}

#[test]
fn a_project_does_not_become_a_repository_without_a_worktree() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let changed = put_back(&root, || {
        fs::create_dir_all(root.join("refs"))?;
        fs::create_dir_all(root.join("objects"))?;
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n")
    })?;
    assert_eq!(changed, [(root.join("HEAD"), true)]);
    assert!(!root.join("HEAD").exists() && root.join("HEAD.set-aside-1").exists());
    let changed = put_back(&root, || fs::write(root.join(".git"), "gitdir: elsewhere\n"))?;
    assert_eq!((changed, root.join(".git").exists()), (vec![(root.join(".git"), true)], false));
    Ok(())
}

#[test]
fn of_a_place_with_more_files_than_are_kept_none_is_removed() -> io::Result<()> {
    let (_folder, root) = project()?;
    fs::create_dir(root.join(".annals"))?;
    for n in 0..5_100 {
        fs::write(root.join(format!(".annals/{n:05}")), "x")?;
    }
    let changed = put_back(&root, || {
        fs::write(root.join(".annals/00001"), "changed")?;
        fs::remove_file(root.join(".annals/00002"))
    })?;
    assert_eq!(changed, [(root.join(".annals"), false)]);
    assert_eq!(fs::read_dir(root.join(".annals"))?.count(), 5_100);
    assert_eq!(fs::read_to_string(root.join(".annals/00001"))?, "x");
    Ok(())
}
