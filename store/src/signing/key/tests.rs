//! The vectors of the specification and of Go's `sumdb/note`.

use super::super::note::SignedNote;
use super::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

const SECRET_KEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const PUBLIC_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const NOTE: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\
    — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

#[test]
fn the_note_of_the_go_implementation_is_signed_byte_for_byte() -> Tested {
    let key: NoteKey = SECRET_KEY.parse()?;
    assert_eq!(key.to_secret_text(), SECRET_KEY);
    assert_eq!(key.public().to_string(), PUBLIC_KEY);
    let note: SignedNote = NOTE.parse()?;
    let signature = key.sign(&note.text, 0);
    assert_eq!(SignedNote { text: note.text.clone(), signatures: vec![signature] }.to_string(), NOTE);
    assert_eq!(PUBLIC_KEY.parse::<VerifierKey>()?.verify(&note.text, &note.signatures[0]), Some(None));
    Ok(())
}

#[test]
fn the_note_of_the_specification_is_verified_by_its_key() -> Tested {
    let key: VerifierKey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k".parse()?;
    let note: SignedNote = "This is an example message.\n\n— example.com/foo \
        Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
        .parse()?;
    assert_eq!(key.verify(&note.text, &note.signatures[0]), Some(None));
    assert_eq!(key.verify("This is an example message!\n", &note.signatures[0]), None);
    Ok(())
}

#[test]
fn a_cosignature_covers_time_and_text_and_is_of_another_id() -> Tested {
    let log: NoteKey = SECRET_KEY.parse()?;
    let witness = NoteKey::new("PeterNeumann", NoteKeyKind::Cosignature, log.secret.to_bytes()).ok_or("a name")?;
    assert_ne!(witness.public().id(), log.public().id());
    let text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    let mut signature = witness.sign(text, 1_679_315_147);
    assert_eq!(witness.public().verify(text, &signature), Some(Some(1_679_315_147)));
    // The message of the specification, signed as a plain text.
    let message = format!("cosignature/v1\ntime 1679315147\n{text}");
    assert_eq!(signature.signature[8..], log.sign(&message, 0).signature);
    signature.signature[7] ^= 1;
    assert_eq!(witness.public().verify(text, &signature), None, "another time");
    let public = witness.public().to_string();
    assert_eq!(public.parse::<VerifierKey>()?, *witness.public());
    assert_eq!(witness.to_secret_text().parse::<NoteKey>()?.public(), witness.public());
    Ok(())
}

#[test]
fn every_altered_byte_of_a_key_is_refused() {
    for at in 0..PUBLIC_KEY.len() {
        for bit in 0..7 {
            let mut bytes = PUBLIC_KEY.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            assert!(text.parse::<VerifierKey>().is_err(), "{text}");
        }
    }
    for wrong in ["", "a", "a+b", "a+00000000+", "a b+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"] {
        assert!(wrong.parse::<VerifierKey>().is_err(), "{wrong}");
        assert!(format!("PRIVATE+KEY+{wrong}").parse::<NoteKey>().is_err(), "{wrong}");
    }
    assert_eq!(
        "a+c74f20a3+BhpcC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".parse::<VerifierKey>().err(),
        Some(NoteKeyError::Malformed)
    );
}

#[test]
fn a_secret_key_is_in_no_debug_output() -> Tested {
    let key: NoteKey = SECRET_KEY.parse()?;
    assert_eq!(format!("{key:?}"), "NoteKey(\"PeterNeumann\")");
    Ok(())
}
