//! Progress of long work, on stderr, when that is a terminal.

use crate::escape::visible_line;
use crate::style::thousands;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bar that appears only on a terminal and for long work.
#[derive(Clone, Debug)]
pub struct Bar {
    bar: ProgressBar,
    counted: Option<SessionCount>,
}

/// How many pieces of work there are.
#[derive(Clone, Debug)]
struct SessionCount {
    done: Arc<AtomicU64>,
    total: u64,
    named: bool,
}

impl Bar {
    /// A bar for `work`; `shown`: whether there is a terminal.
    pub fn new(shown: bool, work: &'static str) -> Self {
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        // The templates are ours and known to be sound; without them a bar shows itself plainly. They cut a message at the end of
        // the line: a second line would stay on the screen.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message(work);
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, counted: None }
    }

    /// The same for several pieces of work: each that is named counts, and the count is shown. `named` says whether names are
    /// shown, too.
    #[must_use]
    pub fn counting(self, total: u64, named: bool) -> Self {
        Self { counted: Some(SessionCount { done: Arc::default(), total, named }), ..self }
    }

    /// So much is done, in any unit.
    pub fn update(&self, done: u64, total: Option<u64>) {
        // Of many, how far one is says nothing.
        if self.counted.as_ref().is_some_and(|counted| counted.total > 1) {
            return;
        }
        if let Some(total) = total.filter(|total| Some(*total) != self.bar.length()) {
            self.bar.set_length(total);
            if let Ok(style) = ProgressStyle::with_template("{msg:24!} {wide_bar} {percent:>3}% {eta}") {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(done);
    }

    /// What is being worked on.
    pub fn name(&self, what: &str) {
        let what = visible_line(what);
        let Some(counted) = &self.counted else { return self.bar.set_message(what) };
        let done = counted.done.fetch_add(1, Ordering::Relaxed) + 1;
        let (total, what) = (counted.total.max(done), if counted.named { what.as_str() } else { "" });
        self.bar.set_message(match total {
            1 => what.to_owned(),
            total => format!("{} of {}  {what}", thousands(done), thousands(total)),
        });
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
