use super::{ImportSecret, SessionKey, StoredKey, TextKey};
use crate::Digest;
use crate::seq::Seq;
use alloc::format;
use alloc::string::ToString;

#[test]
fn debug_output_names_a_key_and_does_not_contain_it() {
    let bytes = [0x5a; 32];
    let shown = [
        format!("{:?}", SessionKey(bytes)),
        format!("{:?}", TextKey(bytes)),
        format!("{:?}", ImportSecret(bytes)),
        format!("{:?}", StoredKey::from(SessionKey(bytes))),
    ];
    for (shown, name) in shown.iter().zip(["SessionKey(hash ", "TextKey(..)", "ImportSecret(..)", "StoredKey {"]) {
        assert!(shown.starts_with(name), "{shown}");
        assert!(!shown.contains("5a5a") && !shown.contains("90, 90"), "{shown}");
    }
}

#[test]
fn a_text_key_is_of_the_seq_and_the_place_however_long_the_place_is() {
    let key = SessionKey([3; 32]);
    // 8 bytes of seq and 120 of the place fill the buffer that spares an incremental hash.
    for length in [0, 1, 119, 120, 121, 5_000] {
        let place = "/".repeat(length);
        let input = [&7_u64.to_be_bytes()[..], place.as_bytes()].concat();
        assert_eq!(key.text_key(Seq(7), &place).0, *blake3::keyed_hash(&key.0, &input).as_bytes(), "{length}");
    }
}

#[test]
fn an_import_secret_reads_back_and_gives_each_session_its_key() {
    let secret = ImportSecret(core::array::from_fn(|at| at as u8));
    let hex = secret.hex();
    assert_eq!(hex, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    assert!(hex.parse() == Ok(secret));
    assert!("000102".parse::<ImportSecret>().is_err());
    let key = secret.session_key("ses_1", b"{}");
    assert_eq!(key.0, *blake3::keyed_hash(&secret.0, b"ses_1\0{}").as_bytes());
    // The zero byte separates the two: no other division of the bytes has this key.
    assert_ne!(key, secret.session_key("ses_1{", b"}"));
}

#[test]
fn keys_are_read_from_the_digits_that_are_written() {
    let digits = "ab".repeat(32);
    assert_eq!(digits.parse(), Ok(SessionKey([0xab; 32])));
    assert_eq!(digits.parse(), Ok(TextKey([0xab; 32])));
    assert_eq!(serde_json::to_value(SessionKey([0xab; 32])).ok(), Some(digits.clone().into()));
    assert_eq!(serde_json::to_value(TextKey([0xab; 32])).ok(), Some(digits.clone().into()));
    assert_eq!(serde_json::from_value(digits.into()).ok(), Some(SessionKey([0xab; 32])));
}

#[test]
fn a_stored_key_is_known_by_its_hash_and_json_does_not_contain_it() {
    let (known, other) = (StoredKey::from(SessionKey([1; 32])), StoredKey::from(SessionKey([2; 32])));
    let hash_only = StoredKey { hash: known.hash, key: None };
    assert_eq!(known, hash_only);
    assert_ne!(known, other);
    assert_eq!(known.hash, Digest::of(&[1; 32]));
    let json = serde_json::to_value(known).ok();
    assert_eq!(json, Some(known.hash.to_string().into()));
    let read: Option<StoredKey> = json.and_then(|json| serde_json::from_value(json).ok());
    assert_eq!(read.map(|read| (read.hash, read.key.is_none())), Some((known.hash, true)));
}
