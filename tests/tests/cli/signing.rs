//! Signing a store, verifying what was signed, proofs and witnesses.

use super::command::{Annals, fixture, text};
use super::validate::wrong;
use annals_tests::deadline::WithDeadline;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

type Tested = Result<(), Box<dyn std::error::Error>>;

/// The public part of the SSH key with which these tests sign.
const SIGNER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpH1bwb2y+ylX06VNaVBeBrGuwoINQlYjIjxtcybQcy";

/// The sources that are imported.
const FIRST: &str = "opencode/v2/first.events.jsonl";
const TOOLS: &str = "opencode/v2/tools.events.jsonl";

/// A store with two sessions, a home with an SSH key, and a file of allowed signers.
struct Signed {
    annals: Annals,
    trusted: String,
}

/// Fails when a value breaks its schema.
fn valid(schema: &serde_json::Value, value: &serde_json::Value) {
    assert_eq!(wrong(schema, value), None, "{value:#}");
}

impl Signed {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let annals = Annals::new();
        assert_eq!(annals.run(&["import", &fixture(FIRST), &fixture(TOOLS)]).status, 0);
        let keys = annals.file("home").join(".ssh");
        fs::create_dir_all(&keys)?;
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/signing/ssh/vectors");
        fs::copy(vectors.join("plain"), keys.join("id_ed25519"))?;
        fs::copy(vectors.join("rsa"), keys.join("id_rsa"))?;
        for key in ["id_ed25519", "id_rsa"] {
            fs::set_permissions(keys.join(key), fs::Permissions::from_mode(0o600))?;
        }
        let trusted = annals.file("trusted");
        fs::write(&trusted, format!("auditor@example.com {SIGNER}\n"))?;
        Ok(Self { trusted: text(&trusted), annals })
    }

    fn path(&self, name: &str) -> String {
        text(&self.annals.file(name))
    }

    /// Runs a command that must succeed.
    fn fine(&self, args: &[&str]) -> String {
        let answer = self.annals.run(args);
        assert_eq!(answer.status, 0, "{args:?}: {}{}", answer.out, answer.remarks);
        answer.out
    }

    /// Runs a command that must fail with this status; gives all that it says.
    fn fails(&self, status: u8, args: &[&str]) -> String {
        let answer = self.annals.run(args);
        assert_eq!(answer.status, status, "{args:?}: {}{}", answer.out, answer.remarks);
        answer.out + &answer.remarks
    }

    /// The folders of the trees.
    fn trees(&self) -> Result<Vec<PathBuf>, std::io::Error> {
        fs::read_dir(self.annals.store().join("checkpoints"))?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn tree(&self) -> Result<PathBuf, Box<dyn std::error::Error>> {
        Ok(self.trees()?.pop().ok_or("nothing was signed")?)
    }

    fn verify(&self) -> [&str; 4] {
        ["verify", "--signed", "--allowed-signers", &self.trusted]
    }

    /// Replaces the log, but not what was signed of it.
    fn replace_log(&self, source: &str) -> Tested {
        let (store, kept) = (self.annals.store(), self.annals.file("kept"));
        fs::rename(store.join("checkpoints"), &kept)?;
        fs::remove_dir_all(&store)?;
        self.fine(&["import", source]);
        fs::rename(&kept, store.join("checkpoints"))?;
        Ok(())
    }
}

#[test]
fn a_signed_store_is_verified_and_signing_appends_nothing() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    assert!(signed.fails(2, &["verify", "--signed"]).contains("nothing was signed in this store; run `annals sign`"));
    let before = signed.fine(&["verify", "--json"]);
    let out = signed.fine(&["sign"]);
    assert!(out.starts_with("✓ 2 new heads signed: checkpoint 2 of annals/store/"), "{out}");
    assert!(out.contains("auditor@example.com SHA256:rOWa39RbbR+MN3IUTxMook7e0uxATEEGAD70TYB2UsE"), "{out}");
    assert_eq!(signed.fine(&["verify", "--json"]), before, "no event was appended");
    assert_eq!(signed.fine(&["sign"]), "nothing new since checkpoint 2, which this key has signed\n");
    let out = signed.fine(&signed.verify());
    assert!(out.contains("✓ 2 sessions continue what was signed\n"), "{out}");
    assert!(out.contains("signed by auditor@example.com (SHA256:"), "{out}");
    let other = signed.path("other");
    let public = signed.fine(&["sign", "--new-key", &other, "--name", "example.com/k"]);
    fs::write(&signed.trusted, public)?;
    assert!(signed.fails(1, &signed.verify()).contains("is not signed by a key of the allowed signers"));
    signed.fine(&["sign", "--key", &other]);
    signed.fine(&signed.verify());
    signed.fine(&["doctor"]);
    Ok(())
}

