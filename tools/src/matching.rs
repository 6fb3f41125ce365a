//! Replacing exact text, and what to say when it is not there or there too often.

use super::change::{is_crlf, to_crlf};

/// How many places an answer names.
const NAMED: usize = 10;

/// How many lines are compared for a likeness, and how many characters of each are shown.
const COMPARED: usize = 20_000;
const SHOWN: usize = 160;

/// The text with `old` replaced, and how often it was.
///
/// Line ends are those of the text: what is written with the other kind is found and put in with its own.
///
/// # Errors
/// Why nothing was replaced, with the lines that matter.
pub(super) fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), String> {
    let exact = (old.to_string(), new.to_string());
    let crlf = (to_crlf(old), to_crlf(new));
    let kinds = if is_crlf(text) { [crlf, exact] } else { [exact, crlf] };
    let found = kinds.into_iter().find(|(old, _)| text.contains(old.as_str()));
    let Some((old, new)) = found else { return Err(absent(text, old)) };
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    if places.len() > 1 && !all {
        return Err(several(text, &places));
    }
    Ok((text.replace(&old, &new), places.len()))
}

fn several(text: &str, places: &[usize]) -> String {
    let line = |at: &usize| text.get(..*at).unwrap_or_default().matches('\n').count() + 1;
    let lines: Vec<String> = places.iter().take(NAMED).map(|at| line(at).to_string()).collect();
    let more = if places.len() > NAMED { ", ..." } else { "" };
    format!(
        "`old_string` occurs {} times, at lines {}{more}. Take in more of the text around the one that is meant, or set \
         `replace_all`.",
        places.len(),
        lines.join(", ")
    )
}

fn absent(text: &str, old: &str) -> String {
    let message = "`old_string` does not occur in it.";
    let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return message.into() };
    let lines = || text.lines().enumerate().take(COMPARED).map(|(at, line)| (at + 1, line));
    let same: Vec<(usize, &str)> = lines().filter(|(_, line)| line.trim() == wanted).take(3).collect();
    if !same.is_empty() {
        let hint = "These lines are like its first but for white space, or what follows them differs:";
        return format!("{message} {hint}\n{}", named(&same));
    }
    let mut like: Vec<(f64, usize, &str)> = lines()
        .map(|(at, line)| (strsim::sorensen_dice(&start(line.trim()), &start(wanted)), at, line))
        .filter(|(likeness, ..)| *likeness >= 0.5)
        .collect();
    like.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let like: Vec<(usize, &str)> = like.into_iter().take(3).map(|(_, at, line)| (at, line)).collect();
    if like.is_empty() {
        return format!("{message} Read the file again.");
    }
    format!("{message} The lines nearest to its first are:\n{}", named(&like))
}

fn named(lines: &[(usize, &str)]) -> String {
    let lines: Vec<String> = lines.iter().map(|(at, line)| format!("{at:>6}\t{}", start(line))).collect();
    lines.join("\n")
}

fn start(line: &str) -> String {
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::replaced;

    const TEXT: &str = "fn one() {\n    call();\n}\n\nfn two() {\n    call();\n}\n";

    fn refused(old: &str) -> String {
        replaced(TEXT, old, "new", false).err().unwrap_or_default()
    }

    #[test]
    fn text_that_occurs_once_is_replaced_and_nothing_else() {
        assert_eq!(replaced("a b c", "b", "x", false), Ok(("a x c".into(), 1)));
        assert_eq!(replaced(TEXT, "call", "go", true).map(|(_, count)| count), Ok(2));
        assert_eq!(replaced("aaa", "aa", "b", true), Ok(("ba".into(), 1)));
    }

    #[test]
    fn several_occurrences_are_named_by_their_lines() {
        assert!(refused("call();").starts_with("`old_string` occurs 2 times, at lines 2, 6."));
    }

    #[test]
    fn an_absent_text_names_the_lines_nearest_to_it() {
        let space = "`old_string` does not occur in it. These lines are like its first but for white space, or what follows \
                     them differs:\n     5\tfn two() {";
        assert_eq!(refused("  fn two() {\n  call()"), space);
        let near = "`old_string` does not occur in it. The lines nearest to its first are:\n     5\tfn two() {";
        assert_eq!(refused("fn tow() {"), near);
        assert_eq!(refused("something else"), "`old_string` does not occur in it. Read the file again.");
    }

    #[test]
    fn line_ends_are_kept_whichever_are_written() {
        let crlf = "one\r\ntwo\r\nthree\r\n";
        assert_eq!(replaced(crlf, "one\ntwo", "1\n2", false), Ok(("1\r\n2\r\nthree\r\n".into(), 1)));
        assert_eq!(replaced(crlf, "two", "2\nb", false), Ok(("one\r\n2\r\nb\r\nthree\r\n".into(), 1)));
        assert_eq!(replaced("a\r\nb\nc", "a\nb", "x\nb", false), Ok(("x\r\nb\nc".into(), 1)));
    }
}
