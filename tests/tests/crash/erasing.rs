//! Erasures that are killed, among commands that look: afterwards an erased text is in no file of the home folder and the temporary
//! folder. 12 rounds; `ANNALS_KILL_ROUNDS=200 cargo test -p annals-tests --test across crash::erasing::` does more.

use annals_tests::crash::{Dice, copy_folder, rounds};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is erased. It is escaped in the input of a call, and quoted in the diagnostics.
const NAME: &str = "Ottilie Brandm\u{fc}ller";
/// A part of it that is in every form of it.
const PART: &str = "Ottilie Brandm";
/// How long a command may take.
const DEADLINE: Duration = Duration::from_secs(120);

/// A home folder with the store, and the folder for temporary files.
struct Home(PathBuf);

impl Home {
    fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    fn start(&self, args: &[&str]) -> Child {
        let temporary = self.0.join("tmp");
        Command::new(env!("CARGO_BIN_EXE_annals-test"))
            .args(args)
            .env_clear()
            .env("HOME", &self.0)
            .env("TMPDIR", temporary)
            .env("ANNALS_STORE", self.store())
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn run(&self, args: &[&str]) -> ExitStatus {
        let (mut child, began) = (self.start(args), Instant::now());
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < DEADLINE, "{args:?} takes more than {DEADLINE:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn kill(&self, args: &[&str], after: Duration) {
        let mut child = self.start(args);
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The files below a folder that contain a text. A link of a killed process leads to files of this one.
fn containing(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        match std::fs::read(&path) {
            _ if kind.is_symlink() => {}
            _ if kind.is_dir() => found.extend(containing(&path, text)),
            Ok(content) if content.windows(text.len()).any(|window| window == text.as_bytes()) => found.push(path),
            _ => {}
        }
    }
    found
}

/// A home folder in which the text is wherever it can be.
fn planted(folder: &Path) -> Home {
    let home = Home(folder.to_owned());
    for below in ["tmp", "store"] {
        std::fs::create_dir_all(folder.join(below)).unwrap();
    }
    let scenario = serde_json::json!({
        "scenario": 1, "name": "personal data",
        "script": [
            {"tool": {"name": "read", "output": NAME.repeat(1_000), "required": ["path"]}},
            {"provider": [{"text": "I will look.",
                "calls": [{"id": "c1", "tool": "read", "input": {"path": format!("/project/{NAME}.txt")}}]}]},
            {"provider": [{"text": format!("It is {NAME}.")}]}, {"prompt": format!("My name is {NAME}")},
        ],
    });
    let file = folder.join("personal.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    let store = home.store().to_string_lossy().into_owned();
    std::fs::remove_dir(home.store()).unwrap();
    assert!(home.run(&["scenario", "run", &file.to_string_lossy(), "--keep", "--store", &store]).success());
    std::fs::remove_file(file).unwrap();
    assert!(home.run(&["index"]).success());
    std::fs::write(home.store().join("chat-history"), format!("#V2\nMy name is {NAME}\n")).unwrap();
    std::fs::write(home.store().join("annals.log"), format!("error: bad request: {NAME}\n")).unwrap();
    // What an older version left when it was killed.
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let copy = folder.join("tmp").join(format!("annals-sled-{}-0", gone.id()));
    std::fs::create_dir(&copy).unwrap();
    std::fs::write(copy.join("db"), NAME).unwrap();
    home
}

#[test]
fn an_erased_text_is_in_no_file_after_commands_were_killed_at_any_time() {
    let template = tempfile::tempdir().unwrap();
    planted(template.path());
    let mut dice = Dice::new(u64::from(std::process::id()));
    let erase = ["erase", "@last", "--matching", NAME, "--reason", "a test", "--yes"];
    for round in 0..rounds("ANNALS_KILL_ROUNDS", 12) {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(template.path(), folder.path()).unwrap();
        let home = Home(folder.path().to_owned());
        assert!(containing(&home.0, PART).len() > 4, "it is in several files");
        for command in [&["verify"][..], &["doctor"], &erase] {
            home.kill(command, Duration::from_millis(dice.below(150)));
        }
        let left = containing(&home.0.join("tmp"), PART);
        assert!(left.len() <= 1, "round {round}: only what the older version left: {left:?}");
        // Erased now, or by the one that was killed and finished by this opening.
        let status = home.run(&erase).code();
        assert!(matches!(status, Some(0 | 2)), "round {round}: {status:?}");
        assert_eq!(containing(&home.0, PART), Vec::<PathBuf>::new(), "round {round}");
        assert!(home.run(&["verify"]).success(), "round {round}");
    }
}
