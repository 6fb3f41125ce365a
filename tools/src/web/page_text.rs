//! The readable text of a web page.

use super::nesting::bounded;

/// The width that text is laid out for: paragraphs are one line.
const WIDTH: usize = 100_000;

/// The text of a page, below its title unless the text contains that.
pub(super) fn page_text(html: &str) -> String {
    let page = html2text::config::plain().string_from_read(bounded(html).as_bytes(), WIDTH);
    let page = tidied(page.as_deref().unwrap_or(html));
    match title(html).filter(|title| !page.contains(title.as_str())) {
        Some(title) => format!("{title}\n\n{page}"),
        None => page,
    }
}

fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    let inner = bounded(html.get(start..end)?);
    let inner = html2text::config::plain().string_from_read(inner.as_bytes(), WIDTH).ok()?;
    let title = inner.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

/// No white space at the ends of lines, and no more than one empty line.
fn tidied(page: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in page.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_given_as_text_without_its_scripts() {
        let html = "<html><head><title>Guide &amp; more</title><style>p{}</style><script>alert(1)</script></head><body>\
                    <h1>Start</h1><p>Read <a href=\"/next\">the next</a> page.</p><ul><li>one</li><li>two</li></ul></body></html>";
        assert_eq!(page_text(html), "Guide & more\n\n# Start\n\nRead [the next][1] page.\n* one\n* two\n\n[1]: /next");
    }

    #[test]
    fn a_page_that_nests_without_end_does_no_harm() {
        let deep = "<div><b>".repeat(50_000);
        assert!(!page_text(&deep).contains(char::is_alphanumeric));
    }
}
