//! Permission questions between a call and the user.

use crate::escape::exact;
use crate::layout::{clip, plain, wrap};
use crate::style::{Emphasis, counted};
use annals_inspect::recorded_path::below;
use annals_runtime::permission::PermissionQuestion;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// How many lines of a change are shown at first.
const SHOWN: usize = 40;

/// How many lines of a command are shown at first if it has more, and how many of them are its end.
const SUBJECT: usize = 60;
const SUBJECT_END: usize = 20;

/// How many characters of one word are shown in one line.
const LONG: usize = 1_000;

/// How long to search for the best way to show a change. The user waits for the question, and the first way found is
/// correct too.
const THOUGHT: Duration = Duration::from_millis(500);

/// Whether a typed line asks to see all of what a question is about: `d` or `details`.
pub(super) fn asks_for_details(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "d" | "details")
}

/// What a question is about, in lines of about `width` columns. Commands and resources are complete and wrapped, unless that takes
/// more lines than anyone reads: then their beginning and their end are shown, with how much is between. Of a change the first
/// lines are shown, each clipped, and how much is not shown.
pub(super) fn brief(question: &PermissionQuestion, directory: &str, width: usize) -> Vec<(Emphasis, String)> {
    let all = described(question, directory);
    let mut lines = wrapped(all.subject, width);
    if lines.len() > SUBJECT {
        let hidden: Vec<_> = lines.splice(SUBJECT - SUBJECT_END..lines.len() - SUBJECT_END, []).collect();
        let characters: usize = hidden.iter().map(|(_, line)| line.chars().count()).sum();
        let (left, characters) = (counted(hidden.len() as u64, "line"), counted(characters as u64, "character"));
        let text = format!("… {left} with {characters} not shown here; d shows all");
        lines.insert(SUBJECT - SUBJECT_END, (Emphasis::Warn, text));
    }
    let more = all.change.len().saturating_sub(SHOWN);
    let (mut cut, mut characters) = (0_u64, 0_usize);
    lines.extend(all.change.into_iter().take(SHOWN).map(|(emphasis, text)| {
        let text = plain(&exact(&text));
        let line = clip(&text, width);
        if line != text {
            cut += 1;
            // The clipped line ends in `…`.
            characters += (text.chars().count() + 1).saturating_sub(line.chars().count());
        }
        (emphasis, line)
    }));
    let mut hidden = Vec::new();
    hidden.extend((more > 0).then(|| counted(more as u64, "more line")));
    let characters = counted(characters as u64, "character");
    hidden.extend((cut > 0).then(|| format!("{characters} of {}", counted(cut, "long line"))));
    if !hidden.is_empty() {
        lines.push((Emphasis::Warn, format!("… {} not shown; d shows all", hidden.join(", "))));
    }
    lines
}

/// The same with everything.
pub(super) fn whole(question: &PermissionQuestion, directory: &str, width: usize) -> Vec<(Emphasis, String)> {
    let all = described(question, directory);
    wrapped(all.subject.into_iter().chain(all.change), width)
}

/// Lines as they are shown: what is easy to overlook by number, words that fill several lines broken.
fn wrapped(lines: impl IntoIterator<Item = (Emphasis, String)>, width: usize) -> Vec<(Emphasis, String)> {
    let lines = lines.into_iter().flat_map(|(emphasis, text)| {
        let lines = wrap(&plain(&exact(&text)), width).into_iter().flat_map(move |line| broken(line, width));
        lines.map(move |line| (emphasis, line))
    });
    lines.collect()
}

/// A line in pieces of `width` characters if one word makes it longer than anyone reads.
fn broken(line: String, width: usize) -> Vec<String> {
    if line.chars().count() <= LONG {
        return vec![line];
    }
    let characters: Vec<char> = line.chars().collect();
    characters.chunks(width.max(8)).map(|piece| piece.iter().collect()).collect()
}

/// What a question is about, line by line.
struct QuestionText {
    /// The command, or the resources.
    subject: Vec<(Emphasis, String)>,
    /// The change, or else the input of the call.
    change: Vec<(Emphasis, String)>,
}

