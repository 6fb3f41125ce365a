//! Characters beyond U+FFFF that a server cut in two: it escapes UTF-16 unit by unit, and one delta ends with the first
//! half while the next begins with the second. Neither is a text for itself.

use std::borrow::Cow;

/// Puts halves together from event to event.
#[derive(Default)]
pub(super) struct Halves {
    /// The first half that a string ended with.
    held: Option<u16>,
}

impl Halves {
    /// The data of an event with whole characters only: a half that nothing completes reads as U+FFFD.
    pub(super) fn whole<'d>(&mut self, data: &'d str) -> Cow<'d, str> {
        if !data.contains("\\ud") && !data.contains("\\uD") {
            return Cow::Borrowed(data);
        }
        let bytes = data.as_bytes();
        let mut out = String::new();
        // What is copied already; where the present string begins.
        let (mut copied, mut at, mut begins) = (0, 0, None);
        while let Some(byte) = bytes.get(at) {
            match (byte, begins) {
                (b'"', None) => begins = Some(at + 1),
                (b'"', Some(_)) => begins = None,
                (b'\\', Some(start)) => {
                    let Some(first) = unit(bytes, at) else {
                        at += 2;
                        continue;
                    };
                    let second = unit(bytes, at + 6).filter(|unit| is_second(*unit));
                    let length = if is_first(first) && second.is_some() { 12 } else { 6 };
                    let instead = match () {
                        () if !(is_first(first) || is_second(first)) || length == 12 => None,
                        () if is_first(first) && bytes.get(at + 6) == Some(&b'"') => {
                            self.held = Some(first);
                            Some(String::new())
                        }
                        () if is_second(first) && at == start => Some(match self.held.take() {
                            Some(held) => String::from_utf16_lossy(&[held, first]),
                            None => LOST.to_owned(),
                        }),
                        () => Some(LOST.to_owned()),
                    };
                    if let Some(instead) = instead {
                        out.push_str(data.get(copied..at).unwrap_or_default());
                        out.push_str(&instead);
                        copied = at + length;
                    }
                    at += length;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        if copied == 0 {
            return Cow::Borrowed(data);
        }
        out.push_str(data.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }
}

const LOST: &str = "\u{fffd}";

const fn is_first(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

const fn is_second(unit: u16) -> bool {
    matches!(unit, 0xdc00..=0xdfff)
}

/// The UTF-16 unit that is escaped at a place, if one is.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::Halves;
    use proptest::prelude::*;

    fn whole(events: &[&str]) -> Vec<String> {
        let mut halves = Halves::default();
        events.iter().map(|data| halves.whole(data).into_owned()).collect()
    }

    #[test]
    fn a_character_that_was_cut_in_two_comes_with_its_second_half() {
        let events = [r#"{"a":"x\ud83d"}"#, r#"{"ping":"\u00e4"}"#, r#"{"a":"\ude00y"}"#];
        assert_eq!(whole(&events), [r#"{"a":"x"}"#, r#"{"ping":"\u00e4"}"#, r#"{"a":"😀y"}"#]);
    }

    #[test]
    fn what_is_whole_stays_letter_for_letter() {
        for data in [r#"{"a":"\uD83D\uDE00"}"#, r#"{"a":"\\ud83d","b\"":"\\\\ude00"}"#, r"\ud83d", r#""\ud8"#] {
            assert_eq!(whole(&[data]), [data]);
        }
    }

    #[test]
    fn a_half_that_nothing_completes_is_shown_as_such() {
        assert_eq!(whole(&[r#"["\ude00","\ud83dx","a\ude00"]"#]), ["[\"\u{fffd}\",\"\u{fffd}x\",\"a\u{fffd}\"]"]);
    }

    proptest! {
        #[test]
        fn a_text_of_escaped_units_reads_the_same_however_it_is_cut(text in "[a😀\u{1F680}ä]{0,12}", cuts in prop::collection::vec(1usize..4, 0..12)) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let (mut rest, mut events) = (units.as_slice(), Vec::new());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                events.push(format!("\"{}\"", piece.iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()));
                rest = after;
            }
            let mut halves = Halves::default();
            let read: Result<String, _> = events.iter().map(|data| serde_json::from_str::<String>(&halves.whole(data))).collect();
            prop_assert_eq!(read.ok(), Some(text));
        }
    }
}
