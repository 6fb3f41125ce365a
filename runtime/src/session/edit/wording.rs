//! The text of an event, read and replaced.

use annals_core::event::{
    ContextEvent, EpochStarted, InputAdmitted, InputEvent, Part, ToolEvent, ToolOutcome, ToolSettled,
};
use annals_core::text::Texts;
use annals_core::{Blobs, Event, Text};

/// Every text of an event, whole: what is appended again is kept under the key of the fork.
pub(super) fn whole(event: &mut Event, blobs: &dyn Blobs) {
    event.texts(&mut |text| *text = Text::from(text.resolve(blobs).into_owned()));
}

/// The text that is edited.
pub(super) fn read(event: &Event, blobs: &dyn Blobs) -> String {
    match event {
        Event::Input(InputEvent::Admitted(InputAdmitted { text, .. })) => text.resolve(blobs).into_owned(),
        Event::Tool(ToolEvent::Settled(settled)) => match (&settled.error, settled.outcome) {
            (Some(error), ToolOutcome::Failed | ToolOutcome::Interrupted | ToolOutcome::Exhausted) => {
                error.resolve(blobs).into_owned()
            }
            _ => settled.output.resolve(blobs).into_owned(),
        },
        Event::Context(ContextEvent::EpochStarted(started)) => parts(started, blobs).join("\n\n"),
        Event::Context(ContextEvent::Admitted(admitted)) => admitted.text.resolve(blobs).into_owned(),
        _ => String::new(),
    }
}

fn parts(started: &EpochStarted, blobs: &dyn Blobs) -> Vec<String> {
    started.parts.iter().map(|part| part.text.resolve(blobs).into_owned()).collect()
}

/// Puts the other wording in the place of the text.
pub(super) fn write(event: &mut Event, text: &str, blobs: &dyn Blobs) {
    match event {
        Event::Input(InputEvent::Admitted(admitted)) => admitted.text = text.into(),
        Event::Tool(ToolEvent::Settled(settled)) => write_result(settled, text),
        Event::Context(ContextEvent::EpochStarted(started)) => {
            let recorded = parts(started, blobs);
            started.parts = edited_parts(&started.parts, &recorded, text);
        }
        Event::Context(ContextEvent::Admitted(admitted)) => admitted.text = text.into(),
        _ => {}
    }
}

/// What does not fit the new text any more goes with the old one.
fn write_result(settled: &mut ToolSettled, text: &str) {
    let failed = settled.outcome != ToolOutcome::Completed && settled.error.is_some();
    match failed {
        true => settled.error = Some(text.into()),
        false => settled.output = text.into(),
    }
    (settled.truncated, settled.lossy) = (false, false);
    (settled.structured, settled.hosted_result) = (None, None);
    settled.paths.clear();
}

/// The parts of an edited system prompt: unchanged ones at both ends stay, the rest is one part of the first source that differs.
fn edited_parts(parts: &[Part], recorded: &[String], text: &str) -> Vec<Part> {
    const BETWEEN: &str = "\n\n";
    let (mut rest, mut first, mut last) = (text, 0, parts.len());
    while let Some(known) = recorded.get(first).filter(|_| first + 1 < last)
        && let Some(after) = rest.strip_prefix(known.as_str()).and_then(|rest| rest.strip_prefix(BETWEEN))
    {
        (rest, first) = (after, first + 1);
    }
    while first + 1 < last
        && let Some(known) = recorded.get(last - 1)
        && let Some(before) = rest.strip_suffix(known.as_str()).and_then(|rest| rest.strip_suffix(BETWEEN))
    {
        (rest, last) = (before, last - 1);
    }
    let edited = parts.get(first).map(|part| Part { key: part.key.clone(), text: rest.into() });
    let (before, after) = (parts.get(..first).unwrap_or_default(), parts.get(last..).unwrap_or_default());
    before.iter().cloned().chain(edited).chain(after.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::edited_parts;
    use annals_core::Key;
    use annals_core::event::Part;

    fn parts(texts: &[&str]) -> (Vec<Part>, Vec<String>) {
        let key = |at: usize| -> Key { format!("test/{at}").parse().expect("a key") };
        let parts = texts.iter().enumerate().map(|(at, text)| Part { key: key(at), text: (*text).into() });
        (parts.collect(), texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn only_the_changed_part_of_a_system_prompt_is_replaced() {
        let (before, texts) = parts(&["one", "two\n\nlines", "three"]);
        let shown = |text: &str| -> Vec<String> {
            let after = edited_parts(&before, &texts, text);
            after.iter().map(|part| format!("{}: {}", part.key, part.text.inline().unwrap_or_default())).collect()
        };
        assert_eq!(shown("one\n\nother\n\nthree"), ["test/0: one", "test/1: other", "test/2: three"]);
        assert_eq!(shown("one\n\ntwo\n\nlines\n\nnew"), ["test/0: one", "test/1: two\n\nlines", "test/2: new"]);
        assert_eq!(shown("all new"), ["test/0: all new"]);
        assert_eq!(shown("1\n\n2\n\nthree"), ["test/0: 1\n\n2", "test/2: three"]);
    }
}
