//! With `sign.automatically` a session is signed when it is idle, and a key that cannot sign stops nothing.

use crate::run::person::Person;
use annals_tests::model::{Model, Says};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/src/signing/ssh/vectors");

/// Who signs automatically, with an SSH key in the usual place, and a model that says so many words.
fn signing(answers: usize, more: &str) -> (Model, Person) {
    let model = Model::start((0..answers).map(|_| Says::Text("Yes."))).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    let file = person.home().join(".config/annals/config.toml");
    let config = fs::read_to_string(&file).expect("a file");
    person.configure(&format!("{config}\n[sign]\nautomatically = true\n{more}"));
    fs::create_dir(person.home().join(".ssh")).expect("a folder");
    key(&person, "plain", ".ssh/id_ed25519");
    (model, person)
}

fn key(person: &Person, vector: &str, name: &str) {
    let key = person.home().join(name);
    fs::copy(Path::new(VECTORS).join(vector), &key).expect("a key");
    // ssh-keygen ignores a secret key that others can read.
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).expect("a key");
}

/// A program of the user.
fn script(path: &Path, text: &str) -> String {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file");
    path.to_string_lossy().into_owned()
}

/// Writes the `.pub` file of the key `locked`, and trusts it.
fn publish_locked(person: &Person) {
    let arguments = ["-y", "-P", PASSPHRASE, "-f"];
    let public = Command::new("ssh-keygen").args(arguments).arg(person.home().join(".ssh/locked")).output();
    let public = String::from_utf8(public.expect("ssh-keygen").stdout).expect("a key");
    fs::write(person.home().join(".ssh/locked.pub"), &public).expect("a file");
    fs::write(person.home().join("trusted"), format!("ada@example.org {public}")).expect("a file");
}

const PASSPHRASE: &str = "correct horse";
const VERIFY: [&str; 4] = ["verify", "--signed", "--allowed-signers", "../home/trusted"];

/// An ssh-agent of its own, which ends with the test.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("agent");
        let mut command = Command::new("ssh-agent");
        command.arg("-D").arg("-a").arg(&socket).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let agent = Self { child: command.spawn().expect("ssh-agent"), socket };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !agent.socket.exists() {
            assert!(Instant::now() < deadline, "ssh-agent made no socket");
            sleep(Duration::from_millis(10));
        }
        agent
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The checkpoints of the store by the number of their heads.
fn checkpoints(person: &Person) -> Vec<u64> {
    let trees = fs::read_dir(person.store().join("checkpoints"));
    let trees: Vec<PathBuf> = trees.into_iter().flatten().map(|tree| tree.expect("a folder").path()).collect();
    let names = trees.iter().flat_map(|tree| fs::read_dir(tree).expect("a folder")).map(|file| {
        let name = file.expect("a file").file_name().to_string_lossy().into_owned();
        name.strip_suffix(".checkpoint").and_then(|size| size.parse().ok())
    });
    let mut sizes: Vec<u64> = names.flatten().collect();
    sizes.sort_unstable();
    sizes
}

/// What `verify --signed` says of the store, which must be sound.
fn verified(person: &Person) -> String {
    let public = fs::read_to_string(Path::new(VECTORS).join("plain.pub")).expect("a key");
    fs::write(person.home().join("trusted"), format!("ada@example.org {public}")).expect("a file");
    let verified = person.annals(&VERIFY);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    verified.out
}

#[test]
fn a_session_is_signed_after_each_run_and_no_other_one() {
    annals_tests::needs!("ssh-keygen");
    let (_model, person) = signing(4, "");
    let imported = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/one-turn.rollout.jsonl");
    assert_eq!(person.annals(&["import", imported]).status, Some(0));
    assert_eq!(checkpoints(&person), [0; 0], "an import is not signed");
    let first = person.annals(&["run", "first"]);
    assert_eq!((first.status, checkpoints(&person)), (Some(0), vec![1]), "{}", first.remarks);
    assert!(!first.remarks.contains("sign"), "{}", first.remarks);
    let report = verified(&person);
    assert!(report.contains("✓ 1 session continues what was signed"), "{report}");
    person.annals(&["run", "-c", "second"]);
    assert_eq!(checkpoints(&person), [1, 2]);
    // Each turn of a chat is signed when it is over.
    let chat = person.annals_reading(&["chat", "-c"], "third\nfourth\n");
    assert_eq!((chat.status, checkpoints(&person)), (Some(0), vec![1, 2, 3, 4]), "{}", chat.remarks);
    verified(&person);
    let session = person.json(&["sessions", "--json"])[0]["id"].as_str().expect("an id").to_owned();
    let log = person.json(&["log", &session, "--json"]);
    let last = log.as_array().and_then(|log| log.last()).expect("events")["seq"].to_string();
    let proved = person.annals(&["prove", &session, "--seq", &last, "-o", "proof"]);
    assert_eq!(proved.status, Some(0), "the last event is signed: {proved:?}");
}

