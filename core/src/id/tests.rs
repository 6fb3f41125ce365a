use super::{NotAnId, RequestId, SessionId};
use alloc::string::ToString;

#[test]
fn an_id_is_26_characters_in_json_and_16_bytes_in_the_codec() {
    let id = SessionId::from_parts(1_780_488_000_000, 7);
    let text = id.to_string();
    assert_eq!(text, "01KT6NNMG00000000000000007");
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(id.millis(), 1_780_488_000_000);
    assert_eq!(serde_json::to_value(id).unwrap(), text);
    assert_eq!(bincode::serialize(&id).unwrap(), id.0);
    assert_eq!(wincode::serialize(&id).unwrap(), id.0);
}

#[test]
fn no_two_texts_in_upper_case_name_one_id() {
    assert_eq!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse(), Ok(RequestId([0xff; 16])));
    for text in ["80000000000000000000000000", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "", "0", "0000000000000000000000000U"] {
        assert_eq!(text.parse::<RequestId>(), Err(NotAnId), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn every_id_reads_back_from_its_text(bytes: [u8; 16]) {
        let id = SessionId(bytes);
        proptest::prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn any_text_is_an_id_or_an_error(text in ".{0,30}") {
        if let Ok(id) = text.parse::<SessionId>() {
            proptest::prop_assert!(id.to_string().eq_ignore_ascii_case(&text));
        }
    }
}
