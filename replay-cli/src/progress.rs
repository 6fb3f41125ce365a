//! Progress of long work, on stderr, when a person watches.

use crate::escape::visible_line;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar that shows itself only if somebody watches and the work is long.
#[derive(Clone, Debug)]
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar for `work`; `shown` says whether anybody watches.
    pub fn new(shown: bool, work: &'static str) -> Self {
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_message(work);
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar }
    }

    /// So much is done, in any unit.
    pub fn tell(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total.filter(|total| Some(*total) != self.bar.length()) {
            self.bar.set_length(total);
            // The template is ours and known to be sound; without it the bar shows itself plainly.
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}") {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(done);
    }

    /// What is being worked on.
    pub fn name(&self, what: &str) {
        self.bar.set_message(visible_line(what));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
