use crate::context::{InvalidKey, Key};
use alloc::string::ToString;
use proptest::prelude::*;

#[test]
fn keys_follow_the_pattern_of_the_specification() {
    let legal = [
        "core/date",
        "core/a/b",
        "core/a/",
        "core/a//",
        "0/0",
        "a-b_c.d/e-f_g.h",
        "core/x.",
        "mcp-1/server/tool",
        "a/9_",
    ];
    for text in legal {
        assert_eq!(text.parse::<Key>().unwrap().as_str(), text);
    }
    let illegal = [
        "date",
        "core/",
        "/date",
        "Core/date",
        "core//x",
        "",
        "/",
        "core/Date",
        "core date/x",
        "core/da te",
        "-core/x",
        "core/-x",
        "core/.x",
        "_/x",
        "core/_x",
        "core\n/x",
        "core/x\n",
        "cöre/x",
        "core/é",
        "core\\date",
        "a:b/c",
    ];
    for text in illegal {
        let error = text.parse::<Key>().unwrap_err();
        assert_eq!(error, InvalidKey(text.into()));
        assert!(error.to_string().contains(&alloc::format!("{text:?}")), "{error}");
        assert!(serde_json::from_value::<Key>(text.into()).is_err());
    }
}

#[test]
fn keys_are_ordered_by_code_units() {
    let ordered =
        ["a-b/x", "a/b", "core/date", "core/date-x", "core/date.x", "core/date/x", "core/date0", "core/date_x"];
    let keys: alloc::vec::Vec<Key> = ordered.iter().map(|text| text.parse().unwrap()).collect();
    assert!(keys.is_sorted());
}

proptest! {
    #[test]
    fn every_text_of_the_pattern_is_a_key(text in "[a-z0-9][a-z0-9._-]{0,8}/[a-z0-9][a-z0-9._/-]{0,8}") {
        let key: Key = text.parse().unwrap();
        prop_assert_eq!(serde_json::from_value::<Key>(serde_json::to_value(&key).unwrap()).unwrap(), key);
    }

    #[test]
    fn a_key_with_one_other_character_is_none(
        text in "[a-z0-9][a-z0-9._-]{0,8}/[a-z0-9][a-z0-9._/-]{0,8}",
        at: prop::sample::Index,
        other in "[^a-z0-9._/-]",
    ) {
        let mut text = text;
        text.insert_str(at.index(text.len() + 1), &other);
        prop_assert!(text.parse::<Key>().is_err(), "{}", text);
    }
}
