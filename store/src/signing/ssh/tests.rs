//! What ssh-keygen of OpenSSH 9.2 wrote for keys that were made for these tests: `ssh-keygen -Y sign -n annals-checkpoint`.

use super::*;

type Tested = Result<(), SshKeyError>;

const PLAIN: &str = include_str!("vectors/plain");
const PUBLIC: &str = include_str!("vectors/plain.pub");
const LOCKED: &str = include_str!("vectors/locked");
const TEXT: &str = include_str!("vectors/text");
const SIGNATURE: &str = include_str!("vectors/text.sig");
const NAME: &str = "annals/store/00112233445566778899aabbccddeeff";

#[test]
fn a_signature_is_what_ssh_keygen_writes_byte_for_byte() -> Tested {
    let signed = SshKey::read(PLAIN, None)?.sign(NAME, TEXT)?;
    assert_eq!(signature_file(&signed).as_deref(), Some(SIGNATURE));
    let key = SshPublicKey::read(PUBLIC)?;
    assert_eq!(key.signature_from_file(NAME, TEXT, SIGNATURE)?, signed);
    assert!(key.verify(TEXT, &signed));
    assert_eq!(key.fingerprint(), "SHA256:rOWa39RbbR+MN3IUTxMook7e0uxATEEGAD70TYB2UsE");
    assert_eq!(format!("{} {}\n", key.to_text(), key.comment()), PUBLIC);
    assert!(ssh_key_of(&signed).is_some_and(|found| found.is_same(&key)));
    Ok(())
}

#[test]
fn every_altered_bit_of_a_signature_is_found() -> Tested {
    let key = SshPublicKey::read(PUBLIC)?;
    let signed = key.signature_from_file(NAME, TEXT, SIGNATURE)?;
    for at in 0..signed.signature.len() {
        for bit in 0..8 {
            let mut altered = signed.clone();
            altered.signature[at] ^= 1 << bit;
            assert!(!key.verify(TEXT, &altered), "byte {at}, bit {bit}");
        }
    }
    assert!(!key.verify(&TEXT.replace('3', "4"), &signed));
    assert!(!key.verify(TEXT, &NoteSignature { name: "other".to_owned(), ..signed.clone() }));
    assert!(!key.verify(TEXT, &NoteSignature { key_id: [0; 4], ..signed.clone() }));
    let longer = NoteSignature { signature: [&signed.signature[..], &[0]].concat(), ..signed };
    assert!(!key.verify(TEXT, &longer));
    Ok(())
}

#[test]
fn a_protected_key_needs_its_passphrase() -> Tested {
    assert_eq!(SshKey::read(LOCKED, None).err(), Some(SshKeyError::Encrypted));
    assert_eq!(SshKey::read(LOCKED, Some("wrong")).err(), Some(SshKeyError::WrongPassphrase));
    let key = SshKey::read(LOCKED, Some("correct horse"))?;
    let signed = key.sign(NAME, TEXT)?;
    assert!(key.public()?.verify(TEXT, &signed));
    assert!(!SshPublicKey::read(PUBLIC)?.verify(TEXT, &signed), "another key");
    Ok(())
}

#[test]
fn keys_of_other_types_are_refused_by_name() {
    for text in [include_str!("vectors/rsa"), include_str!("vectors/rsa.pub")] {
        let refused = if SshKey::is_in(text) { SshKey::read(text, None).err() } else { SshPublicKey::read(text).err() };
        assert_eq!(refused, Some(SshKeyError::Unsupported("ssh-rsa".to_owned())));
    }
    assert!(matches!(SshKey::read("", None), Err(SshKeyError::Malformed(_))));
    assert!(matches!(SshPublicKey::read("ssh-ed25519 AAAA"), Err(SshKeyError::Malformed(_))));
}

#[test]
fn a_signature_for_another_purpose_is_refused() -> Tested {
    let key = SshKey::read(PLAIN, None)?;
    let other = key.secret.sign("git", HashAlg::Sha512, TEXT.as_bytes()).map_err(|_| SshKeyError::NotASignature)?;
    let file = other.to_pem(LineEnding::LF).map_err(|_| SshKeyError::NotASignature)?;
    assert_eq!(key.public()?.signature_from_file(NAME, TEXT, &file), Err(SshKeyError::NotASignature));
    Ok(())
}
