//! The limits of a window.

use annals_core::event::ModelProfile;

/// What a request may take of a model's window and what is kept when it takes more, in tokens
/// (`docs/reference/compaction.md#limits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// The largest request; `None` where the window is not known.
    pub request: Option<u64>,
    /// The kept tail.
    pub tail: u64,
    /// The summary.
    pub summary: u64,
    /// The newest tool outputs that a prune leaves alone.
    pub spared: u64,
    /// The least that a prune clears.
    pub worth: u64,
}

impl ContextLimits {
    /// The limits of a model: `buffer` tokens stay free of its window, at most a quarter of it, or what an answer may take.
    pub fn of(model: &ModelProfile, buffer: u64, keep_tokens: u64) -> Self {
        let (context, output) = (model.context, model.output);
        if context == 0 {
            return Self { request: None, tail: keep_tokens, summary: 8_000, spared: 40_000, worth: 20_000 };
        }
        let answer = if output < context { output } else { 0 };
        Self::at(context.saturating_sub(answer.max(buffer.min(context / 4))), keep_tokens)
    }

    /// The limits where a request may have `limit` tokens.
    pub fn at(limit: u64, keep_tokens: u64) -> Self {
        let quarter = limit / 4;
        Self {
            request: Some(limit),
            tail: keep_tokens.min(quarter),
            summary: quarter.min(8_000),
            spared: quarter.min(40_000),
            worth: (limit / 8).min(20_000),
        }
    }

    /// The limits after a provider refused a request of `tokens`: these, if the request exceeded them, else those of three
    /// quarters of it.
    #[must_use]
    pub fn after_refusal(self, tokens: u64, keep_tokens: u64) -> Self {
        match self.request {
            Some(limit) if tokens > limit => self,
            _ => Self::at(tokens.saturating_mul(3) / 4, keep_tokens),
        }
    }

    /// Whether a request of `tokens` is too large.
    pub fn exceeded_by(&self, tokens: u64) -> bool {
        self.request.is_some_and(|limit| tokens > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::ContextLimits;
    use crate::facts::model;
    use annals_core::event::ModelProfile;

    fn limits(context: u64, output: u64) -> ContextLimits {
        ContextLimits::of(&ModelProfile { context, output, ..model() }, 20_000, 8_000)
    }

    #[test]
    fn limits_scale_with_the_window() {
        let numbers =
            |limits: ContextLimits| (limits.request, [limits.tail, limits.summary, limits.spared, limits.worth]);
        assert_eq!(numbers(limits(200_000, 32_000)), (Some(168_000), [8_000, 8_000, 40_000, 20_000]));
        assert_eq!(numbers(limits(200_000, 0)), (Some(180_000), [8_000, 8_000, 40_000, 20_000]));
        assert_eq!(numbers(limits(4_000, 500)), (Some(3_000), [750, 750, 750, 375]), "the buffer is a quarter");
        assert_eq!(numbers(limits(1_601, 50)), (Some(1_201), [300, 300, 300, 150]), "rounded down");
        assert_eq!(numbers(limits(1_000, 1_000)), (Some(750), [187, 187, 187, 93]), "such an output counts as none");
        assert_eq!(numbers(limits(1_000, 999)), (Some(1), [0, 0, 0, 0]));
        assert_eq!(numbers(limits(0, 500)), (None, [8_000, 8_000, 40_000, 20_000]));
    }

    #[test]
    fn a_smaller_tail_makes_no_smaller_summary() {
        let short = ContextLimits::of(&ModelProfile { context: 40_000, output: 0, ..model() }, 20_000, 100);
        assert_eq!((short.tail, short.summary), (100, 7_500));
    }

    #[test]
    fn a_refusal_lowers_the_limit_to_three_quarters_unless_it_was_exceeded() {
        let known = limits(4_000, 500);
        assert_eq!(known.after_refusal(3_001, 8_000), known);
        assert_eq!(known.after_refusal(3_000, 8_000).request, Some(2_250));
        assert_eq!(known.after_refusal(7, 8_000).request, Some(5));
        assert_eq!(limits(0, 0).after_refusal(10_000, 8_000), ContextLimits::at(7_500, 8_000));
    }
}