fn described(question: &PermissionQuestion, directory: &str) -> QuestionText {
    let input: Value = serde_json::from_str(&question.input).unwrap_or(Value::Null);
    let field = |name: &str| input.get(name).and_then(Value::as_str);
    if let Some(command) = field("command") {
        // Where it would run, if that is what is asked.
        let of_place = question.resources.iter().filter(|_| question.action != question.tool);
        let mut subject: Vec<(Emphasis, String)> = of_place.map(|place| (Emphasis::Strong, place.clone())).collect();
        // A carriage return at the end of a line is part of the command.
        subject.extend(
            command.trim_end_matches('\n').split('\n').map(|line| (Emphasis::Strong, exact(line).into_owned())),
        );
        let change = field("description").map(|why| (Emphasis::Dim, why.to_owned())).into_iter().collect();
        return QuestionText { subject, change };
    }
    let named = question.resources.iter().filter(|resource| *resource != "*");
    let subject =
        named.map(|resource| (Emphasis::Strong, below(resource, directory).unwrap_or(resource).to_owned())).collect();
    let mut change = change(&input);
    if change.is_empty() && !question.input.is_empty() {
        // Any other tool: its input, unchanged.
        change.push((Emphasis::Dim, question.input.clone()));
    }
    QuestionText { subject, change }
}

/// What an edit would change, or what would be written.
fn change(input: &Value) -> Vec<(Emphasis, String)> {
    let field = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str());
    if let Some(patch) = field(&["patch", "patchText"]) {
        return patch.lines().map(in_patch).collect();
    }
    if let Some(edits) = input.get("edits").and_then(Value::as_array) {
        return edits.iter().flat_map(change).collect();
    }
    let (old, new) = match (field(&["old", "old_string", "oldString"]), field(&["new", "new_string", "newString"])) {
        (Some(old), Some(new)) => (old, new),
        _ => match field(&["content"]) {
            Some(content) => ("", content),
            None => return Vec::new(),
        },
    };
    let mut differ = TextDiff::configure();
    let diff = differ.timeout(THOUGHT).diff_lines(old, new);
    let lines = diff.iter_all_changes().map(|change| {
        let text = change.value().trim_end_matches('\n');
        match change.tag() {
            ChangeTag::Insert => (Emphasis::Good, format!("+ {text}")),
            ChangeTag::Delete => (Emphasis::Bad, format!("- {text}")),
            ChangeTag::Equal => (Emphasis::Dim, format!("  {text}")),
        }
    });
    lines.collect()
}

