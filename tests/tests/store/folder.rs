//! Processes whose store is moved, removed or replaced while they have it open, and stores that are copied or damaged, as
//! somebody meets them at the command line.

use annals_core::Seq;
use annals_store::OpenMode;
use annals_store::conformance::material;
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_tests::crash;
use annals_tests::deadline::{Watched, WithDeadline};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Output, Stdio};
use std::sync::Arc;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A folder with a store, and the command on it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command on the store of a name.
    fn command(&self, store: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals-test"));
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("ANNALS_STORE", self.path(store))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, store: &str, args: &[&str]) -> Output {
        self.command(store).args(args).output_watched().unwrap()
    }

    /// Runs the command, which must succeed.
    fn succeeds(&self, store: &str, args: &[&str]) -> String {
        let output = self.run(store, args);
        assert!(output.status.success(), "{args:?}: {}", words(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn import(&self, store: &str, name: &str) {
        self.succeeds(store, &["import", &fixture(name).to_string_lossy()]);
    }
}

fn words(output: &Output) -> String {
    let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{} {} {}", output.status, part(&output.stdout), part(&output.stderr))
}

/// Every file of a store but its socket and its saved views, and its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() && !path.ends_with("cache") {
            found.extend(files(&path));
        } else if facts.is_file() {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn interrupt(child: &Watched) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A process that appends to many sessions without end, in small segments, which it packs.
struct Busy {
    child: Watched,
    lines: BufReader<ChildStdout>,
    acknowledged: BTreeMap<u64, Seq>,
}

impl Busy {
    fn start(store: &Path) -> Self {
        let mut writer = Command::new(env!("CARGO_BIN_EXE_annals-test"));
        let mut child = writer
            .arg("crash-writer")
            .arg(store)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_watched()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines, acknowledged: BTreeMap::new() }
    }

    /// Reads so many acknowledgements, or all to the end of the process.
    fn read(&mut self, count: usize) {
        let mut line = String::new();
        for _ in 0..count {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return;
            }
            let Some((number, next)) = line.strip_suffix('\n').and_then(|line| line.split_once(' ')) else { return };
            let place: &mut Seq = self.acknowledged.entry(number.parse().unwrap()).or_default();
            *place = (*place).max(Seq(next.parse().unwrap()));
        }
    }
}

async fn everything_is_there(store: &Path, acknowledged: &BTreeMap<u64, Seq>) {
    let (log, report) = DiskLog::open_with(store, OpenMode::Existing, crash::small(), Arc::new(RealDisk)).unwrap();
    assert!(!report.lost_something() && report.copied_from.is_none(), "{report:?}");
    for (number, next) in acknowledged {
        crash::whole(&log, material::session(*number), *next).await.unwrap_or_else(|violation| panic!("{violation}"));
    }
    assert_eq!(log.remarks(), vec![]);
    log.close().await.unwrap();
}

#[test]
fn who_starts_afresh_while_a_follower_runs_loses_nothing_on_either_side() {
    let place = Place::new();
    let original = fixture("claude-code/tools-and-compaction.jsonl");
    let mut follower =
        place.command("store").args(["import", "--follow", &original.to_string_lossy()]).spawn_watched().unwrap();
    let mut imported = String::new();
    BufReader::new(follower.stdout.take().unwrap()).read_line(&mut imported).unwrap();
    std::fs::rename(place.path("store"), place.path("store.bak")).unwrap();
    place.import("store", "claude-code/one-turn.jsonl");
    let sessions = place.succeeds("store", &["sessions", "--json"]);
    let before = files(&place.path("store"));
    interrupt(&follower);
    let ended = follower.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(message.contains("moved from") && message.contains("store.bak"), "{message}");
    assert!(files(&place.path("store")) == before, "the follower wrote to the store that took the place of its own");
    assert_eq!(place.succeeds("store", &["sessions", "--json"]), sessions);
    for store in ["store", "store.bak"] {
        place.succeeds(store, &["verify"]);
        place.succeeds(store, &["doctor"]);
    }
    assert_eq!(place.succeeds("store.bak", &["sessions", "--json"]).lines().count(), sessions.lines().count());
}

