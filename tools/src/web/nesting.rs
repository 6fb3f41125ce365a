//! Bounds how deep a page nests, before it is parsed: a parser takes time for each pair of an element and one around it.

use std::collections::BTreeMap;

/// How deep elements may nest.
const DEEPEST: usize = 120;
/// How many elements of form may be open: each is opened again in every paragraph.
const FORMS: usize = 10;

/// Elements without an end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "wbr"];
/// Elements that end where the next one of them begins: many of them follow one another, not inside each other.
const ENDS_ITSELF: [&str; 15] =
    ["body", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rp", "rt", "tbody", "td", "th", "tr"];
/// Elements whose content is not markup.
const RAW: [&str; 7] = ["iframe", "noframes", "script", "style", "textarea", "title", "xmp"];
/// Elements of form.
const FORM: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// The page without the tags of elements that are nested too deep. Their text stays.
pub(super) fn bounded(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut open: Vec<String> = Vec::new();
    let (mut forms, mut left_out) = (0, BTreeMap::<String, usize>::new());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let length = tag_length(rest);
        let (tag, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        let Some((name, ends)) = named(tag) else {
            out.push_str(tag);
            continue;
        };
        let name = name.to_ascii_lowercase();
        if VOID.contains(&name.as_str()) || ENDS_ITSELF.contains(&name.as_str()) || tag.ends_with("/>") {
            out.push_str(tag);
            continue;
        }
        if RAW.contains(&name.as_str()) {
            let length = if ends { 0 } else { raw_length(rest, &name) };
            let (content, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            out.push_str(tag);
            out.push_str(content);
            rest = after;
            continue;
        }
        let is_form = FORM.contains(&name.as_str());
        if ends {
            match left_out.get_mut(&name).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => {
                    if let Some(at) = open.iter().rposition(|other| *other == name) {
                        let ended = open.split_off(at);
                        forms -= ended.iter().filter(|name| FORM.contains(&name.as_str())).count();
                    }
                    out.push_str(tag);
                }
            }
        } else if open.len() >= DEEPEST || is_form && forms >= FORMS {
            *left_out.entry(name).or_default() += 1;
        } else {
            forms += usize::from(is_form);
            open.push(name);
            out.push_str(tag);
        }
    }
    out.push_str(rest);
    out
}

/// The name in a tag, and whether the tag ends an element; `None` for comments, declarations and anything else.
fn named(tag: &str) -> Option<(&str, bool)> {
    let inner = tag.strip_prefix('<')?;
    let (inner, ends) = inner.strip_prefix('/').map_or((inner, false), |inner| (inner, true));
    let end = inner.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).unwrap_or(inner.len());
    let name = inner.get(..end)?;
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some((name, ends))
}

/// Bytes of a tag or comment at the beginning of a text; 1 for a mere `<`.
fn tag_length(text: &str) -> usize {
    if text.starts_with("<!--") {
        return text.find("-->").map_or(text.len(), |at| at + 3);
    }
    if !text
        .get(1..)
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')))
    {
        return 1;
    }
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            // Only where a value begins: an apostrophe elsewhere does not quote.
            (None, b'"' | b'\'') if text.get(..at).is_some_and(|before| before.trim_end().ends_with('=')) => {
                quote = Some(byte);
            }
            (None, b'>') => return at + 1,
            (None, _) => {}
        }
    }
    text.len()
}

/// Bytes up to the tag that ends an element whose content is not markup.
fn raw_length(text: &str, name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("</")) {
        let tag = text.get(from + at..).unwrap_or_default();
        if named(tag).is_some_and(|(found, _)| found.eq_ignore_ascii_case(name)) {
            return from + at;
        }
        from += at + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_nests_as_people_write_stays_as_it_is() {
        let page = "<!doctype html><!-- <div> --><html><body class='a>b'><ul><li>one<li>two</ul><p>1 < 2<p>it's <b>so</b>\
                    <img src=x><br/><script>if (a < b) { '<div>' }</script><textarea><b></textarea></body></html>";
        assert_eq!(bounded(page), page);
        let items = format!("<ul>{}</ul>", "<li><a href=x>one</a> <b>two</b></li>".repeat(1_000));
        assert_eq!(bounded(&items), items);
        let unclosed = "<p>text<td>cell".repeat(1_000);
        assert_eq!(bounded(&unclosed), unclosed);
    }

    #[test]
    fn what_nests_deeper_loses_its_tags_and_keeps_its_text() {
        let deep = format!("{}text{}after", "<div>".repeat(500), "</div>".repeat(500));
        let page = bounded(&deep);
        assert_eq!((page.matches("<div>").count(), page.matches("</div>").count()), (DEEPEST, DEEPEST));
        assert!(page.contains(">text<") && page.ends_with(">after"));
        assert_eq!(bounded(&"<b x='<'>".repeat(50)).matches("<b").count(), FORMS);
    }

    #[test]
    fn a_page_that_is_cut_off_is_taken_as_it_is() {
        for page in ["<", "<div", "<div class=\"", "<!-- never", "</", "<script>var a", "text <b"] {
            assert_eq!(bounded(page), page);
        }
    }
}