/// A line of a patch.
fn in_patch(line: &str) -> (Emphasis, String) {
    let emphasis = match line.as_bytes().first() {
        Some(b'+') => Emphasis::Good,
        Some(b'-') => Emphasis::Bad,
        Some(b'*') => Emphasis::Strong,
        _ => Emphasis::Dim,
    };
    (emphasis, line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(action: &str, input: &Value) -> PermissionQuestion {
        PermissionQuestion {
            session: annals_core::SessionId::from_parts(1, 1),
            permission: "p".into(),
            call: "c".into(),
            agent: "build".into(),
            tool: "bash".into(),
            input: input.to_string(),
            action: action.into(),
            resources: vec!["/etc".into()],
        }
    }

    #[test]
    fn nothing_of_a_command_is_asked_for_unseen() {
        let command = format!("ls {}; rm -r .", "a ".repeat(60));
        let lines = brief(&asked("bash", &serde_json::json!({"command": command})), "/project", 40);
        assert!(lines.len() > 2 && lines.iter().all(|(emphasis, _)| *emphasis == Emphasis::Strong), "{lines:?}");
        let words: Vec<&str> = lines.iter().flat_map(|(_, line)| line.split_whitespace()).collect();
        assert_eq!(words, command.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_large_change_is_shown_by_its_first_lines_with_how_many_more_there_are() {
        let lines =
            |seed: u64| (0..20_000_u64).map(|n| format!("{}\n", (n * 7_919 + seed) * 104_729 % 1_000)).collect();
        let (old, new): (String, String) = (lines(1), lines(2));
        let asked = asked("edit", &serde_json::json!({"old_string": old, "new_string": new}));
        let shown = brief(&asked, "/project", 40);
        let lines: Vec<&str> = shown.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!((lines.len(), lines[0]), (SHOWN + 2, "/etc"));
        let more = whole(&asked, "/project", 40).len() - SHOWN - 1;
        assert_eq!(lines[SHOWN + 1], format!("… {} not shown; d shows all", counted(more as u64, "more line")));
    }

    #[test]
    fn a_long_line_of_a_change_is_clipped_and_shown_whole_on_request() {
        let asked = asked("write", &serde_json::json!({"content": "word ".repeat(20)}));
        let shown = brief(&asked, "/project", 40);
        assert_eq!(
            shown.last().map(|(_, line)| line.as_str()),
            Some("… 63 characters of 1 long line not shown; d shows all")
        );
        let all: Vec<String> = whole(&asked, "/project", 40).into_iter().map(|(_, line)| line).collect();
        assert_eq!(all.join(" ").matches("word").count(), 20, "{all:?}");
        assert!(asks_for_details(" D ") && !asks_for_details("y"));
    }

    #[test]
    fn a_command_longer_than_anyone_reads_shows_its_beginning_its_end_and_how_much_is_between() {
        let middle: String = (0..200).map(|n| format!("echo {n}\n")).collect();
        let command = format!("first\n{middle}rm -rf last\n");
        let asked = asked("bash", &serde_json::json!({"command": command}));
        let lines: Vec<String> = brief(&asked, "/project", 40).into_iter().map(|(_, line)| line).collect();
        assert_eq!((lines.len(), lines[0].as_str(), lines[SUBJECT].as_str()), (SUBJECT + 1, "first", "rm -rf last"));
        assert_eq!(lines[40], "… 142 lines with 1,075 characters not shown here; d shows all");
        let all: Vec<String> = whole(&asked, "/project", 40).into_iter().map(|(_, line)| line).collect();
        assert_eq!(all.join("\n") + "\n", command);
    }

    #[test]
    fn one_endless_word_does_not_fill_the_screen() {
        let asked =
            asked("bash", &serde_json::json!({"command": format!("echo {} | base64 -d | sh", "QUJD".repeat(50_000))}));
        let lines = brief(&asked, "/project", 40);
        assert_eq!(lines.len(), SUBJECT + 1, "{lines:?}");
        assert!(lines.last().is_some_and(|(_, line)| line.ends_with("| base64 -d | sh")), "{lines:?}");
    }

    #[test]
    fn what_is_invisible_or_reorders_is_shown_by_its_code() {
        let shown = |input: &Value| -> Vec<String> {
            brief(&asked("bash", input), "/project", 60).into_iter().map(|(_, line)| line).collect()
        };
        let command = "rm\u{a0}-rf a\u{200b}b # \u{202e}txt\u{2066}\r\nls\r";
        assert_eq!(
            shown(&serde_json::json!({"command": command})),
            ["rm<U+00A0>-rf a<U+200B>b # <U+202E>txt<U+2066>␍", "ls␍"]
        );
        let edit = serde_json::json!({"old": "a", "new": "a\u{2067}\u{e0041}", "path": "x"});
        assert_eq!(shown(&edit), ["/etc", "- a", "+ a<U+2067><U+E0041>"]);
        let mut named = asked("edit", &serde_json::json!({"path": "x"}));
        named.resources = vec!["src/\u{202e}sr.niam".into()];
        let lines = brief(&named, "/project", 60);
        assert_eq!(lines[0], (Emphasis::Strong, "src/<U+202E>sr.niam".to_owned()));
        assert_eq!(lines[1].1, r#"{"path":"x"}"#);
    }

    #[test]
    fn a_question_about_a_place_names_it_beside_the_command() {
        let lines = brief(&asked("external_directory", &serde_json::json!({"command": "ls"})), "/project", 40);
        assert_eq!(lines, [(Emphasis::Strong, "/etc".to_owned()), (Emphasis::Strong, "ls".to_owned())]);
    }
}