/// A source with the first half of a session.
fn half_of_tools(signed: &Signed) -> Result<String, std::io::Error> {
    let whole = fs::read_to_string(fixture(TOOLS))?;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let half = signed.path("half.events.jsonl");
    fs::write(&half, lines[..lines.len() / 2].concat())?;
    Ok(half)
}

#[test]
fn a_session_that_was_shortened_or_removed_is_found() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    signed.fine(&["sign"]);
    signed.replace_log(&half_of_tools(&signed)?)?;
    let said = signed.fails(1, &signed.verify());
    let problems: Vec<&str> = said.lines().filter(|line| line.starts_with("✗ session ")).collect();
    assert_eq!(problems.len(), 2, "{said}");
    assert!(
        problems.iter().any(|line| line.contains("it was signed up to event 105, and ends before event ")),
        "{said}"
    );
    assert!(
        problems.iter().any(|line| line.ends_with("it was signed up to event 16, and is not in the store")),
        "{said}"
    );
    // The other store has a tree of its own; what was signed before still does not hold.
    signed.fine(&["sign"]);
    assert_eq!(signed.trees()?.len(), 2);
    signed.fails(1, &signed.verify());
    Ok(())
}

#[test]
fn a_session_that_has_grown_is_signed_again() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    fs::remove_dir_all(signed.annals.store())?;
    signed.fine(&["import", &half_of_tools(&signed)?]);
    signed.fine(&["sign"]);
    let kept = signed.path("kept-checkpoint");
    fs::copy(signed.tree()?.join("1.checkpoint"), &kept)?;
    let whole = signed.path("half.events.jsonl");
    fs::copy(fixture(TOOLS), &whole)?;
    signed.fine(&["import", &whole, &fixture(FIRST)]);
    let out = signed.fine(&signed.verify());
    assert!(out.contains("(1 session grown, 1 never signed)"), "{out}");
    signed.fine(&["sign"]);
    let out = signed.fine(&[&signed.verify()[..], &["--checkpoint", &kept]].concat());
    assert!(out.contains("✓ 2 sessions continue what was signed") && !out.contains("not signed yet"), "{out}");
    assert!(out.contains(": 2 checkpoints over 3 heads"), "{out}");
    Ok(())
}

#[test]
fn a_checkpoint_that_was_kept_finds_a_tree_that_was_made_again() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    signed.fine(&["sign"]);
    let kept = signed.path("kept-checkpoint");
    fs::copy(signed.tree()?.join("2.checkpoint"), &kept)?;
    fs::remove_dir_all(signed.annals.store().join("checkpoints"))?;
    signed.fine(&["sign"]);
    signed.fine(&signed.verify());
    let said = signed.fails(1, &["verify", "--signed", "--checkpoint", &kept]);
    assert!(said.contains("that you kept has another root than the store: what was signed was rewritten"), "{said}");
    Ok(())
}

#[test]
fn one_altered_byte_of_what_is_kept_fails() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    signed.fine(&["sign"]);
    for name in ["2.checkpoint", "2.text", "2.text.sig", "heads"] {
        let path = signed.tree()?.join(name);
        let whole = fs::read(&path)?;
        for at in (0..whole.len()).step_by(13) {
            let mut altered = whole.clone();
            altered[at] ^= 4;
            fs::write(&path, altered)?;
            signed.fails(1, &signed.verify());
        }
        fs::write(&path, whole)?;
    }
    signed.fine(&signed.verify());
    Ok(())
}

