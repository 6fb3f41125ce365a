use super::super::key::{NoteKey, NoteKeyKind};
use super::super::note::SignedNote;
use super::super::ssh::tests::{SIGNATURE, TEXT};
use super::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpH1bwb2y+ylX06VNaVBeBrGuwoINQlYjIjxtcybQcy";

fn note_key(kind: NoteKeyKind) -> NoteKey {
    NoteKey::new("example.com/k", kind, [7; 32]).expect("a name without spaces")
}

/// A checkpoint with the signatures of an SSH key, a key of notes and a witness.
fn checkpoint() -> Result<SignedCheckpoint, Box<dyn std::error::Error>> {
    let head: super::super::checkpoint::TreeHead = TEXT.parse()?;
    let ssh = SshPublicKey::read(KEY)?.signature_from_file(&head.origin, TEXT, SIGNATURE)?;
    let signatures =
        vec![ssh, note_key(NoteKeyKind::Note).sign(TEXT, 0), note_key(NoteKeyKind::Cosignature).sign(TEXT, 12)];
    Ok(SignedCheckpoint { head, note: SignedNote { text: TEXT.to_owned(), signatures } })
}

fn all() -> String {
    let [note, witness] = [NoteKeyKind::Note, NoteKeyKind::Cosignature].map(|kind| note_key(kind).public().to_string());
    format!("# the keys\n\nauditor@example.com {KEY} a comment\n{note}\n{witness}\n")
}

#[test]
fn each_signer_is_named_and_a_witness_has_its_time() -> Tested {
    let valid = AllowedSigners::parse(&all()).verify(&checkpoint()?)?;
    let signers: Vec<_> = valid.iter().map(|valid| (valid.signer.as_str(), valid.witnessed_at)).collect();
    assert_eq!(signers, [("auditor@example.com", None), ("example.com/k", None), ("example.com/k", Some(12))]);
    assert_eq!(valid[0].key, "SHA256:rOWa39RbbR+MN3IUTxMook7e0uxATEEGAD70TYB2UsE");
    Ok(())
}

#[test]
fn a_checkpoint_needs_a_signature_of_its_log() -> Tested {
    let witness = note_key(NoteKeyKind::Cosignature).public().to_string();
    for signers in ["", witness.as_str()] {
        let refused = AllowedSigners::parse(signers).verify(&checkpoint()?);
        let refused = refused.err().ok_or("verified without a signature of the log")?.to_string();
        assert!(
            refused.contains("SSH key SHA256:rOWa39RbbR+MN3IUTxMook7e0uxATEEGAD70TYB2UsE, key example.com/k"),
            "{refused}"
        );
    }
    Ok(())
}

#[test]
fn one_altered_byte_of_a_checkpoint_with_known_keys_is_found() -> Tested {
    let (signers, whole) = (AllowedSigners::parse(&all()), checkpoint()?.to_string());
    signers.verify(&whole.parse()?)?;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let verified =
                String::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).map(|it| signers.verify(&it));
            // An altered name or id makes a signature that of an unknown key, which does not count.
            let is_fewer = verified.is_some_and(|valid| valid.is_ok_and(|valid| valid.len() == 3));
            assert!(!is_fewer, "byte {at}, bit {bit}");
        }
    }
    Ok(())
}

#[test]
fn options_of_a_line_are_respected() {
    let counted = |line: &str| {
        let signers = AllowedSigners::parse(line);
        (signers.is_empty(), signers.ignored)
    };
    for allowed in [
        format!("a,b {KEY}"),
        format!("\"a b\" namespaces=\"git,annals-checkpoint\" {KEY} comment here"),
        format!("a namespaces=\"*\" {KEY}"),
        format!("  a   NAMESPACES=annals-checkpoint\t{KEY}"),
        format!("a {}", include_str!("../ssh/vectors/rsa.pub")),
    ] {
        assert_eq!(counted(&allowed), (false, Vec::new()), "{allowed}");
    }
    for (refused, why) in [
        (format!("a namespaces=\"git\" {KEY}"), "namespace"),
        (format!("a cert-authority {KEY}"), "cert-authority is not supported"),
        (format!("a valid-before=\"20200101\",namespaces=\"*\" {KEY}"), "valid-before is not supported"),
        (format!("a ssh-dss {}", "AAAAB3NzaC1kc3M="), "ssh-dss does not sign"),
        ("a b c".to_owned(), "not a line"),
        ("a+b+c".to_owned(), "not a key of a note"),
    ] {
        let (is_empty, ignored) = counted(&format!("\n{refused}"));
        assert!(
            is_empty && ignored.len() == 1 && ignored[0].0 == 2 && ignored[0].1.contains(why),
            "{refused}: {ignored:?}"
        );
    }
}
