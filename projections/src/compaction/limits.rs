//! The limits of a window.

use super::estimate;
use annals_core::event::ModelProfile;

/// How many tokens a provider counts where [`estimate`] gives a thousand (`docs/reference/compaction.md#token-rate`). Texts in
/// scripts such as Chinese have about one token a character, others one in four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRate(u64);

impl TokenRate {
    /// The rate where no provider has reported a size.
    pub const UNREPORTED: Self = Self(1_000);

    /// The rate of a request of so many characters, of which its provider reported so many input tokens.
    pub fn reported(tokens: u64, chars: u64) -> Self {
        match tokens.saturating_mul(1_000).checked_div(estimate(chars)) {
            Some(rate) => Self(rate.clamp(1_000, 8_000)),
            None => Self::UNREPORTED,
        }
    }

    /// The estimate of a text of so many characters, in tokens.
    pub fn tokens(self, chars: u64) -> u64 {
        self.of_estimate(estimate(chars))
    }

    /// The same of a sum of estimates.
    pub fn of_estimate(self, estimate: u64) -> u64 {
        estimate.saturating_mul(self.0) / 1_000
    }

    /// The estimate of what has so many tokens at this rate.
    const fn estimate_of(self, tokens: u64) -> u64 {
        tokens.saturating_mul(1_000) / self.0
    }
}

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
    /// What estimates of whole requests are multiplied by; the tail, what is spared and what is worth a prune are divided by it
    /// already.
    pub rate: TokenRate,
}

impl ContextLimits {
    /// The limits of a model: `buffer` tokens stay free of its window, at most a quarter of it, or what an answer may take.
    pub fn of(model: &ModelProfile, buffer: u64, keep_tokens: u64) -> Self {
        let (context, output) = (model.context, model.output);
        if context == 0 {
            let (tail, rate) = (keep_tokens, TokenRate::UNREPORTED);
            return Self { request: None, tail, summary: 8_000, spared: 40_000, worth: 20_000, rate };
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
            rate: TokenRate::UNREPORTED,
        }
    }

    /// The same where a provider counts tokens at a rate.
    #[must_use]
    pub fn at_rate(self, rate: TokenRate) -> Self {
        let Self { tail, spared, worth, .. } = self;
        let [tail, spared, worth] = [tail, spared, worth].map(|tokens| rate.estimate_of(tokens));
        Self { tail, spared, worth, rate, ..self }
    }

    /// The limits after a provider refused a request of `chars` characters: these, if the request exceeded them, else those of
    /// three quarters of it.
    #[must_use]
    pub fn after_refusal(self, chars: u64, keep_tokens: u64) -> Self {
        if self.exceeded_by(chars) {
            return self;
        }
        Self::at(self.rate.tokens(chars).saturating_mul(3) / 4, keep_tokens).at_rate(self.rate)
    }

    /// Whether a request of `chars` characters is too large.
    pub fn exceeded_by(&self, chars: u64) -> bool {
        self.request.is_some_and(|limit| self.rate.tokens(chars) > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{ContextLimits, TokenRate};
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
        assert_eq!(known.after_refusal(4 * 3_001, 8_000), known);
        assert_eq!(known.after_refusal(4 * 3_000, 8_000).request, Some(2_250));
        assert_eq!(known.after_refusal(4 * 7, 8_000).request, Some(5));
        assert_eq!(limits(0, 0).after_refusal(4 * 10_000, 8_000), ContextLimits::at(7_500, 8_000));
    }

    #[test]
    fn a_reported_size_scales_requests_up_and_parts_down() {
        assert_eq!(TokenRate::reported(0, 4_000), TokenRate::UNREPORTED);
        assert_eq!(TokenRate::reported(5, 0), TokenRate::UNREPORTED, "nothing was sent");
        assert_eq!(
            TokenRate::reported(900, 4_000),
            TokenRate::UNREPORTED,
            "never less than a quarter of the characters"
        );
        assert_eq!(TokenRate::reported(3_999, 4_000).tokens(4_002), 4_002, "1,001 estimated at 3.999, rounded down");
        assert_eq!(TokenRate::reported(90_000, 4_000).tokens(4_000), 8_000, "at most eight times as much");
        let chinese = limits(4_000, 500).at_rate(TokenRate::reported(4_000, 4_000));
        assert_eq!([chinese.tail, chinese.spared, chinese.worth, chinese.summary], [187, 187, 93, 750]);
        assert!(!chinese.exceeded_by(3_000) && chinese.exceeded_by(3_002));
        let refused = chinese.after_refusal(2_000, 8_000);
        assert_eq!((refused.request, refused.tail, refused.rate), (Some(1_500), 93, chinese.rate));
    }
}
