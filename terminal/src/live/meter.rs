//! What runs now, on a line below everything else: on a terminal only, and taken away before anything is written.

use super::chat::Printer;
use crate::escape::visible_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How often the line moves.
const TICK: Duration = Duration::from_millis(250);

/// The line. Where stderr is not a terminal it is never shown.
#[derive(Default)]
pub(super) struct Meter {
    drawn: Option<ProgressBar>,
    /// Above a line that the user edits.
    above: Option<Printer>,
}

impl Meter {
    /// The line above one that the user edits.
    pub(super) fn above(printer: Printer) -> Self {
        Self { drawn: None, above: Some(printer) }
    }

    /// Draws the line: what runs, since when, and what it showed last.
    pub(super) fn draw(&mut self, what: &str, since: Instant) {
        if let Some(above) = &self.above {
            return above.status(Some((what.to_owned(), since)));
        }
        self.clear();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if bar.is_hidden() {
            return;
        }
        // The template is ours and known to be sound; without it the line shows itself plainly.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg:.dim}") {
            bar.set_style(style);
        }
        let bar = bar.with_elapsed(since.elapsed());
        bar.set_message(visible_line(what));
        bar.enable_steady_tick(TICK);
        self.drawn = Some(bar);
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if let Some(above) = &self.above {
            return above.status(None);
        }
        if let Some(bar) = self.drawn.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.clear();
    }
}