#[test]
fn a_proof_is_verified_without_the_store_and_against_an_export() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    assert!(signed.fails(2, &["prove"]).contains("nothing was signed"));
    signed.fine(&["sign"]);
    let (proof, export) = (signed.path("p.tlog-proof"), signed.path("export.jsonl"));
    let out = signed.fine(&["prove", "@last", "--seq", "5", "-o", &proof]);
    assert!(out.contains(", event 5: covered by checkpoint 2 of annals/store/"), "{out}");
    assert_eq!(signed.fine(&["prove", "@last", "--seq", "5"]), fs::read_to_string(&proof)?);
    signed.fine(&["export", "@last", &export]);
    fs::remove_dir_all(signed.annals.store())?;
    let unverified = signed.annals.run(&["verify", "--proof", &proof]);
    assert_eq!(unverified.status, 1, "without a key that counts nothing is proved");
    let out = unverified.out;
    assert!(!out.contains('✓') && out.contains("not proved: signatures not verified: SSH key SHA256:"), "{out}");
    let checked = ["verify", "--proof", &proof, "--allowed-signers", &signed.trusted, &export];
    let out = signed.fine(&checked);
    assert!(out.contains("signed by auditor@example.com") && out.contains("contains these events"), "{out}");
    let said = signed.fails(1, &[&checked[..5], &[fixture(FIRST).as_str()]].concat());
    assert!(said.contains("the proof is about session "), "{said}");
    let whole = fs::read_to_string(&proof)?;
    for at in (0..whole.len()).step_by(31) {
        let mut altered = whole.clone().into_bytes();
        altered[at] ^= 1;
        fs::write(&proof, altered)?;
        let status = signed.annals.run(&checked[..5]).status;
        assert_ne!(status, 0, "byte {at}");
    }
    Ok(())
}

#[test]
fn the_python_program_checks_every_proof_and_finds_every_altered_byte() -> Tested {
    annals_tests::needs!("python3", "ssh-keygen");
    /// Prints the number of alterations that were not found, and who signed the whole proof.
    const DRIVER: &str = "import sys; sys.path.insert(0, sys.argv[1]); import verify_proof as v
proof, signers = open(sys.argv[2], 'rb').read(), open(sys.argv[3]).read()
print(v.verify(proof, signers)['signers'])
def holds(at, bit):
    altered = bytearray(proof); altered[at] ^= 1 << bit
    try: v.verify(bytes(altered), signers); return 1
    except v.Wrong: return 0
print(sum(holds(at, at % 8) for at in range(0, len(proof), int(sys.argv[4]))))";
    let signed = Signed::new()?;
    let (key, proof) = (signed.path("key"), signed.path("p.tlog-proof"));
    let public = signed.fine(&["sign", "--new-key", &key, "--name", "example.com/k"]);
    let note_signers = signed.path("note-signers");
    fs::write(&note_signers, public)?;
    let (rsa, rsa_signers) = (signed.path("home/.ssh/id_rsa"), signed.path("rsa-signers"));
    fs::write(
        &rsa_signers,
        format!("bob@example.com {}", include_str!("../../../store/src/signing/ssh/vectors/rsa.pub")),
    )?;
    // It runs ssh-keygen for each altered signature by RSA.
    for (key, signers, who, step) in [
        (None, &signed.trusted, "[('auditor@example.com', None)]\n0\n", "1"),
        (Some(&key), &note_signers, "[('example.com/k', None)]\n0\n", "1"),
        (Some(&rsa), &rsa_signers, "[('bob@example.com', None)]\n0\n", "41"),
    ] {
        if signed.annals.store().join("checkpoints").exists() {
            fs::remove_dir_all(signed.annals.store().join("checkpoints"))?;
        }
        signed.fine(&key.map_or(vec!["sign"], |key| vec!["sign", "--key", key]));
        signed.fine(&["prove", "@last", "--seq", "7", "-o", &proof]);
        let driven = Command::new("python3")
            .args(["-B", "-c", DRIVER, env!("CARGO_MANIFEST_DIR"), &proof, signers, step])
            .output_watched()?;
        assert_eq!(String::from_utf8_lossy(&driven.stdout), who, "{}", String::from_utf8_lossy(&driven.stderr));
    }
    Ok(())
}

