//! A person with a project, a home folder and a store of their own, who runs the real command.

use annals_tests::deadline::{Watched, WithDeadline};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What stands for a key in the environment; nobody may find it anywhere afterwards.
pub const KEY: &str = "sk-test-0123456789abcdefghijklmnopqrstuvwxyzABCDEF";

/// A person.
pub struct Person {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a command gave.
#[derive(Debug)]
pub struct Answer {
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
    /// stdout.
    pub out: String,
    /// stderr.
    pub remarks: String,
}

impl Person {
    /// With an empty project and no configuration.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["home", "project"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder, variables: Vec::new() }
    }

    /// Who configured a model `mock/one` at `base_url`, spoken to in `protocol`.
    pub fn with_model(base_url: &str, protocol: &str) -> Self {
        let mut person = Self::new();
        person.configure(&format!(
            "model = \"mock/one\"\ntitles = false\n\n[providers.mock]\nprotocol = {protocol:?}\nbase_url = \
             {base_url:?}\nkey_env = \"MOCK_KEY\"\n"
        ));
        person.set("MOCK_KEY", KEY);
        person
    }

    /// Writes the configuration of the user.
    pub fn configure(&self, toml: &str) {
        let file = self.home().join(".config/annals/config.toml");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, toml).expect("a file");
    }

    /// Sets a variable for every command.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where work is done.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.home().join(".local/share/annals")
    }

    /// Everything that a person has.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.project().join(name), text).expect("a file");
    }

    /// The command, not yet run. Nothing of this process's environment reaches it but the way to programs.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals-test"));
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TZ", "UTC")
            .env("COLUMNS", "80")
            .env("USER", "ada")
            .env("ANNALS_HOST", "machine")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the command.
    pub fn annals(&self, args: &[&str]) -> Answer {
        self.answer(self.command(args).output_watched().expect("it runs"))
    }

    /// Runs the command with something to read.
    pub fn annals_reading(&self, args: &[&str], stdin: &str) -> Answer {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn_watched().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(stdin.as_bytes()).expect("it reads");
        self.ended(child)
    }

    /// Waits for the end of a command.
    pub fn ended(&self, child: Watched) -> Answer {
        self.answer(child.wait_with_output().expect("it ends"))
    }

    /// The same as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let answer = self.annals(args);
        serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {answer:?}"))
    }

    fn answer(&self, output: Output) -> Answer {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*self.folder.path().to_string_lossy(), "TMP");
        Answer { status: output.status.code(), out: text(&output.stdout), remarks: text(&output.stderr) }
    }
}

impl Answer {
    /// As one text to look at, without what differs from run to run.
    pub fn shown(&self) -> String {
        let Self { status, out, remarks } = self;
        let status = status.map_or("a signal".to_owned(), |status| status.to_string());
        let message = format!("{out}[stderr]\n{remarks}[exit status {status}]\n");
        let mut lines: Vec<String> = message.lines().map(stable).collect();
        // Calls that run at once end in any order.
        lines.chunk_by_mut(|a, b| is_call(a) && is_call(b)).for_each(<[String]>::sort);
        lines.join("\n")
    }
}

fn is_call(line: &str) -> bool {
    line.starts_with(['✓', '✗'])
}

/// Ids and ports replaced by names.
fn stable(line: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let id = bare.len() >= 10
            && bare.starts_with("01")
            && bare.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        match (id, word.find("127.0.0.1:")) {
            (true, _) => word.replace(bare, "SESSION"),
            (_, Some(at)) => {
                let rest = word.get(at + 10..).unwrap_or_default();
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                word.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT")
            }
            _ => word.to_owned(),
        }
    };
    let mut lines: Vec<String> = Vec::new();
    for part in line.split(' ').map(word) {
        // How long a call took is nobody's promise.
        match (part.as_str(), lines.last()) {
            ("s", Some(number)) if number.parse::<f64>().is_ok() => drop(lines.pop()),
            ("·", Some(before)) if before.is_empty() => {}
            _ => lines.push(part),
        }
    }
    lines.join(" ")
}
