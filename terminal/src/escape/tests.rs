//! What could steer a terminal is drawn, whatever pieces it arrives in.

use super::*;
use std::io::{self, Write as _};

fn written(form: Escaping, text: &str, step: usize) -> io::Result<String> {
    let mut out = Vec::new();
    let mut writer = EscapingWriter::new(&mut out, form);
    text.as_bytes().chunks(step).try_for_each(|piece| writer.write_all(piece))?;
    writer.finish()?;
    drop(writer);
    String::from_utf8(out).map_err(io::Error::other)
}

/// The same however it arrives.
fn text(of: &str) -> io::Result<String> {
    let whole = written(Escaping::Text, of, of.len().max(1))?;
    for step in 1..6 {
        assert_eq!(written(Escaping::Text, of, step)?, whole, "in pieces of {step} bytes");
    }
    Ok(whole)
}

#[test]
fn no_control_character_passes() -> io::Result<()> {
    for number in (0..0x20).chain(0x7f..0xa0).filter(|number| ![0x09, 0x0a].contains(number)) {
        let c = char::from_u32(number).unwrap_or_default();
        let shown = text(&format!("a{c}b"))?;
        assert!(!shown.contains(c) && shown.starts_with('a') && shown.ends_with('b'), "{number:x}: {shown:?}");
    }
    assert_eq!(text("\x1b]52;c;eA==\x07 \u{9b}2J \x7f")?, "␛]52;c;eA==␇ <U+009B>2J ␡");
    assert_eq!(text("one\ttwo\nthree\r\nfour\rfive\r")?, "one\ttwo\nthree\r\nfour␍five␍");
    Ok(())
}

#[test]
fn nothing_reorders_or_hides() -> io::Result<()> {
    assert_eq!(text("rm #\u{202e}x\u{2066}y\u{200f}\u{61c}")?, "rm #<U+202E>x<U+2066>y<U+200F><U+061C>");
    assert_eq!(
        text("a\u{200b}b\u{feff}c\u{2060}d\u{200d}e\u{e0041}")?,
        "a<U+200B>b<U+FEFF>c<U+2060>d<U+200D>e<U+E0041>"
    );
    // Pictures that are joined, and letters of any script.
    assert_eq!(text("👩\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 שלום日本")?, "👩\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 שלום日本");
    assert_eq!(text("👩\u{200d}")?, "👩<U+200D>");
    assert_eq!(text("👩\u{200d}\u{200d}🚀")?, "👩<U+200D><U+200D>🚀");
    Ok(())
}

#[test]
fn a_text_to_decide_on_hides_nothing_that_looks_like_a_blank_or_like_nothing() {
    assert_eq!(
        exact("rm\u{a0}-rf\u{3000}/\u{ad}tmp\u{2028}\u{200d}"),
        "rm<U+00A0>-rf<U+3000>/<U+00AD>tmp<U+2028><U+200D>"
    );
    assert_eq!(exact("a\u{202e}b\u{e0141}\u{3164}\u{fe0f}\x1b"), "a<U+202E>b<U+E0141><U+3164><U+FE0F>␛");
    assert_eq!(exact("👩\u{200d}🚀"), "👩<U+200D>🚀");
    let plain = "if x {\n\techo 'שלום 日本 é'\n}";
    assert!(matches!(exact(plain), Cow::Borrowed(same) if same == plain));
}

#[test]
fn only_our_own_sequences_are_effective() -> io::Result<()> {
    let bold = format!("{}x{}", control("1m"), control("0m"));
    assert_eq!(text(&bold)?, "\x1b[1mx\x1b[0m");
    assert_eq!(text("\x1b[1mx")?, "␛[1mx");
    // A mark that is no sequence, one of another process, and one that is cut.
    assert!(!text(&control("1\u{7}"))?.contains('\x1b'));
    assert!(!text("\x1b\u{1}00112233445566778899aabbccddeeff1m")?.contains('\x1b'));
    assert!(!text(&control("1"))?.contains('\x1b'));
    Ok(())
}

#[test]
fn json_means_the_same() -> io::Result<()> {
    let value = "a\u{1b}\u{202e}\u{85}\u{200d}\u{e0041}\u{7f}日".to_owned();
    let shown = written(Escaping::Json, &serde_json::to_string(&value)?, 1)?;
    assert_eq!(shown, "\"a\\u001b\\u202e\\u0085\\u200d\\udb40\\udc41\\u007f日\"");
    assert_eq!(serde_json::from_str::<String>(&shown)?, value);
    Ok(())
}

#[test]
fn raw_bytes_are_as_they_came() -> io::Result<()> {
    assert_eq!(written(Escaping::Raw, "\x1b[2J\u{202e}\r", 1)?, "\x1b[2J\u{202e}\r");
    assert_eq!(written(Escaping::Raw, &control("1m"), 3)?, "\x1b[1m");
    Ok(())
}

#[test]
fn bytes_that_are_no_text_are_replaced() -> io::Result<()> {
    let mut out = Vec::new();
    let mut writer = EscapingWriter::new(&mut out, Escaping::Text);
    writer.write_all(b"a\x9b2J\xff\xe2\x80")?;
    writer.finish()?;
    drop(writer);
    assert_eq!(String::from_utf8_lossy(&out), "a\u{fffd}2J\u{fffd}\u{fffd}");
    Ok(())
}

#[test]
fn width_is_that_of_what_is_drawn() {
    assert_eq!(["\u{1b}", "\u{202e}", "日", "a"].map(|text| text.chars().map(width).sum::<usize>()), [1, 8, 2, 1]);
    assert_eq!(visible_line("a\n\u{1b}\tb"), "a ␛ b");
}

#[test]
fn a_text_is_made_visible_as_it_would_be_written() {
    assert_eq!(visible("a\u{1b}[2J\u{202e}b"), "a␛[2J<U+202E>b");
}