#[tokio::test]
async fn a_busy_owner_goes_on_in_its_folder_when_that_is_moved() {
    let place = Place::new();
    let (store, moved) = (place.path("store"), place.path("moved"));
    let mut busy = Busy::start(&store);
    busy.read(1_000);
    std::fs::rename(&store, &moved).unwrap();
    place.import("store", "codex/one-turn.rollout.jsonl");
    let before = files(&store);
    // Segments are rotated, packed and listed, sled is filled meanwhile.
    busy.read(6_000);
    busy.child.kill().unwrap();
    busy.child.wait().unwrap();
    busy.read(usize::MAX);
    assert!(files(&store) == before);
    place.succeeds("store", &["verify"]);
    everything_is_there(&moved, &busy.acknowledged).await;
    assert!(std::fs::read_dir(moved.join("journal")).unwrap().count() > 10, "too little was written to be sure");
}

#[test]
fn a_busy_owner_ends_when_its_store_is_removed_and_leaves_the_next_one_alone() {
    let place = Place::new();
    let store = place.path("store");
    let mut busy = Busy::start(&store);
    busy.read(1_000);
    // It makes files meanwhile.
    let removed = (0..1_000).any(|_| std::fs::remove_dir_all(&store).is_ok());
    assert!(removed);
    place.import("store", "codex/one-turn.rollout.jsonl");
    let before = files(&store);
    busy.read(usize::MAX);
    let mut message = String::new();
    busy.child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(!busy.child.wait().unwrap().success());
    // The segment goes first.
    assert!(message.contains("was removed"), "{message}");
    assert!(files(&store) == before);
    place.succeeds("store", &["verify"]);
}

