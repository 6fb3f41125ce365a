//! The messages that the next request would carry.

use crate::layout::Sheet;
use crate::message;
use annals_core::Blobs;
use annals_projections::SessionView;
use std::io;

/// Draws the messages that the next request would carry, and counts them.
pub fn draw(view: &SessionView, blobs: &dyn Blobs, sheet: &mut Sheet<'_>) -> io::Result<u64> {
    let mut count = 0;
    for message in view.history.selected() {
        let mark = if view.history.is_pinned(message.seq) { "pinned" } else { "" };
        message::draw(message, mark, sheet, blobs)?;
        count += 1;
    }
    Ok(count)
}
