//! The `git` command, kept from everything that a user, a project or an agent may have configured.
//!
//! An agent can write a project's `.git/config`, hooks and attributes. If the runtime's git obeyed them, a write would be
//! a way to run commands that no permission was asked for. So two kinds of call exist: on the shadow repository, whose
//! configuration is ours, with hooks, filters, conversions and file-system monitors off; and on the project's own
//! repository, reading only, with commands that run neither filters nor hooks.

use annals_runtime::worktree::FilesError;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What holds for every call.
const SETTINGS: [&str; 15] = [
    "safe.bareRepository=explicit",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    // Names that other systems refuse are captured; restored paths are checked separately.
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.splitIndex=false",
    // A tree that the log names is durable before the log names it: one sync for all its new objects.
    "core.fsync=loose-object,pack,pack-metadata",
    "core.fsyncMethod=batch",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
];

/// The shadow repository and the worktree it looks at.
#[derive(Clone, Debug)]
pub(super) struct Git {
    /// `GIT_DIR` of the shadow repository.
    pub(super) directory: PathBuf,
    /// The worktree.
    pub(super) root: PathBuf,
    /// The exclude rules besides `.gitignore`.
    pub(super) excludes: PathBuf,
    /// Another object store to read from.
    pub(super) lent: Option<PathBuf>,
}

impl Git {
    /// The shadow repository in a folder, for the worktree with this root.
    pub(super) fn keeping_in(folder: &Path, root: PathBuf) -> Self {
        Self { directory: folder.join("git"), root, excludes: folder.join("excludes"), lent: None }
    }

    /// A call on the shadow repository.
    pub(super) fn shadow(&self, command: &'static str) -> GitCall {
        let mut call = GitCall::new(&self.root, command);
        call = call.excludes(&self.excludes);
        call.command.env("GIT_DIR", &self.directory).env("GIT_WORK_TREE", &self.root);
        call.command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(objects) = &self.lent {
            call.command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        call
    }

    /// A reading call on the project's own repository, with its own configuration.
    pub(super) fn project(root: &Path, command: &'static str) -> GitCall {
        GitCall::new(root, command)
    }
}

/// One call of git.
pub(super) struct GitCall {
    command: Command,
    name: &'static str,
    excludes: Option<PathBuf>,
    args: Vec<OsString>,
    input: Vec<u8>,
}

impl GitCall {
    fn new(root: &Path, name: &'static str) -> Self {
        let mut command = Command::new("git");
        // A hook or an editor that started us may have left its own repository in the environment.
        for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(key);
        }
        command.env("GIT_ATTR_NOSYSTEM", "1").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").current_dir(root);
        Self { command, name, excludes: None, args: Vec::new(), input: Vec::new() }
    }