#[test]
fn a_key_that_cannot_sign_is_one_warning_and_the_answer_counts() {
    annals_tests::needs!("ssh-keygen");
    for (key_file, vector, message) in [
        ("../../.ssh/none", None, "/.ssh/none: No such file or directory"),
        ("~/.ssh/locked", Some("locked"), "/.ssh/locked: the key is protected by a passphrase"),
        ("~/.ssh/text", Some("text"), "/.ssh/text: not a key"),
    ] {
        let (_model, person) = signing(3, &format!("key = {key_file:?}\n"));
        if let Some(vector) = vector {
            key(&person, vector, key_file.trim_start_matches("~/"));
        }
        let run = person.annals(&["run", "first"]);
        assert_eq!((run.status, run.out.as_str()), (Some(0), "Yes.\n"), "{key_file}: {}", run.remarks);
        let warnings = |remarks: &str| -> Vec<String> {
            let lines = remarks.lines().filter(|line| line.contains("not signed"));
            lines.map(str::to_owned).collect()
        };
        let warned = warnings(&run.remarks);
        assert_eq!(warned.len(), 1, "{key_file}: {}", run.remarks);
        assert!(
            warned[0].contains("the session is stored, but not signed: ") && warned[0].contains(message),
            "{warned:?}"
        );
        let chat = person.annals_reading(&["chat", "-c"], "second\nthird\n");
        assert_eq!((chat.status, warnings(&chat.remarks).len()), (Some(0), 1), "{key_file}: {}", chat.remarks);
        assert_eq!(checkpoints(&person), [0; 0]);
    }
}

#[test]
fn nothing_is_signed_without_the_setting_and_the_key_of_the_configuration_signs_by_hand() {
    annals_tests::needs!("ssh-keygen");
    let (_model, person) = signing(1, "key = \"own\"\n");
    let file = person.home().join(".config/annals/config.toml");
    let config = fs::read_to_string(&file).expect("a file").replace("automatically = true\n", "");
    person.configure(&config);
    assert_eq!(person.annals(&["run", "first"]).status, Some(0));
    assert_eq!(checkpoints(&person), [0; 0]);
    // Relative to the folder of the configuration.
    key(&person, "plain", ".config/annals/own");
    fs::remove_file(person.home().join(".ssh/id_ed25519")).expect("a file");
    let signed = person.annals(&["sign"]);
    assert_eq!((signed.status, checkpoints(&person)), (Some(0), vec![1]), "{signed:?}");
    verified(&person);
}

#[test]
fn a_key_in_an_agent_signs_by_its_file_or_by_its_public_part_alone() {
    annals_tests::needs!("ssh-keygen");
    for key_file in ["~/.ssh/locked", "~/.ssh/locked.pub"] {
        let (_model, mut person) = signing(2, &format!("key = {key_file:?}\n"));
        key(&person, "locked", ".ssh/locked");
        publish_locked(&person);
        let agent = Agent::start(person.folder());
        let socket = agent.socket.to_string_lossy().into_owned();
        let asked = script(&person.folder().join("askpass"), &format!("echo {PASSPHRASE:?}"));
        let mut add = Command::new("ssh-add");
        add.arg(person.home().join(".ssh/locked")).env("SSH_AUTH_SOCK", &socket);
        add.env("SSH_ASKPASS", asked).env("SSH_ASKPASS_REQUIRE", "force").env("DISPLAY", "none").stdin(Stdio::null());
        assert!(add.output().expect("ssh-add").status.success());
        if key_file.ends_with(".pub") {
            fs::remove_file(person.home().join(".ssh/locked")).expect("a file");
        }
        person.set("SSH_AUTH_SOCK", &socket);
        let run = person.annals(&["run", "first"]);
        assert_eq!((run.status, checkpoints(&person)), (Some(0), vec![1]), "{key_file}: {}", run.remarks);
        assert_eq!(person.annals(&VERIFY).status, Some(0), "{key_file}");
        // Without the agent, which ends here, the next turn is not signed.
        drop(agent);
        let run = person.annals(&["run", "-c", "second"]);
        assert_eq!((run.status, checkpoints(&person)), (Some(0), vec![1]), "{key_file}: {}", run.remarks);
        assert!(run.remarks.contains("not signed"), "{key_file}: {}", run.remarks);
    }
}

