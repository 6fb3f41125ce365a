use super::*;
use std::os::unix::fs::PermissionsExt;

type Tested = Result<(), Box<dyn std::error::Error>>;

#[test]
fn a_new_key_is_its_owners_alone_and_replaces_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    let public = create(&path, "example.com/k", NoteKeyKind::Note)?;
    assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    let key = SigningKey::load(&path, &mut |_| Ok(None))?;
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
    assert!(matches!(SigningKey::load(&path, &mut |_| Ok(None)), Err(SigningKeyError::OfAWitness { .. })));
    std::fs::write(&path, "hello")?;
    assert!(matches!(SigningKey::load(&path, &mut |_| Ok(None)), Err(SigningKeyError::NotAKey { .. })));
    assert!(matches!(note_key(&path), Err(SigningKeyError::NotAKey { .. })));
    Ok(())
}
