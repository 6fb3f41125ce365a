//! The line and file that a text came from, where the request itself says so: instruction files are sent with their path, and
//! tools that read files are called with it.

use serde::Serialize;
use serde_json::Value;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLine {
    /// The file, as the request names it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

/// What a call read: a file, and the line with which its result begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileRead {
    file: String,
    first: u64,
}

impl FileRead {
    /// What a call of a tool that reads a file reads.
    pub(super) fn of(tool: &str, input: &str) -> Option<Self> {
        let tool = tool.to_lowercase();
        if !["read", "view", "read_file", "view_file"].contains(&tool.as_str()) {
            return None;
        }
        let input: Value = serde_json::from_str(input).ok()?;
        let names = ["file_path", "filePath", "absolute_path", "path", "file"];
        let file = names.iter().find_map(|name| input.get(name)?.as_str())?.to_owned();
        let first = ["offset", "start_line"].iter().find_map(|name| input.get(name)?.as_u64()).unwrap_or(1).max(1);
        Some(Self { file, first })
    }
}

/// The line of a file that is at a byte of a text.
pub(super) fn line_at(text: &str, at: usize, read: Option<&FileRead>) -> Option<FileLine> {
    let before = text.get(..at)?;
    if let Some(read) = read {
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let own = text.get(start..)?.lines().next().unwrap_or_default();
        let counted = read.first + before.matches('\n').count() as u64;
        return Some(FileLine { file: read.file.clone(), line: numbered(own).unwrap_or(counted) });
    }
    let mut lines: Vec<&str> = before.split('\n').collect();
    // The line that the text is in, which begins before it.
    lines.pop();
    let (header, place) = lines.iter().enumerate().rev().find_map(|(number, line)| Some((number, of_header(line)?)))?;
    let after = lines.get(header + 1..).unwrap_or_default();
    if after.iter().any(|line| ENDS.iter().any(|end| line.starts_with(end))) {
        return None;
    }
    let skipped = match place.skips {
        Skips::Nothing => 0,
        Skips::Blank => after.iter().take_while(|line| line.trim().is_empty()).count().min(1),
        Skips::Mark(mark) => after.iter().position(|line| line.trim() == mark)? + 1,
    };
    Some(FileLine { file: place.file, line: (after.len() - skipped) as u64 + 1 })
}

/// What follows the content of a file.
const ENDS: [&str; 3] = ["--- End of Context from: ", "</INSTRUCTIONS>", "</system-reminder>"];

/// What is between a header and the first line of the file.
enum Skips {
    Nothing,
    Blank,
    Mark(&'static str),
}

struct HeaderLine {
    file: String,
    skips: Skips,
}

/// The file that a line announces: as Claude Code, Annals and OpenCode, Gemini CLI and Codex write it.
fn of_header(line: &str) -> Option<HeaderLine> {
    let line = line.trim();
    let header = |file: &str, skips| Some(HeaderLine { file: file.to_owned(), skips }).filter(|it| !it.file.is_empty());
    if let Some(rest) = line.strip_prefix("Contents of ").and_then(|rest| rest.strip_suffix(':')) {
        return header(rest.split(" (").next().unwrap_or(rest), Skips::Blank);
    }
    if let Some(file) = line.strip_prefix("Instructions from: ") {
        return header(file, Skips::Nothing);
    }
    if let Some(rest) = line.strip_prefix("--- Context from: ") {
        return header(rest.strip_suffix(" ---").unwrap_or(rest), Skips::Nothing);
    }
    let folder = line.strip_prefix("# AGENTS.md instructions for ")?;
    header(&format!("{}/AGENTS.md", folder.trim_end_matches('/')), Skips::Mark("<INSTRUCTIONS>"))
}

/// The number that a tool wrote before a line.
fn numbered(line: &str) -> Option<u64> {
    let line = line.trim_start();
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    let marked = rest.starts_with(['\t', '→', '|']) || rest.starts_with(": ");
    number.parse().ok().filter(|_| marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, wanted: &str) -> Option<(String, u64)> {
        line_at(text, text.find(wanted)?, None).map(|found| (found.file, found.line))
    }

    fn of(file: &str, line: u64) -> Option<(String, u64)> {
        Some((file.to_owned(), line))
    }

    #[test]
    fn instruction_files_are_named_as_each_agent_writes_them() {
        let claude =
            "<system-reminder>\nContents of /p/CLAUDE.md (project instructions, checked in):\n\n# Rules\n\nUse tabs.\n";
        assert_eq!(line(claude, "tabs"), of("/p/CLAUDE.md", 3));
        assert_eq!(line(claude, "# Rules"), of("/p/CLAUDE.md", 1));
        let two = "Instructions from: /a/AGENTS.md\none\n\nInstructions from: /b/AGENTS.md\ntwo\nthree";
        assert_eq!((line(two, "one"), line(two, "three")), (of("/a/AGENTS.md", 1), of("/b/AGENTS.md", 2)));
        let gemini = "--- Context from: GEMINI.md ---\nBe short.\n--- End of Context from: GEMINI.md ---\nOther";
        assert_eq!((line(gemini, "short"), line(gemini, "Other")), (of("GEMINI.md", 1), None));
        let codex = "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\nOther";
        assert_eq!((line(codex, "tabs"), line(codex, "Other")), (of("/p/AGENTS.md", 1), None));
        assert_eq!(line("Use tabs.", "tabs"), None);
    }

    #[test]
    fn results_of_reading_tools_are_lines_of_their_file() {
        let read = |input: &str| FileRead::of("Read", input).unwrap();
        let at = |text: &str, input: &str| {
            line_at(text, text.find("x").unwrap(), Some(&read(input))).map(|found| found.line)
        };
        assert_eq!(at("     7→x", r#"{"file_path":"/a"}"#), Some(7));
        assert_eq!(at("7\t# x", r#"{"file_path":"/a"}"#), Some(7));
        assert_eq!(at("00007| x", r#"{"filePath":"/a"}"#), Some(7));
        assert_eq!(at("one\ntwo x", r#"{"path":"/a","offset":10}"#), Some(11));
        assert_eq!(FileRead::of("Bash", r#"{"path":"/a"}"#), None);
    }
}
