//! The front matter of a skill: as much of YAML as names and descriptions are written in.

use std::collections::BTreeMap;

/// What a skill says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Front {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

/// A text's front matter and what follows it. Unknown fields are skipped, and so are lines that are not fields.
pub(super) fn divided(text: &str) -> (Front, &str) {
    let (mut fields, body) = fields(text);
    (Front { name: fields.remove("name"), description: fields.remove("description") }, body)
}

/// The fields of a text's front matter by name, each as one text, and what follows it.
pub(super) fn fields(text: &str) -> (BTreeMap<String, String>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((matter, body)) = split(text) else { return (BTreeMap::new(), text) };
    let mut fields = BTreeMap::new();
    let mut lines = matter.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t', '#'])) else { continue };
        // What belongs to a field is indented, or is a blank line among what is.
        let mut below: Vec<&str> = Vec::new();
        while let Some(more) = lines.next_if(|more| more.starts_with([' ', '\t']) || more.trim().is_empty()) {
            below.push(more);
        }
        let value = scalar(value.trim(), &below);
        if !value.is_empty() {
            fields.insert(key.trim().to_owned(), value);
        }
    }
    (fields, body)
}

fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((text.get(first.len()..end)?, text.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

/// The value of a field, from the text after its key and the lines below.
fn scalar(beside: &str, below: &[&str]) -> String {
    let folded = || {
        let lines: Vec<&str> = below.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        lines.join(" ")
    };
    match beside.chars().next() {
        Some('|') => {
            let indent = below.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min();
            let lines: Vec<&str> = below.iter().map(|line| line.get(indent.unwrap_or(0)..).unwrap_or("")).collect();
            lines.join("\n").trim().into()
        }
        Some('>') => folded(),
        _ => {
            let whole = format!("{beside} {}", folded());
            let whole = whole.trim();
            match whole.chars().next() {
                Some('"') => quoted(whole),
                Some('\'') => whole.trim_matches('\'').replace("''", "'"),
                _ => whole.split_once(" #").map_or(whole, |(value, _)| value.trim_end()).into(),
            }
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars().skip(1);
    while let Some(one) = chars.next() {
        match one {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => {}
            },
            one => value.push(one),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(matter: &str) -> (Option<String>, Option<String>) {
        let (front, body) = divided(matter);
        assert_eq!(body, "Body\n---\nmore\n");
        (front.name, front.description)
    }

    #[test]
    fn names_and_descriptions_are_read_as_people_write_them() {
        for (written, meant) in [
            ("plain text: with a colon", "plain text: with a colon"),
            ("plain # with a comment", "plain"),
            ("\"a \\\"quoted\\\" # text\"", "a \"quoted\" # text"),
            ("'it''s'", "it's"),
            (">-\n  folded\n  lines", "folded lines"),
            ("|\n  kept\n    lines\n\n  end", "kept\n  lines\n\nend"),
            ("begun here\n  and gone on with", "begun here and gone on with"),
        ] {
            let text = format!(
                "---\r\nlicense: MIT\nname: audit\ndescription: {written}\nmetadata:\n  name: no\n---\nBody\n---\nmore\n"
            );
            assert_eq!(read(&text), (Some("audit".into()), Some(meant.into())), "{written}");
        }
    }

    #[test]
    fn a_text_without_front_matter_is_all_body() {
        for text in ["# Title\n", "---\nname: x\n", "", "--- x\n---\n"] {
            assert_eq!(divided(text), (Front::default(), text));
        }
    }
}
