//! The keys.

use super::super::layout::TuiLayout;
use super::bold;
use ratatui::Frame;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Keys and what they do; a key without a meaning is a heading. `docs/tui.md` has the same table.
const KEYS: [(&str, &str); 21] = [
    ("In a session", ""),
    ("← →", "the cut before, the cut after"),
    ("[ ]", "the turn before, the turn after"),
    ("e E", "the next error, the previous error"),
    ("Home End", "the first event, the last event"),
    ("g", "go to an event: 12, turn:3, -1 from the end"),
    ("m", "mark this cut: Changes counts from it"),
    ("Tab 1-9", "the next tab, tab 1 to 9"),
    ("↑ ↓ PgUp PgDn", "scroll the tab; < and > its start and end"),
    ("/ n N", "find a text in the tab; next match, previous match"),
    ("f", "whole texts in Seen, or their beginnings"),
    ("Esc", "clear the text to find, then back to the list"),
    ("", ""),
    ("In the list", ""),
    ("↑ ↓ PgUp PgDn", "select a session"),
    ("Enter", "open it"),
    ("/", "filter by words of title, project, agent, model or id"),
    ("Tab", "the sessions of this project, or all"),
    ("", ""),
    ("? q", "this help, quit"),
    ("Ctrl-L", "draw the screen again"),
];

pub(super) fn draw(frame: &mut Frame<'_>, layout: &TuiLayout) {
    let line = |(key, meaning): &(&'static str, &'static str)| match meaning.is_empty() {
        true => Line::styled(*key, bold()),
        false => Line::from(vec![Span::styled(format!("  {key:<14}  "), bold()), Span::raw(*meaning)]),
    };
    super::head(frame, layout.head, "Keys of annals tui", "");
    frame.render_widget(Paragraph::new(KEYS.iter().map(line).collect::<Vec<_>>()), layout.body);
}
