//! A picker of sessions in the terminal: type to filter, look at a preview, show one.

mod preview;
mod screen;
mod state;
#[cfg(test)]
mod tests;

pub use state::{PickerAction, PickerRow, PickerState};

use crate::error::TerminalError;
use crate::style::Style;
use annals_core::SessionId;
use annals_inspect::reader::Reader;
use annals_inspect::sessions::SessionOverview;
use crossterm::event::{Event, poll, read};
use ratatui::DefaultTerminal;
use screen::PickerLayout;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// How long no key may come before the preview of the selected session is read.
const QUIET: Duration = Duration::from_millis(40);

/// A picker over the sessions of a store.
pub struct Picker {
    /// The list and the filter.
    pub state: PickerState,
    sessions: BTreeMap<SessionId, SessionOverview>,
    style: Style,
}

impl Picker {
    /// A picker of these sessions, in this order; `here` is the root of the current project.
    pub fn new(sessions: Vec<SessionOverview>, here: &std::path::Path, style: &Style) -> Self {
        let rows = sessions.iter().map(|session| PickerRow::of(session, here, style)).collect();
        let sessions = sessions.into_iter().map(|session| (session.id, session)).collect();
        Self { state: PickerState::new(rows), sessions, style: style.clone() }
    }

    /// Shows the list until a key asks for something else. The terminal is restored before this returns.
    ///
    /// # Errors
    /// When the terminal refuses, or the log cannot be read.
    pub async fn pick(&mut self, reader: &Reader) -> Result<PickerAction, TerminalError> {
        let mut terminal = RestoredTerminal(ManuallyDrop::new(ratatui::try_init()?));
        let mut preview: (Option<SessionId>, Vec<String>) = (None, Vec::new());
        loop {
            let area = terminal.0.draw(|frame| screen::draw(frame, &self.state, &preview.1, self.style.colour))?.area;
            let selected = self.state.selected().map(|row| row.id);
            if preview.0 != selected && !poll(QUIET)? {
                preview = (selected, self.preview(reader, selected, PickerLayout::of(area)).await?);
                continue;
            }
            let page = usize::from(PickerLayout::of(area).list.height);
            match read()? {
                Event::Key(key) => match self.state.press(key, page) {
                    PickerAction::Stay => {}
                    action => return Ok(action),
                },
                Event::Resize(..) => preview.0 = None,
                _ => {}
            }
        }
    }

    async fn preview(
        &self,
        reader: &Reader,
        selected: Option<SessionId>,
        layout: PickerLayout,
    ) -> Result<Vec<String>, TerminalError> {
        let Some(session) = selected.and_then(|id| self.sessions.get(&id)) else { return Ok(Vec::new()) };
        let size = (usize::from(layout.preview.width), usize::from(layout.preview.height.saturating_sub(1)));
        match preview::preview(reader, session, &self.style, size).await {
            Ok(lines) => Ok(lines),
            // Damage is shown in its place; the other sessions can still be picked.
            Err(TerminalError::Host(error)) => Ok(vec![error.to_string()]),
            Err(error) => Err(error),
        }
    }
}

/// A terminal that is restored when this is dropped.
pub struct RestoredTerminal(pub ManuallyDrop<DefaultTerminal>);

impl Drop for RestoredTerminal {
    fn drop(&mut self) {
        // If that fails, the error cannot be shown: the terminal may be gone. Its own `drop` would try to, and end the process.
        drop(self.0.show_cursor());
        drop(ratatui::try_restore());
    }
}
