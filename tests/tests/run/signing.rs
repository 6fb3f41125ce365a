//! With `sign.automatically` a session is signed when it is idle, and a key that cannot sign stops nothing.

use crate::run::person::Person;
use annals_tests::model::{Model, Says};
use std::fs;
use std::path::{Path, PathBuf};

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
    fs::copy(Path::new(VECTORS).join(vector), person.home().join(name)).expect("a key");
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
    let verified = person.annals(&["verify", "--signed", "--allowed-signers", "../home/trusted"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    verified.out
}

#[test]
fn a_session_is_signed_after_each_run_and_no_other_one() {
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
    for (key_file, vector, told) in [
        ("../../.ssh/none", None, "/.ssh/none: No such file or directory"),
        ("~/.ssh/locked", Some("locked"), "/.ssh/locked is protected by a passphrase; add it to your ssh-agent"),
        ("~/.ssh/rsa", Some("rsa"), "/.ssh/rsa: "),
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
            warned[0].contains("the session is stored, but not signed: ") && warned[0].contains(told),
            "{warned:?}"
        );
        let chat = person.annals_reading(&["chat", "-c"], "second\nthird\n");
        assert_eq!((chat.status, warnings(&chat.remarks).len()), (Some(0), 1), "{key_file}: {}", chat.remarks);
        assert_eq!(checkpoints(&person), [0; 0]);
    }
}

#[test]
fn nothing_is_signed_without_the_setting_and_the_key_of_the_configuration_signs_by_hand() {
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
