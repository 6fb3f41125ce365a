//! What ssh-keygen of OpenSSH 9.2 wrote for keys that were made for these tests: `ssh-keygen -Y sign -n annals-checkpoint`.

use super::*;
use ed25519_dalek::{Signer, SigningKey};

type Tested = Result<(), SshKeyError>;

const PLAIN: &str = include_str!("vectors/plain");
pub(in crate::signing) const PUBLIC: &str = include_str!("vectors/plain.pub");
const LOCKED: &str = include_str!("vectors/locked");
const RSA: &str = include_str!("vectors/rsa");
const RSA_PUBLIC: &str = include_str!("vectors/rsa.pub");
pub(in crate::signing) const TEXT: &str = include_str!("vectors/text");
pub(in crate::signing) const SIGNATURE: &str = include_str!("vectors/text.sig");
const NAME: &str = "annals/store/00112233445566778899aabbccddeeff";

/// The secret part of `plain`.
const SECRET: [u8; 32] = [
    0xc0, 0x02, 0xff, 0x30, 0xa1, 0x75, 0xe9, 0x99, 0x93, 0xc7, 0x00, 0xeb, 0x1d, 0xe1, 0x0a, 0xb2, 0xd3, 0xcb, 0x28,
    0x17, 0xf6, 0xb7, 0x9c, 0x8a, 0xe5, 0xbe, 0x33, 0x20, 0xfa, 0x86, 0xf8, 0x70,
];

/// The `.sig` file that ssh-keygen writes for a text and the key `plain`.
pub(in crate::signing) fn signature_over(namespace: &str, text: &str) -> Result<String, SshKeyError> {
    let public = SshPublicKey::read(PUBLIC)?;
    let [namespace, reserved, hash] = [namespace, "", "sha512"].map(|part| string(part.as_bytes()));
    let signed = [MAGIC, &namespace, &reserved, &hash, &string(&Sha512::digest(text))].concat();
    let signature = SigningKey::from_bytes(&SECRET).sign(&signed).to_bytes();
    let signature = [string(b"ssh-ed25519"), string(&signature)].concat();
    let version = 1_u32.to_be_bytes();
    let parts = [MAGIC, &version, &string(public.blob()), &namespace, &reserved, &hash, &string(&signature)];
    Ok(file_of(&parts.concat()))
}

#[test]
fn a_signature_of_ssh_keygen_is_taken_over_and_given_back_byte_for_byte() -> Tested {
    let key = SshPublicKey::read(PUBLIC)?;
    let signed = key.signature_from_file(NAME, TEXT, SIGNATURE)?;
    assert_eq!(signature_file(&signed).as_deref(), Some(SIGNATURE));
    assert_eq!(signature_over(NAMESPACE, TEXT)?, SIGNATURE);
    assert!(key.verify(TEXT, &signed)?);
    assert_eq!(key.fingerprint(), "SHA256:rOWa39RbbR+MN3IUTxMook7e0uxATEEGAD70TYB2UsE");
    assert_eq!(format!("{} {}\n", key.to_text(), key.comment()), PUBLIC);
    assert_eq!(ssh_key_of(&signed).map(|found| found.to_text()), Some(key.to_text()));
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
            assert!(!key.verify(TEXT, &altered)?, "byte {at}, bit {bit}");
        }
        let shorter = NoteSignature { signature: signed.signature[..at].to_vec(), ..signed.clone() };
        assert!(!key.verify(TEXT, &shorter)?, "{at} bytes");
    }
    assert!(!key.verify(&TEXT.replace('3', "4"), &signed)?);
    assert!(!key.verify(TEXT, &NoteSignature { name: "other".to_owned(), ..signed.clone() })?);
    assert!(!key.verify(TEXT, &NoteSignature { key_id: [0; 4], ..signed.clone() })?);
    let longer = NoteSignature { signature: [&signed.signature[..], &[0]].concat(), ..signed };
    assert!(!key.verify(TEXT, &longer)?);
    Ok(())
}

#[test]
fn the_public_part_of_a_secret_key_needs_no_passphrase() -> Tested {
    let public = SshPublicKey::read(PUBLIC)?;
    assert_eq!(SshPublicKey::of_secret_key(PLAIN)?, Some(public.clone()));
    let rsa = SshPublicKey::of_secret_key(RSA)?;
    assert_eq!(rsa, Some(SshPublicKey::read(RSA_PUBLIC)?));
    let locked = SshPublicKey::of_secret_key(LOCKED)?.ok_or(SshKeyError::NotASignature)?;
    assert!(locked.to_text().starts_with("ssh-ed25519 ") && locked.to_text() != public.to_text());
    assert_eq!(locked.comment(), "");
    assert_eq!(SshPublicKey::of_secret_key("-----BEGIN RSA PRIVATE KEY-----\n")?, None);
    for at in (0..PLAIN.len() - 40).step_by(7) {
        // Damage is an error, or in a part that is not read; no damage is a panic.
        drop(SshPublicKey::of_secret_key(&PLAIN[..at]));
        drop(SshPublicKey::of_secret_key(&[&PLAIN[..at], "A", &PLAIN[at + 1..]].concat()));
    }
    Ok(())
}

#[test]
fn keys_that_do_not_sign_are_refused_by_name() {
    let line =
        |kind: &str| format!("{kind} {} comment", STANDARD.encode([string(kind.as_bytes()), vec![0; 9]].concat()));
    for kind in ["ssh-dss", "ssh-ed25519-cert-v01@openssh.com", "ssh-unheard-of"] {
        let refused = SshPublicKey::read(&line(kind)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.starts_with(&format!("an SSH key of type {kind} does not sign")), "{refused}");
    }
    for kind in ["ssh-rsa", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com"] {
        assert!(SshPublicKey::read(&line(kind)).is_ok_and(|key| key.to_text() == line(kind).replace(" comment", "")));
    }
    let other = RSA_PUBLIC.replacen("ssh-rsa", "ssh-ed25519", 1);
    for text in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 ?", &line("ssh-ed25519"), &other] {
        assert!(matches!(SshPublicKey::read(text), Err(SshKeyError::Malformed(_))), "{text}");
    }
}

#[test]
fn a_signature_for_another_purpose_is_refused() -> Tested {
    let key = SshPublicKey::read(PUBLIC)?;
    for file in [&signature_over("git", TEXT)?, "", SIGNATURE_BEGIN, &SIGNATURE.replace('A', "?")] {
        assert!(matches!(key.signature_from_file(NAME, TEXT, file), Err(SshKeyError::NotASignature)), "{file}");
    }
    Ok(())
}
