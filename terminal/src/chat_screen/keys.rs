//! What the terminal sends, as events of the screen.

use super::state::ScreenEvent;
use crate::keys::KeyReader;
use crossterm::event::Event;
use std::sync::mpsc::Sender;

/// Sends keys, pasted texts and sizes to the screen until the reader is dropped.
pub(super) fn begin(events: Sender<ScreenEvent>) -> KeyReader {
    KeyReader::begin(move |event| {
        let event = match event {
            Ok(Event::Key(key)) => ScreenEvent::Key(key),
            Ok(Event::Paste(text)) => ScreenEvent::Paste(text),
            Ok(Event::Resize(width, height)) => ScreenEvent::Resized(width, height),
            Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => return true,
            Err(_) => ScreenEvent::Broken,
        };
        events.send(event).is_ok()
    })
}