    /// With these arguments.
    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_os_string()));
        self
    }

    /// With this file of exclude rules in place of the user's.
    pub(super) fn excludes(mut self, file: &Path) -> Self {
        self.excludes = Some(file.into());
        self
    }

    /// In another directory.
    pub(super) fn current(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// With an environment variable.
    pub(super) fn env(mut self, key: &str, value: &Path) -> Self {
        self.command.env(key, value);
        self
    }

    /// With another index than the shadow's own.
    pub(super) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", index)
    }

    /// Fed with these bytes.
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Runs it; anything but success is an error.
    pub(super) fn run(self) -> Result<Vec<u8>, FilesError> {
        let name = self.name;
        let ended = self.finish(None)?;
        match ended.code {
            Some(0) => Ok(ended.output),
            _ => Err(FilesError::Git { command: name.into(), message: ended.message }),
        }
    }

    /// Runs it and reads text.
    pub(super) fn text(self) -> Result<String, FilesError> {
        let name = self.name;
        let text = String::from_utf8(self.run()?).map_err(|_| FilesError::Answer { command: name })?;
        Ok(text.trim_end_matches('\n').to_string())
    }

    /// Runs it; the caller judges the exit status.
    pub(super) fn finish(mut self, limit: Option<u64>) -> Result<GitOutput, FilesError> {
        let mut child = self.spawn(Stdio::piped())?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = std::mem::take(&mut self.input);
        let mut output = Vec::new();
        let mut message = Vec::new();
        let mut cut = false;
        let read = std::thread::scope(|scope| {
            scope.spawn(|| {
                // git may end before it has read everything; its exit status shows whether that matters.
                if let Some(mut stdin) = stdin {
                    drop(stdin.write_all(&input));
                }
            });
            let errors = scope.spawn(|| {
                let mut errors = Vec::new();
                stderr.map_or(Ok(0), |mut stderr| stderr.read_to_end(&mut errors)).map(|_| errors)
            });
            let read = match (stdout, limit) {
                (Some(stdout), Some(limit)) => stdout.take(limit.saturating_add(1)).read_to_end(&mut output),
                (Some(mut stdout), None) => stdout.read_to_end(&mut output),
                (None, _) => Ok(0),
            };
            cut = limit.is_some_and(|limit| output.len() as u64 > limit);
            // The pipe is closed by now: git, if it still writes, ends by itself.
            message = errors.join().unwrap_or_else(|_| Ok(Vec::new())).unwrap_or_default();
            read
        });
        let status = child.wait().map_err(|source| self.failed(source))?;
        read.map_err(|source| self.failed(source))?;
        let message = String::from_utf8_lossy(&message);
        let mut message: String = message.trim().chars().take(2_000).collect();
        if message.is_empty() {
            message = format!("ended with {status}");
        }
        Ok(GitOutput { code: if cut { Some(0) } else { status.code() }, output, message, cut })
    }

    fn failed(&self, source: std::io::Error) -> FilesError {
        FilesError::Git { command: self.name.into(), message: source.to_string() }
    }

    fn spawn(&mut self, errors: Stdio) -> Result<Child, FilesError> {
        self.command.arg("--no-pager");
        for setting in SETTINGS {
            self.command.args(["-c", setting]);
        }
        if let Some(file) = &self.excludes {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(file);
            self.command.arg("-c").arg(setting);
        }
        self.command.arg(self.name).args(&self.args);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        self.command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => match self.command.get_current_dir() {
                // A missing directory fails with the same words as a missing command.
                Some(root) if !root.is_dir() => FilesError::Io { path: root.into(), source },
                _ => FilesError::NoGit,
            },
            _ => self.failed(source),
        })
    }
}

/// How a call ended.
pub(super) struct GitOutput {
    /// Exit status; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    /// What it wrote, up to one byte beyond the limit.
    pub(super) output: Vec<u8>,
    /// What it said on stderr, for people.
    pub(super) message: String,
    /// Whether there was more than the limit.
    pub(super) cut: bool,
}

/// Reads stored contents, one after the other, from one process.
pub(super) struct Contents {
    child: Child,
    ask: ChildStdin,
    answers: std::io::BufReader<ChildStdout>,
}

impl Contents {
    /// Starts the process.
    pub(super) fn open(call: GitCall) -> Result<Self, FilesError> {
        let mut child = call.args(["--batch"]).spawn(Stdio::null())?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(ask), Some(answers)) => Ok(Self { child, ask, answers: std::io::BufReader::new(answers) }),
            _ => Err(FilesError::CutShort),
        }
    }

    /// The bytes of one object; `None` if it is not there.
    pub(super) fn read(&mut self, id: &str) -> Result<Option<Vec<u8>>, FilesError> {
        let failed =
            |source: std::io::Error| FilesError::Git { command: "cat-file".into(), message: source.to_string() };
        let broken = || FilesError::Answer { command: "cat-file" };
        writeln!(self.ask, "{id}").and_then(|()| self.ask.flush()).map_err(failed)?;
        let mut head = String::new();
        std::io::BufRead::read_line(&mut self.answers, &mut head).map_err(failed)?;
        if head.trim_end().ends_with(" missing") {
            return Ok(None);
        }
        let length: u64 = head.split_whitespace().nth(2).and_then(|text| text.parse().ok()).ok_or_else(broken)?;
        let mut bytes = Vec::new();
        let read = (&mut self.answers).take(length).read_to_end(&mut bytes).map_err(failed)?;
        let mut end = [0];
        self.answers.read_exact(&mut end).map_err(failed)?;
        if read as u64 == length && end == *b"\n" { Ok(Some(bytes)) } else { Err(broken()) }
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        // It holds nothing but pipes; killing it is how it ends.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
