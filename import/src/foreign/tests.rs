use super::*;

#[test]
fn compact_json_keeps_numbers_as_written_and_escapes_in_one_way() {
    assert_eq!(
        compact("{ \"a b\" : [1.0, 123456789012345678901 ],\n\"x\":\"\\u00e9 \\\"q\\\"\" }"),
        "{\"a b\":[1.0,123456789012345678901],\"x\":\"é \\\"q\\\"\"}"
    );
}

#[test]
fn half_a_surrogate_pair_reads_as_a_replacement_character() {
    assert_eq!(string("\"a\\ud83d\""), Some("a\u{FFFD}".into()));
    assert_eq!(string("\"\\ud83d\\ude00 \\ude00\\n\""), Some("😀 \u{FFFD}\n".into()));
}

#[test]
fn fields_that_nobody_reads_are_noted() {
    let notes = Notes::default();
    let object = JsonObject::parse("{\"a\":1,\"b\":{\"c\":\"x\",\"d\":2},\"e\":null,\"f\":[]}", "it", &notes).unwrap();
    assert_eq!(object.number("a"), Some(1));
    assert_eq!(object.object("b").unwrap().text("c"), Some("x".into()));
    drop(object);
    assert_eq!(notes.take(), ["it.b.d"]);
}

#[test]
fn moments_are_milliseconds() {
    assert_eq!(moment("2026-11-21T20:33:08.334Z"), Some(1_795_293_188_334));
    assert_eq!(moment("2026-11-21T21:33:08.3+01:00"), Some(1_795_293_188_300));
    assert_eq!(moment("2026-11-21"), None);
    assert_eq!(moment("not a time at all, surely"), None);
}
