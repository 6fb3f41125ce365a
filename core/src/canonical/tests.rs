use super::{CanonicalError, equal, own, value};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use serde_json::{Value, json};

#[test]
fn the_example_of_rfc_8785_section_3_2_2_comes_out_as_printed_there() {
    let input = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let parsed: Value = serde_json::from_str(input).unwrap();
    assert_eq!(
        value(&parsed),
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
}

#[test]
fn keys_are_sorted_by_utf_16_code_units_as_in_rfc_8785_section_3_2_3() {
    let input = "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\
        \"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}";
    let parsed: Value = serde_json::from_str(input).unwrap();
    let text = value(&parsed);
    let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"];
    let places: alloc::vec::Vec<_> = order.iter().map(|word| text.find(word).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn numbers_follow_the_samples_of_rfc_8785_appendix_b() {
    for (bits, text) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    ] {
        assert_eq!(own(&f64::from_bits(bits)).unwrap(), text);
    }
    assert!(matches!(own(&f64::NAN), Err(CanonicalError::NotANumber(_))));
    assert!(matches!(own(&f64::INFINITY), Err(CanonicalError::NotANumber(_))));
}

#[test]
fn a_number_of_ours_must_be_below_two_to_the_53() {
    assert_eq!(own(&((1_u64 << 53) - 1)).unwrap(), "9007199254740991");
    assert!(matches!(own(&(1_u64 << 53)), Err(CanonicalError::NumberTooLarge(_))));
    assert_eq!(value(&json!(12_345_678_901_234_567_890_u64)), "12345678901234567890");
}

#[test]
fn control_characters_are_escaped_in_the_short_form_where_there_is_one() {
    let all: String = (0..0x20_u8).map(char::from).chain(['"', '\\', '\u{7f}', '\u{2028}']).collect();
    let text = own(all.as_str()).unwrap();
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), all);
    assert!(text.starts_with(r#""\u0000\u0001"#) && text.contains(r"\u0007\b\t\n\u000b\f\r\u000e"), "{text}");
    assert!(text.contains('\u{2028}'), "only control characters below U+0020 are escaped");
}

#[test]
fn typed_equality_reads_numbers_by_value() {
    assert!(equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
    assert!(!equal(&json!([1, 2]), &json!([2, 1])));
    assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
}

#[test]
fn the_type_of_a_fact_stands_among_its_fields_wherever_they_were_declared() {
    #[derive(serde::Serialize)]
    struct Ordered {
        a: u8,
        z: u8,
    }
    #[derive(serde::Serialize)]
    struct Disordered {
        z: u8,
        b: Ordered,
        #[serde(rename = "\u{20ac}\n\u{1f600}")]
        odd: bool,
        a: Option<u8>,
    }
    #[derive(serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Fact {
        None(Last),
        Some(Disordered),
    }
    #[derive(serde::Serialize)]
    struct Last {
        s: u8,
    }
    let odd = Disordered { z: 1, b: Ordered { a: 2, z: 3 }, odd: true, a: None };
    assert_eq!(
        own(&[Fact::Some(odd), Fact::None(Last { s: 4 })]).unwrap(),
        "[{\"a\":null,\"b\":{\"a\":2,\"z\":3},\"type\":\"some\",\"z\":1,\"\u{20ac}\\n\u{1f600}\":true},{\"s\":4,\"type\":\"none\"}]"
    );
}

proptest::proptest! {
    #[test]
    fn what_is_written_reads_back(map in proptest::collection::btree_map(".*", ".*", 0..6), number in 0..(1_u64 << 53)) {
        let mut all: BTreeMap<String, Value> = map.into_iter().map(|(k, v)| (k, Value::String(v))).collect();
        all.insert("n".to_string(), number.into());
        let text = own(&all).unwrap();
        proptest::prop_assert_eq!(serde_json::from_str::<BTreeMap<String, Value>>(&text).unwrap(), all);
    }
}