#[test]
fn ssh_keygen_asks_for_the_passphrase_and_only_when_a_person_signs() {
    annals_tests::needs!("ssh-keygen");
    let (_model, mut person) = signing(1, "key = \"~/.ssh/locked\"\n");
    key(&person, "locked", ".ssh/locked");
    publish_locked(&person);
    let asked = script(&person.folder().join("askpass"), &format!("echo asked >> ../asked; echo {PASSPHRASE:?}"));
    person.set("SSH_ASKPASS", &asked);
    person.set("SSH_ASKPASS_REQUIRE", "force");
    let run = person.annals(&["run", "first"]);
    assert!(run.remarks.contains("not signed") && checkpoints(&person).is_empty(), "{}", run.remarks);
    let count = || fs::read_to_string(person.folder().join("asked")).unwrap_or_default().lines().count();
    assert_eq!(count(), 0);
    let signed = person.annals(&["sign"]);
    assert_eq!((signed.status, checkpoints(&person), count()), (Some(0), vec![1], 1), "{signed:?}");
    assert_eq!(person.annals(&VERIFY).status, Some(0));
    let again = person.annals(&["sign"]);
    assert!(again.out.contains("nothing new"), "{again:?}");
    assert_eq!(count(), 1, "nothing is asked when there is nothing to sign");
}

#[test]
fn without_ssh_keygen_ed25519_is_verified_and_everything_else_says_what_is_needed() {
    annals_tests::needs!("ssh-keygen");
    let (_model, mut person) = signing(1, "");
    person.annals(&["run", "first"]);
    assert_eq!(checkpoints(&person), [1]);
    key(&person, "rsa", ".ssh/rsa");
    let empty = person.folder().join("programs");
    fs::create_dir(&empty).expect("a folder");
    let path = std::env::var("PATH").expect("programs");
    let without = empty.to_string_lossy().into_owned();
    let rsa = ["sign", "--key", "../home/.ssh/rsa"];
    for (program, expected) in [
        (None, "`ssh-keygen` is not installed: install OpenSSH 8.2 or newer"),
        (Some("echo 'ssh-keygen: unknown option -- Y' >&2; exit 1"), "`ssh-keygen` is too old"),
        (Some("echo 'the agent is busy' >&2; exit 255"), "ssh-keygen: the agent is busy"),
        (Some("echo signed"), "not an SSH signature of this text by this key"),
        (Some("exit 3"), "ssh-keygen: it ended with exit status: 3"),
    ] {
        if let Some(program) = program {
            script(&empty.join("ssh-keygen"), program);
        }
        person.set("PATH", &without);
        verified(&person);
        let refused = person.annals(&rsa);
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.remarks.contains(expected), "{expected}: {refused:?}");
    }
    person.set("PATH", &path);
    assert_eq!(person.annals(&rsa).status, Some(0));
    let public = fs::read_to_string(Path::new(VECTORS).join("rsa.pub")).expect("a key");
    fs::write(person.home().join("trusted"), format!("ada@example.org {public}")).expect("a file");
    let verified = person.annals(&VERIFY);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    fs::remove_file(empty.join("ssh-keygen")).expect("a file");
    person.set("PATH", &without);
    let unverified = person.annals(&VERIFY);
    assert_eq!(unverified.status, Some(1), "{unverified:?}");
    assert!(unverified.out.contains("cannot be verified: `ssh-keygen` is not installed"), "{unverified:?}");
}
