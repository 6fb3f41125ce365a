//! What redaction writes in the place of a secret.

use std::ops::Range;

const BEGIN: &str = "[redacted:";

/// The longest kind, in bytes.
const KIND: usize = 120;

/// The placeholder of a kind.
pub(super) fn placeholder(kind: &str) -> String {
    format!("{BEGIN}{kind}]")
}

/// Where the placeholders of a text are, each with its kind. Any kind counts: a text may come from another redactor, which
/// knew other variables.
pub(super) fn placeholders(text: &str) -> Vec<(Range<usize>, &str)> {
    let placeholder = |(start, _): (usize, &str)| {
        let kind = text.get(start + BEGIN.len()..)?;
        let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        let length = kind.bytes().take(KIND).take_while(legal).count();
        let end = start + BEGIN.len() + length + 1;
        (length > 0 && kind.as_bytes().get(length) == Some(&b']')).then_some((start..end, kind.get(..length)?))
    };
    text.match_indices(BEGIN).filter_map(placeholder).collect()
}

/// What is left of a span without placeholders, which are in the order of the text: nothing of them is replaced again.
pub(super) fn without<'p>(
    span: Range<usize>,
    placeholders: &'p [(Range<usize>, &str)],
) -> impl Iterator<Item = Range<usize>> + use<'p> {
    let first = placeholders.partition_point(|(placeholder, _)| placeholder.end <= span.start);
    let inside: Vec<&Range<usize>> =
        placeholders.iter().skip(first).map(|(range, _)| range).take_while(|range| range.start < span.end).collect();
    let starts: Vec<usize> = std::iter::once(span.start).chain(inside.iter().map(|range| range.end)).collect();
    let ends: Vec<usize> = inside.iter().map(|range| range.start).chain([span.end]).collect();
    starts.into_iter().zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end)
}
