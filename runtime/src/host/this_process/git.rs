//! The state of a git repository, read without its configuration: an agent may have written that, and git would run commands
//! that it names. `HEAD` and refs are read as files. Whether files differ is asked of git with a directory of our own for
//! `GIT_DIR`, which shares the objects and the index.

use annals_core::event::GitState;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// How long reading the refs and comparing the files may take together. A longer answer is not waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most that is read of `HEAD` or a ref, in bytes.
const REF: u64 = 4096;

/// The most that is read of `packed-refs`, in bytes.
const PACKED: u64 = 16 << 20;

/// What was found of a repository.
struct Repository {
    root: PathBuf,
    /// The directory of this worktree: `HEAD` and the index.
    directory: PathBuf,
    /// The directory of the repository: refs and objects.
    common: PathBuf,
}

/// The state of the repository that contains a directory; `None` if there is none. Takes at most about 100 ms.
pub(super) async fn state(directory: &Path) -> Option<GitState> {
    let directory = directory.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let repository = find(&directory)?;
        let state = head(&repository)?;
        Some((repository, state))
    });
    let until = tokio::time::Instant::now() + PATIENCE;
    let (repository, mut state) = tokio::time::timeout_at(until, read).await.ok()?.ok()??;
    if let Some(commit) = &state.commit {
        state.dirty = tokio::time::timeout_at(until, is_dirty(&repository, commit)).await.ok().flatten();
    }
    Some(state)
}

fn find(directory: &Path) -> Option<Repository> {
    directory.ancestors().find_map(|root| {
        let entry = root.join(".git");
        let directory = if entry.is_dir() {
            entry
        } else {
            let file = text(&entry, REF)?;
            root.join(file.trim_end().strip_prefix("gitdir: ")?)
        };
        let common = match text(&directory.join("commondir"), REF) {
            Some(common) => directory.join(common.trim_end()),
            None => directory.clone(),
        };
        directory.join("HEAD").is_file().then(|| Repository { root: root.to_owned(), directory, common })
    })
}

fn head(repository: &Repository) -> Option<GitState> {
    let head = text(&repository.directory.join("HEAD"), REF)?;
    let head = head.trim_end();
    let Some(name) = head.strip_prefix("ref: ") else {
        return Some(GitState { commit: hash(head), ..GitState::default() });
    };
    // With refs that are not stored as files, `HEAD` has this name.
    let branch = name.strip_prefix("refs/heads/").filter(|branch| *branch != ".invalid");
    let is_plain = name.starts_with("refs/") && Path::new(name).components().all(|part| part.as_os_str() != "..");
    let loose = || text(&repository.common.join(name), REF).and_then(|text| hash(text.trim_end()));
    let commit = if is_plain { loose().or_else(|| packed(repository, name)) } else { None };
    Some(GitState { branch: branch.map(str::to_owned), commit, ..GitState::default() })
}

fn packed(repository: &Repository, name: &str) -> Option<String> {
    let refs = text(&repository.common.join("packed-refs"), PACKED)?;
    let mut lines = refs.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, of)| *of == name).and_then(|(commit, _)| hash(commit))
}

/// A hash in hexadecimal, of either length that git has.
fn hash(text: &str) -> Option<String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

/// The text of a regular file that is not larger than `limit`.
fn text(path: &Path, limit: u64) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(limit + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= limit).then_some(text)
}

/// Whether tracked files differ from the commit; `None` without git, or if git refuses.
async fn is_dirty(repository: &Repository, commit: &str) -> Option<bool> {
    let own = tempfile::tempdir().ok()?;
    let git = own.path();
    std::fs::create_dir(git.join("refs")).ok()?;
    std::fs::create_dir(git.join("objects")).ok()?;
    std::fs::write(git.join("HEAD"), format!("{commit}\n")).ok()?;
    let mut command = tokio::process::Command::new("git");
    command.args(["--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    command.args(["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"]);
    for name in ["GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"] {
        command.env_remove(name);
    }
    command.env("GIT_DIR", git).env("GIT_WORK_TREE", &repository.root);
    command.env("GIT_OBJECT_DIRECTORY", repository.common.join("objects"));
    command.env("GIT_INDEX_FILE", repository.directory.join("index"));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_NO_LAZY_FETCH", "1");
    command.current_dir(&repository.root).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.ok()?;
    output.status.success().then_some(!output.stdout.is_empty())
}

#[cfg(test)]
mod tests {
    use super::state;
    use std::path::Path;
    use std::process::Command;

    fn git(at: &Path, args: &[&str]) {
        let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
        let status = Command::new("git").args(identity).args(args).current_dir(at).output().unwrap().status;
        assert!(status.success(), "git {args:?}");
    }

    #[tokio::test]
    async fn the_state_of_a_repository_is_its_branch_its_commit_and_whether_files_differ() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(state(at).await, None);
        git(at, &["init", "-q", "-b", "trunk"]);
        let unborn = state(at).await.unwrap();
        assert_eq!((unborn.branch.as_deref(), unborn.commit, unborn.dirty), (Some("trunk"), None, None));
        std::fs::write(at.join("a"), "1").unwrap();
        git(at, &["add", "a"]);
        git(at, &["commit", "-q", "-m", "first"]);
        std::fs::create_dir(at.join("below")).unwrap();
        let clean = state(&at.join("below")).await.unwrap();
        assert_eq!(clean.branch.as_deref(), Some("trunk"));
        assert_eq!(clean.commit.as_ref().map(String::len), Some(40));
        // A busy machine may not answer in time; a wrong answer it never gives.
        assert_ne!(clean.dirty, Some(true));
        git(at, &["pack-refs", "--all"]);
        assert_eq!(state(at).await.unwrap().commit, clean.commit);
        std::fs::write(at.join("a"), "22").unwrap();
        assert_ne!(state(at).await.unwrap().dirty, Some(false));
        git(at, &["checkout", "-q", "--detach"]);
        let detached = state(at).await.unwrap();
        assert_eq!((detached.branch, detached.commit), (None, clean.commit));
    }

    #[tokio::test]
    async fn commands_that_a_repository_names_are_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        git(at, &["init", "-q"]);
        std::fs::write(at.join("a"), "1").unwrap();
        git(at, &["add", "a"]);
        git(at, &["commit", "-q", "-m", "first"]);
        let ran = at.join("ran");
        let command = format!("touch {}", ran.display());
        git(at, &["config", "core.fsmonitor", &command]);
        git(at, &["config", "filter.x.clean", &command]);
        std::fs::write(at.join(".git/info/attributes"), "* filter=x\n").unwrap();
        std::fs::write(at.join("a"), "2").unwrap();
        assert!(state(at).await.is_some());
        assert!(!ran.exists());
    }
}
