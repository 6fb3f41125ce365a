//! Runs `annals` in this process, in fixed surroundings, and shows what came of it as one text.

use annals_cli::app::{Remarks, Style, Surroundings, run};
use annals_config::{Environment, Variables};
use annals_core::Time;
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// 2026-11-22 00:00:00 UTC, some hours after the fixtures were recorded.
const NOW: Time = Time(1_795_305_600_000);

/// A store of its own, and how commands are run on it.
pub struct Annals {
    folder: tempfile::TempDir,
    width: usize,
    /// What the commands take for the present.
    pub now: Time,
    /// Variables and the directory of the commands: a home in the folder, and nothing else.
    pub environment: Environment,
}

/// What a command gave.
pub struct Answer {
    /// Exit status.
    pub status: u8,
    /// What it answered.
    pub out: String,
    /// What it remarked.
    pub remarks: String,
}

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs a command that must end with this status; gives all that it says.
pub fn ends(annals: &Annals, status: u8, args: &[&str]) -> String {
    let Answer { status: found, out, remarks } = annals.run(args);
    assert_eq!(found, status, "{args:?}: {out}{remarks}");
    out + &remarks
}

impl Annals {
    /// No store yet, 80 columns.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home").to_string_lossy().into_owned();
        // Goldens show digests, which depend on it.
        let variables = Variables::fixed([
            ("HOME", home),
            ("ANNALS_IMPORT_SECRET", "00".repeat(32)),
            ("USER", "ada".to_owned()),
            ("ANNALS_HOST", "machine".to_owned()),
        ]);
        let environment = Environment { variables, directory: folder.path().join("work") };
        Self { folder, width: 80, now: NOW, environment }
    }

    /// A store with everything that the fixtures hold.
    pub fn with_fixtures() -> Self {
        let annals = Self::new();
        for source in ["opencode/opencode.db", "codex", "claude-code"] {
            let answer = annals.run(&["import", &fixture(source)]);
            assert_eq!(answer.status, 0, "{}", answer.remarks);
        }
        annals
    }

    /// The store's folder.
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// A path for a file that a command makes.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command.
    pub fn run(&self, args: &[&str]) -> Answer {
        let mut out = Vec::new();
        let (status, remarks) = self.run_to(args, &mut out);
        Answer { status, out: self.stable(&String::from_utf8_lossy(&out)), remarks }
    }

    /// Runs a command whose answer goes to `out`; gives its exit status and what it remarked.
    pub fn run_to(&self, args: &[&str], out: &mut (dyn Write + Send)) -> (u8, String) {
        let remarks = Collected::default();
        let style = Style {
            width: self.width,
            colour: false,
            json: false,
            markdown: false,
            zone: TimeZone::UTC,
            now: self.now,
        };
        let surroundings = Surroundings {
            store: Some(self.store().into_os_string()),
            style: style.clone(),
            remarks: Remarks::new(Box::new(remarks.clone()), style, false),
            paged: false,
            environment: self.environment.clone(),
            reports: false,
        };
        let args = std::iter::once("annals").chain(args.iter().copied()).map(OsString::from);
        let status = run(args, surroundings, Some(out));
        let remarks = remarks.0.lock().unwrap_or_else(PoisonError::into_inner);
        (status, self.stable(&String::from_utf8_lossy(&remarks)))
    }

    /// What a command gave, as one text to look at.
    pub fn show(&self, args: &[&str]) -> String {
        let Answer { status, out, remarks } = self.run(args);
        let mut shown = out;
        if !remarks.is_empty() {
            shown.push_str(&format!("[stderr]\n{remarks}"));
        }
        if status != 0 {
            shown.push_str(&format!("[exit status {status}]\n"));
        }
        shown
    }

    /// Paths of this machine, and the version and build of this program, replaced by names.
    fn stable(&self, text: &str) -> String {
        let folder = self.folder.path().to_string_lossy();
        let build = option_env!("ANNALS_BUILD").map(|build| format!(" (build {build})")).unwrap_or_default();
        let program = format!("annals {}{build}", env!("CARGO_PKG_VERSION"));
        text.replace(&*folder, "TMP").replace(&fixture(""), "fixtures/").replace(&program, "annals VERSION")
    }
}

/// The path of a fixture.
pub fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name).to_string_lossy().into_owned()
}
