//! Whole files that results show.

use annals_core::Blobs;
use annals_core::event::ToolSettled;
use serde_json::Value;

/// The content that the result of a reading tool shows, if it is the whole file. `asked` is the input of the call.
pub(super) fn whole(asked: &Value, settled: &ToolSettled, blobs: &dyn Blobs) -> Option<String> {
    if settled.truncated
        || ["offset", "limit", "start_line", "end_line", "view_range"].iter().any(|name| !is_null(asked, name))
    {
        return None;
    }
    let structured = settled.structured.as_ref().map(|value| value.value(blobs)).unwrap_or_default();
    let file = structured.get("file").unwrap_or(&structured);
    let number = |name: &str| file.get(name).and_then(Value::as_u64);
    let text = file.get("content").and_then(Value::as_str);
    if let (Some(text), true) = (text, number("startLine") == Some(1) && number("numLines") == number("totalLines")) {
        return Some(text.to_owned());
    }
    if let (Some(text), Some("utf8"), false) = (
        text,
        file.get("encoding").and_then(Value::as_str),
        file.get("truncated").and_then(Value::as_bool).unwrap_or_default(),
    ) {
        return Some(text.to_owned());
    }
    numbered(&settled.output.read(blobs)?)
}

fn is_null(value: &Value, name: &str) -> bool {
    value.get(name).is_none_or(Value::is_null)
}

/// The content in numbered lines from 1 on, unless something says that more follows.
fn numbered(output: &str) -> Option<String> {
    let mut text = String::new();
    let mut next = 1_u64;
    for line in output.lines() {
        match numbered_line(line) {
            Some((number, content)) if number == next => {
                if content.contains("... (cut: the line has") {
                    return None;
                }
                text.push_str(content);
                text.push('\n');
                next += 1;
            }
            Some(_) => return None,
            None => {
                let line = line.trim();
                let frames = line.is_empty() || line.starts_with('<') || line.starts_with("(End of file");
                if !frames {
                    return None;
                }
            }
        }
    }
    // A last line without content is how some agents show the line feed before it.
    if next > 2
        && text.ends_with("\n\n")
        && output.trim_end_matches('\n').lines().last().and_then(numbered_line).is_some_and(|(_, last)| last.is_empty())
    {
        text.pop();
    }
    (next > 1).then_some(text)
}

fn numbered_line(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = line.get(..digits)?.parse().ok()?;
    let rest = line.get(digits..)?;
    let content = rest.strip_prefix('\t').or_else(|| rest.strip_prefix('→')).or_else(|| rest.strip_prefix("| "));
    content.or_else(|| rest.strip_prefix(": ")).map(|content| (number, content))
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbered_lines_are_a_whole_file_unless_more_follows() {
        assert_eq!(numbered("     1\ta\n     2\tb\n").as_deref(), Some("a\nb\n"));
        assert_eq!(
            numbered("<file>\n00001| a\n00002| b\n\n(End of file - total 2 lines)\n</file>").as_deref(),
            Some("a\nb\n")
        );
        assert_eq!(numbered("1\ta\n2\t").as_deref(), Some("a\n"));
        assert_eq!(numbered("     1\ta\n\n(Lines 1 to 1 of 2. Continue with offset 2.)"), None);
        assert_eq!(numbered("     5\ta\n"), None);
        assert_eq!(numbered("no file"), None);
    }
}
