//! A session as Markdown, for issues and pull requests.
//!
//! Texts of the log are code spans on one line: there they cannot form links, mentions, HTML or table cells.

use crate::escape::visible_line;
use crate::style::{Style, counted, thousands};
use annals_inspect::format::{duration, money};
use annals_inspect::pricing::Cost;
use annals_inspect::report::{ReportData, ReportTurn};
use annals_projections::Statistics;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How many turns, errors and files are listed.
const TURNS: usize = 50;
const ERRORS: usize = 20;
const FILES: usize = 50;
/// How many characters of a text of the log are shown.
const CHARS: usize = 100;

/// What a summary is made from.
pub(super) struct Summary<'a> {
    pub data: &'a ReportData,
    pub statistics: &'a Statistics,
    pub cost: Cost,
    pub style: &'a Style,
}

impl Summary<'_> {
    /// The summary.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.head(&mut text);
        let _ = self.turns(&mut text);
        let _ = self.errors(&mut text);
        let _ = self.files(&mut text);
        let _ = self.proof(&mut text);
        text
    }

    fn head(&self, out: &mut String) -> std::fmt::Result {
        let (session, statistics) = (&self.data.session, self.statistics);
        let title = if session.title.trim().is_empty() { "untitled session".to_owned() } else { code(&session.title) };
        writeln!(out, "## {title}\n")?;
        let origin = statistics.session.origin.as_ref();
        let recorder = origin.map(|origin| format!(", recorded by {}", code(&origin.agent))).unwrap_or_default();
        writeln!(out, "- **Agent:** {} on {}{recorder}", code(&session.agent), code(&session.model))?;
        if !session.directory.is_empty() {
            writeln!(out, "- **Directory:** {}", code(&session.directory))?;
        }
        if let Some(began) = statistics.began {
            let took = duration(statistics.duration_ms());
            writeln!(out, "- **Started:** {}, {took} to the last event", self.style.exact(began))?;
        }
        let steps = counted(statistics.steps, "answer");
        let failed = match statistics.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        writeln!(out, "- **Turns:** {}, {steps}{failed}", thousands(statistics.turns))?;
        let usage = &statistics.usage.tokens;
        if statistics.usage.attempts > 0 {
            let sent = usage.input_tokens();
            let cached = format!(" ({} from a cache)", thousands(usage.cache_read));
            let cached = if usage.cache_read > 0 { cached } else { String::new() };
            let cost = self.cost.fact().map(|cost| format!(", {cost}")).unwrap_or_default();
            writeln!(out, "- **Used:** {} tokens in{cached}, {} out{cost}", thousands(sent), thousands(usage.output))?;
        }
        if statistics.compactions > 0 {
            writeln!(out, "- **Compactions:** {}", statistics.compactions)?;
        }
        writeln!(out)
    }

    fn turns(&self, out: &mut String) -> std::fmt::Result {
        let turns: Vec<&ReportTurn> = self.data.turns.iter().filter(|turn| turn.turn > 0).collect();
        if turns.is_empty() {
            return writeln!(out, "No turn.\n");
        }
        writeln!(out, "| Turn | Event | Prompt | Calls | Errors | Cost |\n| ---: | ---: | --- | --- | ---: | ---: |")?;
        for turn in turns.iter().take(TURNS) {
            let errors = errors(turn).len();
            let errors = if errors == 0 { String::new() } else { errors.to_string() };
            let cost = if turn.cost == 0 { String::new() } else { money(turn.cost) };
            let prompt = if turn.prompt.trim().is_empty() { String::new() } else { code(&turn.prompt) };
            writeln!(out, "| {} | {} | {prompt} | {} | {errors} | {cost} |", turn.turn, turn.first, calls(turn))?;
        }
        more(out, turns.len(), TURNS, "turns")
    }

    fn errors(&self, out: &mut String) -> std::fmt::Result {
        let all: Vec<String> = self.data.turns.iter().flat_map(errors).collect();
        if all.is_empty() {
            return Ok(());
        }
        writeln!(out, "### Errors\n")?;
        for line in all.iter().take(ERRORS) {
            writeln!(out, "- {line}")?;
        }
        more(out, all.len(), ERRORS, "errors")
    }

    fn files(&self, out: &mut String) -> std::fmt::Result {
        let mut files: BTreeMap<&str, (BTreeSet<&str>, u64)> = BTreeMap::new();
        for file in &self.data.files {
            let (actions, last) = files.entry(&file.path).or_default();
            actions.insert(file.action.name());
            *last = file.event.0;
        }
        if files.is_empty() {
            return Ok(());
        }
        writeln!(out, "### Files\n")?;
        for (path, (actions, last)) in files.iter().take(FILES) {
            let actions: Vec<&str> = actions.iter().copied().collect();
            writeln!(out, "- {}: {} (last at event {last})", code(path), actions.join(", "))?;
        }
        more(out, files.len(), FILES, "files")
    }

    fn proof(&self, out: &mut String) -> std::fmt::Result {
        let session = &self.data.session;
        let Some(digest) = session.head.digest else { return Ok(()) };
        let withheld = match &self.data.verified.withheld {
            Some(withheld) => format!(" {withheld}."),
            None => String::new(),
        };
        writeln!(
            out,
            "Session `{}`, head after {}: `{digest}`.{withheld} To compare: `annals verify {} --head {digest}`",
            session.session,
            counted(session.head.seq.0, "event"),
            session.session
        )
    }
}

