//! Makes a title of one line from the answer of a model.

/// The longest title, in characters.
const LONGEST: usize = 100;

/// The title in an answer: its first line with text, without thoughts, marks and quotes, cut at 100 characters; `None`
/// when nothing is left.
pub(super) fn title(answer: &str) -> Option<String> {
    let answer = without_thoughts(answer);
    let line = answer.lines().map(bare).find(|line| !line.is_empty())?;
    if line.chars().count() <= LONGEST {
        return Some(line);
    }
    let kept: String = line.chars().take(LONGEST - 3).collect();
    Some(format!("{}...", kept.trim_end()))
}

/// The text without `<think>` blocks; one that is not closed takes the rest with it.
fn without_thoughts(answer: &str) -> String {
    let (mut kept, mut rest) = (String::new(), answer);
    while let Some((before, thought)) = rest.split_once("<think>") {
        kept.push_str(before);
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// A line without control characters, heading marks, emphasis and quotes around it.
fn bare(line: &str) -> String {
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut line = line.trim().trim_start_matches('#').trim();
    for (open, close) in [("**", "**"), ("\"", "\""), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("«", "»")]
    {
        if let Some(inner) = line.strip_prefix(open).and_then(|line| line.strip_suffix(close)) {
            line = inner.trim();
        }
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_one_line_without_thoughts_marks_and_quotes() {
        let titled = |answer: &str| title(answer).unwrap_or_default();
        assert_eq!(titled("Mend the clock"), "Mend the clock");
        assert_eq!(titled("<think>\nWhat is it?\n</think>\n\n  Mend the clock\nor not"), "Mend the clock");
        assert_eq!(titled("\"Mend the clock\""), "Mend the clock");
        assert_eq!(titled("# **Mend \t the\u{7} “clock”**"), "Mend the “clock”");
        assert_eq!(titled("«Réparer l'horloge»"), "Réparer l'horloge");
        assert_eq!(titled("'tis the clock"), "'tis the clock");
    }

    #[test]
    fn a_long_title_is_cut_at_100_characters() {
        let long = "é".repeat(101);
        let cut = title(&long).unwrap_or_default();
        assert_eq!((cut.chars().count(), cut.ends_with("é...")), (100, true));
        assert_eq!(title(&"é".repeat(100)), Some("é".repeat(100)));
    }

    #[test]
    fn an_answer_without_text_is_no_title() {
        assert_eq!(title(""), None);
        assert_eq!(title(" \n\"\"\n"), None);
        assert_eq!(title("<think>Mend the clock, I would say"), None);
    }
}
