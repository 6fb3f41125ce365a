//! Texts in the user's place: what the user wrote, and what the agent adds around it.

use super::compaction::continues;
use super::conversation::{Unit, WireItem};

/// Names of elements in which agents put what they add before or behind a prompt in the same text.
const ADDED: [&str; 11] = [
    "system-reminder",
    "system_reminder",
    "environment_details",
    "environment_context",
    "environment_info",
    "workspace_info",
    "reminder",
    "reminderInstructions",
    "additional_data",
    "session_context",
    "current_datetime",
];

/// How texts begin that are all the agent's.
const OPENINGS: [&str; 9] = [
    "This is the Gemini CLI. We are setting up the context",
    "This is the Qwen Code. We are setting up the context",
    "[Request interrupted by user",
    "[Image: source: ",
    "[Image: original ",
    "<image name=[Image #",
    "Called the Read tool with the following input:",
    "Called the list tool with the following input:",
    "Attached media from tool result:",
];

/// Texts that are all the agent's.
const ALONE: [&str; 5] = [
    "</image>",
    "Image read successfully",
    "PDF read successfully",
    "Attached image(s) from tool result:",
    "(attached media from previous tool call)",
];

/// What agents write before and behind a prompt that was sent while the model worked; behind it up to the end.
const FRAMES: [(&str, &str); 3] = [
    ("The user sent a new message while you were working:\n", "\n\nThis is how Claude Code surfaces messages"),
    ("The user sent a new message while you were working:\n", "\n\nIMPORTANT: "),
    ("The user sent the following message:\n", "\n\nPlease address this message and continue"),
];

/// Adds a text of a message in the user's place: reminders are parts of their own. `context` names a text that is all the agent's.
pub(super) fn push(unit: &mut Unit, pointer: &str, text: String, context: impl Fn(&str) -> Option<&'static str>) {
    let bare = text.trim();
    let is_all = OPENINGS.iter().any(|start| bare.starts_with(start)) || ALONE.contains(&bare) || continues(bare);
    if let Some(key) = context(&text).or(is_all.then_some("agent/context")) {
        unit.push(pointer, WireItem::Context { key, text });
        return;
    }
    let (before, prompt, behind) = framed(&text).unwrap_or_else(|| split(&text));
    let added = |text: &str| WireItem::Context { key: "agent/reminder", text: text.to_owned() };
    if before.is_empty() && behind.is_empty() {
        unit.push(pointer, WireItem::Text(text));
        return;
    }
    for item in [(before, added(before)), (prompt, WireItem::Text(prompt.to_owned())), (behind, added(behind))] {
        if !item.0.trim().is_empty() {
            unit.push(pointer, item.1);
        }
    }
}

/// A prompt that was sent while the model worked, with the words around it.
fn framed(text: &str) -> Option<(&str, &str, &str)> {
    FRAMES.iter().find_map(|(before, behind)| {
        let from = text.len() - text.trim_start().strip_prefix(before)?.len();
        let to = text.rfind(behind).filter(|to| *to >= from)?;
        Some((text.get(..from)?, text.get(from..to)?, text.get(to..)?))
    })
}

/// What the agent added before a prompt, the prompt, and what was added behind it.
fn split(text: &str) -> (&str, &str, &str) {
    let mut from = 0;
    while let Some(length) = leading(text.get(from..).unwrap_or_default()) {
        from += length;
    }
    let mut to = text.len();
    while let Some(start) = text.get(from..to).and_then(trailing) {
        to = from + start;
    }
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    (part(0, from), part(from, to), part(to, text.len()))
}

/// The length of the element with which a text begins, with the blank space around it.
fn leading(text: &str) -> Option<usize> {
    let start = text.trim_start();
    let name = ADDED.into_iter().find(|name| {
        start
            .strip_prefix('<')
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(['>', ' ']))
    })?;
    let closing = format!("</{name}>");
    let end = start.find(&closing)? + closing.len();
    let rest = start.get(end..)?.trim_start();
    Some(text.len() - rest.len())
}

/// Where the element begins with which a text ends, on a line of its own.
fn trailing(text: &str) -> Option<usize> {
    let end = text.trim_end();
    let name = ADDED.into_iter().find(|name| {
        end.strip_suffix('>').and_then(|rest| rest.strip_suffix(name)).is_some_and(|rest| rest.ends_with("</"))
    })?;
    let start = end.rfind(&format!("<{name}>")).or_else(|| end.rfind(&format!("<{name} ")))?;
    let before = end.get(..start)?;
    (before.is_empty() || before.ends_with(['\n', ' '])).then_some(before.trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::Speaker;

    #[test]
    fn reminders_are_split_from_the_prompt() {
        let cases = [
            ("plain", ["", "plain", ""]),
            (
                "<system-reminder>a</system-reminder>\n\nprompt",
                ["<system-reminder>a</system-reminder>\n\n", "prompt", ""],
            ),
            (
                "<reminder>a</reminder> <reminder>b</reminder>p",
                ["<reminder>a</reminder> <reminder>b</reminder>", "p", ""],
            ),
            (
                "p\n<environment_details>x</environment_details>\n",
                ["", "p", "\n<environment_details>x</environment_details>\n"],
            ),
            ("<system-reminder>a</system-reminder>", ["<system-reminder>a</system-reminder>", "", ""]),
            ("<system-reminder>never closed", ["", "<system-reminder>never closed", ""]),
            ("what is <system-reminder>?", ["", "what is <system-reminder>?", ""]),
        ];
        for (text, [before, prompt, behind]) in cases {
            assert_eq!(split(text), (before, prompt, behind), "{text}");
        }
        let sent =
            "The user sent a new message while you were working:\nand b\n\nThis is how Claude Code surfaces messages.";
        assert_eq!(framed(sent).unwrap().1, "and b");
        let mut unit = Unit::new(Speaker::User);
        push(&mut unit, "/0", "[Request interrupted by user]".into(), |_| None);
        push(&mut unit, "/0", "what is [Request interrupted by user]?".into(), |_| None);
        assert!(matches!(&unit.items[..], [WireItem::Context { .. }, WireItem::Text(_)]), "{unit:?}");
        let mut unit = Unit::new(Speaker::User);
        push(&mut unit, "/0", "<reminder>a</reminder>\np".into(), |_| None);
        let added = WireItem::Context { key: "agent/reminder", text: "<reminder>a</reminder>\n".into() };
        assert_eq!(unit.items, [added, WireItem::Text("p".into())]);
    }
}
