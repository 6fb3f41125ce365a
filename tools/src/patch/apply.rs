//! The hunks of a patch in a text: lines are found exactly, else without the white space at their ends, else without any around them.

use super::parse::Hunk;

/// The text after the hunks.
///
/// # Errors
/// Which lines were not found.
pub(super) fn applied(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let ended = text.is_empty() || text.ends_with('\n');
    let lines: Vec<&str> = text.lines().collect();
    let mut made: Vec<String> = Vec::new();
    let mut from = 0;
    for hunk in hunks {
        for anchor in &hunk.anchors {
            let found = find(&lines, from, std::slice::from_ref(anchor), false);
            from = copied(&lines, from, found.ok_or_else(|| format!("no line {anchor:?} follows"))? + 1, &mut made);
        }
        let at = match (hunk.old.is_empty(), hunk.anchors.is_empty(), hunk.at_end) {
            // Only added lines: below the line that was named, or at the end.
            (true, false, false) => from,
            (true, ..) => lines.len(),
            (false, ..) => find(&lines, from, &hunk.old, hunk.at_end).ok_or_else(|| absent(&hunk.old))?,
        };
        from = copied(&lines, from, at, &mut made) + hunk.old.len();
        made.extend(hunk.new.iter().cloned());
    }
    copied(&lines, from, lines.len(), &mut made);
    let mut text = made.join("\n");
    if ended && !made.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

fn copied(lines: &[&str], from: usize, to: usize, made: &mut Vec<String>) -> usize {
    made.extend(lines.get(from..to).unwrap_or_default().iter().map(ToString::to_string));
    to
}

fn find(lines: &[&str], from: usize, wanted: &[String], at_end: bool) -> Option<usize> {
    let same: [fn(&str, &str) -> bool; 3] =
        [|a, b| a == b, |a, b| a.trim_end() == b.trim_end(), |a, b| a.trim() == b.trim()];
    let last = lines.len().checked_sub(wanted.len())?;
    same.into_iter().find_map(|same| {
        let is_at = |at: &usize| {
            let there = lines.get(*at..at + wanted.len()).unwrap_or_default();
            there.iter().zip(wanted).all(|(line, wanted)| same(line, wanted))
        };
        let end = at_end.then_some(last).filter(|at| *at >= from && is_at(at));
        end.or_else(|| (from..=last).find(is_at))
    })
}

fn absent(lines: &[String]) -> String {
    let shown: Vec<&str> = lines.iter().take(6).map(String::as_str).collect();
    let more = if lines.len() > shown.len() { "\n..." } else { "" };
    format!("these lines do not follow one another in it:\n{}{more}\nRead the file again.", shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(anchors: &[&str], old: &[&str], new: &[&str]) -> Hunk {
        let texts = |lines: &[&str]| lines.iter().map(ToString::to_string).collect();
        Hunk { anchors: texts(anchors), old: texts(old), new: texts(new), at_end: false }
    }

    const TEXT: &str = "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n";

    #[test]
    fn a_line_above_says_which_of_equal_places_is_meant() {
        let made = applied(TEXT, &[hunk(&["fn b() {"], &["    x();"], &["    y();"])]);
        assert_eq!(made.as_deref(), Ok("fn a() {\n    x();\n}\nfn b() {\n    y();\n}\n"));
    }

    #[test]
    fn white_space_around_lines_may_differ_and_what_is_absent_is_named() {
        let made = applied("\ta\n b \nc", &[hunk(&[], &["a", "b"], &["\tA"])]);
        assert_eq!(made.as_deref(), Ok("\tA\nc"));
        let absent = applied(TEXT, &[hunk(&[], &["fn c() {"], &[])]).err().unwrap_or_default();
        assert!(absent.contains("fn c() {"), "{absent}");
    }

    #[test]
    fn lines_without_a_place_are_added_at_the_end() {
        assert_eq!(applied("a\n", &[hunk(&[], &[], &["b"])]).as_deref(), Ok("a\nb\n"));
        assert_eq!(applied("a\nb\n", &[hunk(&["a"], &[], &["x"])]).as_deref(), Ok("a\nx\nb\n"));
        assert_eq!(applied("", &[hunk(&[], &[], &["b"])]).as_deref(), Ok("b\n"));
    }
}
