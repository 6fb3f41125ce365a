use super::super::note::NoteSignature;
use super::super::signers::AllowedSigners;
use super::super::ssh::tests::{PUBLIC, SIGNATURE, TEXT};
use super::super::ssh::{SshPublicKey, signature_file};
use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

type Tested = Result<(), Box<dyn std::error::Error>>;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/signing/ssh/vectors");
const NAME: &str = "annals/store/00112233445566778899aabbccddeeff";

/// A copy of a key that only its owner can read.
fn copy(vector: &str, folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(vector);
    fs::copy(Path::new(VECTORS).join(vector), &path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok(path)
}

/// Signs with a key, and verifies the signature by the line of allowed signers that belongs to it.
fn sign(path: &Path) -> Result<NoteSignature, Box<dyn std::error::Error>> {
    let key = SigningKey::load(path)?;
    let signature = key.sign_unattended(NAME, TEXT)?;
    let signers = AllowedSigners::parse(&key.allowed_signer());
    let checkpoint = |signature: &NoteSignature| format!("{TEXT}\n{signature}\n").parse();
    signers.verify(&checkpoint(&signature)?)?;
    let altered = NoteSignature { signature: signature.signature.iter().rev().copied().collect(), ..signature.clone() };
    assert!(signers.verify(&checkpoint(&altered)?).is_err());
    Ok(signature)
}

#[test]
fn a_new_key_is_its_owners_alone_and_replaces_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    let public = create(&path, "example.com/k", NoteKeyKind::Note)?;
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    let key = SigningKey::load(&path)?;
    assert_eq!((key.allowed_signer(), key.shown()), (public.clone(), public.clone()));
    assert!(matches!(create(&path, "other", NoteKeyKind::Note), Err(SigningKeyError::File { .. })));
    assert_eq!(note_key(&path)?.public().to_string(), public);
    assert!(matches!(create(&folder.path().join("b"), "a b", NoteKeyKind::Note), Err(SigningKeyError::BadName { .. })));
    assert!(!folder.path().join("b").exists());
    Ok(())
}

#[test]
fn a_key_of_a_witness_and_what_is_no_key_sign_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    create(&path, "w", NoteKeyKind::Cosignature)?;
    assert!(matches!(SigningKey::load(&path), Err(SigningKeyError::OfAWitness { .. })));
    fs::write(&path, "hello")?;
    assert!(matches!(SigningKey::load(&path), Err(SigningKeyError::NotAKey { .. })));
    assert!(matches!(note_key(&path), Err(SigningKeyError::NotAKey { .. })));
    fs::write(&path, "-----BEGIN RSA PRIVATE KEY-----\n")?;
    assert!(matches!(SigningKey::load(&path), Err(SigningKeyError::NoPublicKey { .. })));
    Ok(())
}

#[test]
fn ssh_keygen_signs_with_a_file_and_its_public_part_names_the_signer() -> Tested {
    crate::needs!("ssh-keygen");
    let folder = tempfile::tempdir()?;
    let plain = copy("plain", folder.path())?;
    assert_eq!(signature_file(&sign(&plain)?).as_deref(), Some(SIGNATURE));
    let signer = |path: &Path| SigningKey::load(path).map(|key| key.allowed_signer());
    let public = SshPublicKey::read(PUBLIC)?.to_text();
    assert_eq!(signer(&plain)?, format!("auditor@example.com {public}"));
    for (comment, principal) in [("Ada L. <a@b>", "Ada_L._<a@b>"), ("", "signer"), ("##", "signer"), ("#\"a,b", "_a_b")]
    {
        fs::write(folder.path().join("plain.pub"), format!("{public} {comment}\n"))?;
        assert_eq!(signer(&plain)?, format!("{principal} {public}"));
        sign(&plain)?;
    }
    Ok(())
}

#[test]
fn keys_of_other_types_sign_and_verify() -> Tested {
    crate::needs!("ssh-keygen");
    let folder = tempfile::tempdir()?;
    sign(&copy("rsa", folder.path())?)?;
    for (kind, bits) in [("ecdsa", "256"), ("ecdsa", "521")] {
        let path = folder.path().join(bits);
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", kind, "-b", bits, "-N", "", "-f"]).arg(&path).status()?;
        assert!(made.success());
        sign(&path)?;
    }
    Ok(())
}

#[test]
fn a_key_that_cannot_sign_says_why() -> Tested {
    crate::needs!("ssh-keygen");
    let folder = tempfile::tempdir()?;
    let refused = |path: &Path| match SigningKey::load(path).and_then(|key| key.sign_unattended(NAME, TEXT)) {
        Ok(_) => "signed".to_owned(),
        Err(error) => error.to_string(),
    };
    let locked = copy("locked", folder.path())?;
    let said = refused(&locked);
    assert!(
        said.contains("protected by a passphrase") && said.contains(&format!("`ssh-add {}`", locked.display())),
        "{said}"
    );
    let plain = copy("plain", folder.path())?;
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644))?;
    let said = refused(&plain);
    assert!(said.contains("ssh-keygen: WARNING: UNPROTECTED PRIVATE KEY FILE!; Permissions 0644"), "{said}");
    // The secret part is neither beside it nor in an agent.
    let public = folder.path().join("alone.pub");
    fs::write(&public, include_str!("../ssh/vectors/rsa.pub"))?;
    assert!(refused(&public).contains("ssh-keygen: No private key found for"), "{}", refused(&public));
    Ok(())
}
