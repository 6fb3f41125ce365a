//! Texts in base64, as `base64 .env` and manifests write them.

use super::work;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// The shortest run of base64 that is decoded, and the longest, in bytes.
const SHORTEST: usize = 16;
const LONGEST: usize = 64 * 1024;

/// How many characters of a line programs write before they begin another one.
const LINES: [usize; 2] = [64, 76];

const EITHER: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER);

/// Visits the runs of base64 in a text that are readable texts, each with that text.
pub(super) fn texts(text: &str, visit: &mut dyn FnMut(Range<usize>, String)) {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is_base64(**byte)).count();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let mut length = run(start);
        at += length.max(1);
        work::count(length);
        if length < SHORTEST {
            continue;
        }
        let mut joined = text.get(start..start + length).unwrap_or_default().to_owned();
        while LINES.contains(&length) && bytes.get(at) == Some(&b'\n') {
            length = run(at + 1);
            joined.push_str(text.get(at + 1..at + 1 + length).unwrap_or_default());
            at += 1 + length;
        }
        if joined.len() <= LONGEST
            && let Some(decoded) = decoded(&joined)
        {
            let padding = bytes.get(at..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count();
            visit(start..at + padding, decoded);
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The text that a run of base64 is; most are none, which a few characters show.
pub(super) fn decoded(run: &str) -> Option<String> {
    let engine = if run.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let readable =
        |bytes: &[u8]| bytes.iter().all(|byte| *byte >= b' ' && *byte != 0x7f || matches!(byte, b'\n' | b'\r' | b'\t'));
    let begin = engine.decode(run.get(..8)?).ok()?;
    if !readable(&begin) || !begin.is_ascii() && !begin.starts_with(b"\xef\xbb\xbf") {
        return None;
    }
    String::from_utf8(engine.decode(run).ok()?).ok().filter(|text| readable(text.as_bytes()))
}