/// The end of a list of which not all is shown.
fn more(out: &mut String, count: usize, shown: usize, what: &str) -> std::fmt::Result {
    match count.checked_sub(shown) {
        Some(left @ 1..) => writeln!(out, "\n{} more {what}.\n", thousands(left as u64)),
        _ => writeln!(out),
    }
}

/// The tools of a turn, with how often each was called.
fn calls(turn: &ReportTurn) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    turn.calls.iter().for_each(|call| *counts.entry(&call.tool).or_default() += 1);
    let named = counts.iter().map(|(tool, count)| match count {
        1 => code(tool),
        count => format!("{} {count}", code(tool)),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// The errors of a turn, one line each.
fn errors(turn: &ReportTurn) -> Vec<String> {
    let calls = turn.calls.iter().filter_map(|call| {
        let (event, failure) = (call.last.unwrap_or(call.first), call.failure.as_ref()?);
        let text = if failure.trim().is_empty() { String::new() } else { format!(": {}", code(failure)) };
        Some((event, format!("event {event}, {} {}{text}", code(&call.tool), call.status)))
    });
    let marks = turn.marks.iter().filter(|mark| mark.kind == "error");
    let marks = marks.map(|mark| (mark.seq, format!("event {}: {}", mark.seq, code(&mark.text))));
    let mut all: Vec<_> = calls.chain(marks).collect();
    all.sort();
    all.into_iter().map(|(_, line)| line).collect()
}

/// A text of the log as a code span on one line, shortened. Its backticks are fewer in a row than those around it.
fn code(text: &str) -> String {
    let line = visible_line(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    if shown.is_empty() {
        return "(empty)".to_owned();
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let blank = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    // In a table a bar ends the cell even in code; elsewhere the backslash would be shown.
    format!("{fence}{blank}{}{blank}{fence}", shown.replace('|', "¦"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_log_cannot_leave_their_code_span() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a `b` c"), "``a `b` c``");
        assert_eq!(code("```\n# x\n```"), "```` ``` # x ``` ````");
        assert_eq!(code("a | b\r\n@user"), "`a ¦ b @user`");
        assert_eq!(code("\u{202e}\u{1b}[2J"), "`<U+202E>␛[2J`");
        assert_eq!(code(" \n "), "(empty)");
        assert_eq!(code(&"x".repeat(101)), format!("`{}…`", "x".repeat(100)));
    }
}
