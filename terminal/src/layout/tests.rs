use super::*;

#[test]
fn lines_break_at_blanks_and_keep_their_indentation() {
    assert_eq!(wrap("  one two three four", 12), ["  one two", "  three four"]);
    assert_eq!(wrap("a\n\nb", 12), ["a", "", "b"]);
    assert_eq!(wrap("/a/very/long/path/indeed x", 12), ["/a/very/long/path/indeed", "x"]);
    assert_eq!(wrap("a {\"b\":\"cdefghijk\"} x", 12), ["a", "{\"b\":\"cdefgh", "ijk\"} x"]);
    assert_eq!(wrap("日本語日本語", 8), ["日本語日", "本語"]);
    assert_eq!(hanging("one two three four", 2, 9), "one two\n  three\n  four");
    assert_eq!(hanging("one two", 2, 9), "one two");
}

#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(wrap("日本語 日本語", 8), ["日本語", "日本語"]);
    assert_eq!(clip("日本語日本語", 7), "日本語…");
}

#[test]
fn a_rule_is_never_wider_than_the_sheet() -> io::Result<()> {
    let style = Style {
        width: 20,
        colour: false,
        json: false,
        markdown: false,
        zone: jiff::tz::TimeZone::UTC,
        now: annals_core::Time(0),
    };
    let drawn = |left: &str, right: &str| -> io::Result<String> {
        let mut out = Vec::new();
        Sheet::new(&mut out, &style).rule(left, right, Emphasis::Plain)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    };
    assert_eq!(drawn("one", "two")?, "──── one ──── two ──\n");
    assert_eq!(drawn("twelve chars", "")?, "──── twelve chars ──\n");
    assert_eq!(drawn("fourteen chars", "right")?, "──── fourteen chars\n     right\n");
    assert_eq!(drawn("more than fifteen", "")?, "──── more than\n     fifteen\n");
    Ok(())
}

#[test]
fn what_is_escaped_takes_the_room_that_it_is_drawn_in() {
    assert_eq!(plain("a\r\nc\td"), "a\nc    d");
    assert_eq!(name("a\nb"), "a␊b");
    assert_eq!(columns("a\x1b[2J\u{202e}"), 13);
    assert_eq!(clip("ab\u{202e}cdefgh", 12), "ab\u{202e}c…");
}