#[test]
fn a_witness_follows_a_store_and_its_signature_is_added() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    signed.fine(&["sign"]);
    let [key, records, cosigned, growth] = ["w.key", "records", "cosigned", "growth"].map(|name| signed.path(name));
    let public = signed.fine(&["witness", "--new-key", &key, "--name", "witness.example.com/w1"]);
    let witness = |file: &str| {
        let named = ["--key", &key, "--allowed-signers", &signed.trusted, "--records", &records, "-o", &cosigned];
        signed.annals.run(&[&["witness", file][..], &named].concat())
    };
    let first = text(&signed.tree()?.join("2.checkpoint"));
    assert!(witness(&first).out.contains("counter-signed (the first one seen)"));
    assert!(witness(&first).out.contains("counter-signed (seen before)"));
    signed.fine(&["sign", "--add", &cosigned]);
    fs::write(&signed.trusted, format!("auditor@example.com {SIGNER}\n{public}"))?;
    let out = signed.fine(&signed.verify());
    assert!(out.contains("witnessed by witness.example.com/w1 at "), "{out}");
    signed.fine(&["import", &fixture("opencode/v2/compaction.events.jsonl")]);
    signed.fine(&["sign"]);
    let refused = witness(&text(&signed.tree()?.join("3.checkpoint")));
    assert_eq!(refused.status, 1);
    assert!(refused.remarks.contains("ask for `annals prove --since 2`"), "{}", refused.remarks);
    signed.fine(&["prove", "--since", "2", "-o", &growth]);
    assert!(witness(&growth).out.contains("counter-signed (extends checkpoint 2)"));
    assert!(signed.fails(2, &["prove", "--since", "9"]).contains("fewer than 9"));
    // The store is signed again from the start: another history under the same name.
    fs::remove_dir_all(signed.annals.store().join("checkpoints"))?;
    signed.fine(&["sign"]);
    let refused = witness(&text(&signed.tree()?.join("3.checkpoint")));
    assert!(refused.remarks.contains("what was signed was rewritten"), "{}", refused.remarks);
    Ok(())
}

#[test]
fn the_answers_have_the_schemas_that_are_printed() -> Tested {
    annals_tests::needs!("ssh-keygen");
    let signed = Signed::new()?;
    let answer = |args: &[&str]| -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(&signed.fine(&[args, &["--json"]].concat()))
    };
    let schema = |name: &str| -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(&signed.fine(&["schema", name]))
    };
    let proof = signed.path("p.tlog-proof");
    valid(&schema("signed-checkpoint")?, &answer(&["sign"])?);
    valid(&schema("signed-store")?, &answer(&signed.verify())?["signed"]);
    let verified = schema("verify")?;
    // An imported session does not hold the requests of its agent: what is asked for can be bad news.
    for asked in [
        &["verify"][..],
        &["verify", "@last", "--requests"],
        &["verify", "@last", "--requests", "--wire"],
        &signed.verify(),
    ] {
        let outcome = signed.annals.run(&[asked, &["--json"]].concat());
        let answer = serde_json::from_str(&outcome.out).map_err(|e| format!("{asked:?}: {e}: {}", outcome.remarks))?;
        valid(&verified, &answer);
    }
    valid(&schema("proved-batch")?, &answer(&["prove", "@last", "-o", &proof])?);
    valid(
        &schema("proved-batch")?,
        &answer(&["verify", "--proof", &proof, "--allowed-signers", &signed.trusted])?["proved"],
    );
    let (key, cosigned) = (signed.path("w.key"), signed.path("cosigned"));
    signed.fine(&["witness", "--new-key", &key]);
    let checkpoint = text(&signed.tree()?.join("2.checkpoint"));
    let (records, trusted) = (signed.path("records"), &signed.trusted);
    let named = ["--key", &key, "--allowed-signers", trusted, "--records", &records, "-o", &cosigned];
    valid(&schema("witnessed-checkpoint")?, &answer(&[&["witness", &checkpoint][..], &named].concat())?);
    Ok(())
}