#[test]
fn a_follower_whose_store_is_removed_says_so_and_fails() {
    let place = Place::new();
    let original = fixture("claude-code/one-turn.jsonl");
    let mut follower =
        place.command("store").args(["import", "--follow", &original.to_string_lossy()]).spawn_watched().unwrap();
    BufReader::new(follower.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let removed = (0..1_000).any(|_| std::fs::remove_dir_all(place.path("store")).is_ok());
    assert!(removed);
    place.import("store", "codex/one-turn.rollout.jsonl");
    let before = files(&place.path("store"));
    interrupt(&follower);
    let ended = follower.wait_with_output().unwrap();
    let message = words(&ended);
    assert_eq!(ended.status.code(), Some(1), "{message}");
    assert!(message.contains("was removed") && !message.contains("nothing is lost"), "{message}");
    assert!(files(&place.path("store")) == before);
}

#[test]
fn a_copied_store_is_another_one_as_soon_as_somebody_writes_to_it() {
    let place = Place::new();
    place.import("store", "claude-code/one-turn.jsonl");
    let copied = Command::new("cp").args(["-r"]).args([place.path("store"), place.path("copy")]).status().unwrap();
    assert!(copied.success());
    let format = |store: &str| std::fs::read_to_string(place.path(store).join("FORMAT")).unwrap();
    let id = |store: &str| format(store).lines().find_map(|line| line.strip_prefix("id ").map(str::to_owned)).unwrap();
    assert_eq!(id("copy"), id("store"));
    place.import("copy", "codex/one-turn.rollout.jsonl");
    assert_ne!(id("copy"), id("store"));
    assert!(format("copy").contains(&format!("copied-from {}", id("store"))));
    for store in ["store", "copy"] {
        place.succeeds(store, &["verify"]);
    }
}

#[test]
fn a_damaged_or_lost_format_file_is_named_with_the_command_that_restores_it() {
    let place = Place::new();
    place.import("store", "claude-code/one-turn.jsonl");
    let sessions = place.succeeds("store", &["sessions", "--json"]);
    let path = place.path("store").join("FORMAT");
    let format = std::fs::read(&path).unwrap();
    let mut damaged = format.clone();
    damaged[13] ^= 1;
    for (content, state) in [(Some(&damaged), "damaged"), (None, "missing")] {
        match content {
            Some(content) => std::fs::write(&path, content).unwrap(),
            None => {
                std::fs::remove_file(&path).unwrap();
                for small in ["heads", "checkpoint"] {
                    std::fs::remove_file(place.path("store").join(small)).unwrap();
                }
            }
        }
        let original = fixture("codex/one-turn.rollout.jsonl");
        for args in [&["sessions"][..], &["verify"], &["doctor"], &["import", &original.to_string_lossy()]] {
            let output = place.run("store", args);
            let message = words(&output);
            assert_eq!(output.status.code(), Some(1), "{args:?}: {message}");
            assert!(message.contains(&format!("is {state}")), "{args:?}: {message}");
            assert!(message.contains("annals doctor --repair --yes"), "{args:?}: {message}");
        }
        let planned = place.run("store", &["doctor", "--repair"]);
        assert_eq!(planned.status.code(), Some(1), "{}", words(&planned));
        assert!(words(&planned).contains("--yes"), "{}", words(&planned));
        assert_eq!(std::fs::read(&path).ok().as_ref(), content, "nothing was written");
        place.succeeds("store", &["doctor", "--repair", "--yes"]);
        assert_eq!(std::fs::read(&path).unwrap(), format);
        assert_eq!(place.succeeds("store", &["sessions", "--json"]), sessions);
        place.succeeds("store", &["doctor"]);
    }
}

#[test]
fn stores_and_exports_are_for_the_user_alone_whatever_the_umask() {
    let place = Place::new();
    let open_to_all = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", r#"umask 000 && exec "$0" "$@""#, env!("CARGO_BIN_EXE_annals-test")]).args(args);
        command.current_dir(place.path("")).env("ANNALS_STORE", place.path("store")).env("HOME", place.path("home"));
        let output = command.output_watched().unwrap();
        assert!(output.status.success(), "{args:?}: {}", words(&output));
    };
    open_to_all(&["import", &fixture("claude-code/one-turn.jsonl").to_string_lossy()]);
    let sessions: serde_json::Value = serde_json::from_str(&place.succeeds("store", &["sessions", "--json"])).unwrap();
    open_to_all(&["export", sessions[0]["id"].as_str().unwrap(), "session.annals"]);
    let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.path("session.annals")), 0o600);
    let mut folders = vec![place.path("store")];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.symlink_metadata().unwrap().is_dir() {
                true => folders.push(path),
                // sled makes its files itself; its folder keeps others out.
                false if folder.ends_with("sled") => {}
                false => assert_eq!(mode(&path), 0o600, "{}", path.display()),
            }
        }
    }
}

#[test]
fn links_in_a_store_from_somebody_else_are_not_followed() {
    let place = Place::new();
    place.import("store", "claude-code/one-turn.jsonl");
    let mine = place.path("authorized_keys");
    std::fs::write(&mine, "mine").unwrap();
    for name in ["heads.tmp", "checkpoint.tmp", "FORMAT.tmp", "journal/reserved.new", "socket", "heads"] {
        let link = place.path("store").join(name);
        drop(std::fs::remove_file(&link));
        symlink(&mine, &link).unwrap();
    }
    place.import("store", "codex/one-turn.rollout.jsonl");
    place.succeeds("store", &["verify"]);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    assert!(!place.path("store").join("heads").is_symlink());
}

#[test]
fn a_store_behind_a_dangling_link_is_named() {
    let place = Place::new();
    symlink(place.path("nowhere"), place.path("store")).unwrap();
    for args in [&["sessions"][..], &["import", &fixture("claude-code/one-turn.jsonl").to_string_lossy()]] {
        let message = words(&place.run("store", args));
        assert!(message.contains("is a symbolic link to") && message.contains("which does not exist"), "{message}");
    }
}
