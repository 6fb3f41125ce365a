//! What the lower part of the screen shows of a session, besides what the user types.

use std::time::Instant;

/// What happens in a session now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveView {
    /// What is waited for, and since when.
    pub activity: Option<(String, Instant)>,
    /// About how many tokens of the answer have arrived.
    pub tokens: u64,
    /// The calls that run.
    pub calls: Vec<LiveCall>,
    /// Tasks in the background, and since when they run.
    pub tasks: Vec<(String, Instant)>,
    /// Messages that the model reads with its next request.
    pub queued: Vec<String>,
    /// How full the window is, and the cost.
    pub window: Option<String>,
    /// The model that answers.
    pub model: String,
    /// The agent that works.
    pub agent: String,
    /// Who answers permission questions.
    pub mode: String,
}

/// A call that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveCall {
    /// `bash  cargo test`
    pub about: String,
    /// When it was seen to begin.
    pub since: Instant,
    /// The last lines of its output.
    pub lines: Vec<String>,
}
