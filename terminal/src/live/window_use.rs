//! How full the window of the model is, and what the session has cost: for a line of the screen.

use crate::style::thousands;
use annals_core::event::{Finish, ModelProfile, StepEnded, Usage};
use annals_inspect::pricing::Cost;
use annals_projections::{Body, SessionView};

/// What the last answer said of the window, and the cost so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowUse {
    /// The window in tokens; 0 when it is not known.
    window: u64,
    /// Tokens that the last request and its answer took.
    used: u64,
    /// In nano-dollars.
    cost: u64,
}

impl WindowUse {
    /// That of a session.
    pub(super) fn of(view: &SessionView) -> Self {
        let profile = view.profiles.model.get(&view.session.model).and_then(|hash| view.profiles.models.get(hash));
        let answered = view.history.selected().filter_map(|message| match &message.body {
            Body::Assistant(answer) => answer.usage.as_ref(),
            _ => None,
        });
        let used = answered.last().map(tokens).unwrap_or_default();
        Self { window: profile.map(|profile| profile.context).unwrap_or_default(), used, cost: view.usage.cost }
    }

    /// The profile of the model that answers was recorded.
    pub(super) fn model(&mut self, profile: &ModelProfile) {
        self.window = profile.context;
    }

    pub(super) fn answered(&mut self, ended: &StepEnded) {
        self.cost = self.cost.saturating_add(ended.cost);
        if let (Some(usage), true) = (&ended.usage, ended.finish != Finish::Error) {
            self.used = tokens(usage);
        }
    }

    /// `12 % of 128,000 tokens · $0.03`; `None` before the first answer.
    pub(super) fn in_brief(&self) -> Option<String> {
        let filled = match (self.used, self.window) {
            (0, _) => return None,
            (used, 0) => format!("{} tokens", thousands(used)),
            (used, window) => {
                let percent = used.saturating_mul(100).checked_div(window).unwrap_or_default();
                format!("{percent} % of {} tokens", thousands(window))
            }
        };
        let cost = if self.cost > 0 { Cost::of_log(self.cost, false).fact() } else { None };
        Some([Some(filled), cost].into_iter().flatten().collect::<Vec<_>>().join(" · "))
    }
}

fn tokens(usage: &Usage) -> u64 {
    let parts = [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning];
    parts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::WindowUse;

    #[test]
    fn the_window_and_the_cost_are_told_once_there_is_an_answer() {
        let brief = |window, used, cost| WindowUse { window, used, cost }.in_brief();
        assert_eq!(brief(128_000, 0, 0), None);
        assert_eq!(brief(128_000, 16_000, 0).as_deref(), Some("12 % of 128,000 tokens"));
        assert_eq!(brief(0, 16_000, 0).as_deref(), Some("16,000 tokens"));
        assert!(brief(1_000, 10, 2_000_000_000).is_some_and(|brief| brief.starts_with("1 % of 1,000 tokens · $2")));
    }
}
