//! What a host says to its user besides its answers.

use std::fmt;

/// Receives what a host says besides its answers: each call is one sentence. It may quote a file or a model, and has to be escaped
/// where it is shown on a terminal.
pub trait HostRemarks: fmt::Debug + Send + Sync {
    /// Something that is good to know.
    fn remark(&self, text: &str);

    /// Something that is wrong, although the work continues.
    fn warn(&self, text: &str);

    /// Work begins that may take long; it is over when what is returned is dropped.
    fn progress(&self, work: &'static str) -> Box<dyn WorkProgress> {
        let _ = work;
        Box::new(NoProgress)
    }
}

/// How far some work is.
pub trait WorkProgress: Send + Sync {
    /// So much is done, of so much.
    fn done(&self, done: u64, total: Option<u64>);

    /// So many of something were worked on: `1,204 events`.
    fn counted(&self, count: u64, noun: &str);
}

/// Progress that is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl WorkProgress for NoProgress {
    fn done(&self, _: u64, _: Option<u64>) {}

    fn counted(&self, _: u64, _: &str) {}
}

/// Remarks for the log of the process (`tracing`), where no user looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoggedRemarks;

impl HostRemarks for LoggedRemarks {
    fn remark(&self, text: &str) {
        tracing::info!("{text}");
    }

    fn warn(&self, text: &str) {
        tracing::warn!("{text}");
    }
}
