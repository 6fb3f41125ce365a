//! What answers used. Codex repeats counts and gives totals of the thread, so an answer's usage is the difference of totals.

use super::super::foreign::JsonObject;
use annals_core::event::Usage;

/// What was counted of a thread so far. Codex counts by two ways: records of single answers, and totals of the thread, in which a
/// compaction that the provider made is not.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadTotal {
    /// The newest total.
    total: Option<Usage>,
    /// What was recorded since.
    recorded: Usage,
}

impl ThreadTotal {
    /// What is new in a count: the total of the thread, the usage of its last answer. `None` if nothing is.
    pub fn count(&mut self, total: Option<Usage>, last: Option<Usage>) -> Option<Usage> {
        let recorded = std::mem::take(&mut self.recorded);
        let Some(total) = total else { return last };
        // A total that is smaller starts anew: the thread was resumed or its window was full.
        let added = match self.total.replace(total) {
            Some(before) => minus(total, before).or(last),
            None => last,
        };
        let added = added.unwrap_or(total);
        minus(added, recorded).filter(|usage| *usage != Usage::default())
    }

    /// Takes in the record of one answer, which the next count has, too.
    pub fn record(&mut self, usage: Option<Usage>) {
        self.recorded = plus(self.recorded, usage.unwrap_or_default());
    }
}

/// The sum of two usages.
pub(super) fn plus(a: Usage, b: Usage) -> Usage {
    Usage {
        input: a.input.saturating_add(b.input),
        output: a.output.saturating_add(b.output),
        reasoning: a.reasoning.saturating_add(b.reasoning),
        cache_read: a.cache_read.saturating_add(b.cache_read),
        cache_write: a.cache_write.saturating_add(b.cache_write),
    }
}

/// The difference of two totals; `None` if the second is larger.
fn minus(a: Usage, b: Usage) -> Option<Usage> {
    Some(Usage {
        input: a.input.checked_sub(b.input)?,
        output: a.output.checked_sub(b.output)?,
        reasoning: a.reasoning.checked_sub(b.reasoning)?,
        cache_read: a.cache_read.checked_sub(b.cache_read)?,
        cache_write: a.cache_write.checked_sub(b.cache_write)?,
    })
}

/// Token counts. Codex includes cached input in input, and reasoning in output.
pub(super) fn tokens(usage: &JsonObject<'_>) -> Usage {
    let count = |name| usage.number(name).unwrap_or(0);
    let (cached, written, reasoning) =
        (count("cached_input_tokens"), count("cache_write_input_tokens"), count("reasoning_output_tokens"));
    usage.skip_all();
    Usage {
        input: count("input_tokens").saturating_sub(cached).saturating_sub(written),
        output: count("output_tokens").saturating_sub(reasoning),
        reasoning,
        cache_read: cached,
        cache_write: written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_count_adds_nothing_and_a_smaller_total_starts_anew() {
        let tokens = |input, output| Some(Usage { input, output, ..Usage::default() });
        let mut total = ThreadTotal::default();
        assert_eq!(total.count(tokens(10_000, 500), tokens(1000, 100)), tokens(1000, 100), "a resumed thread");
        assert_eq!(total.count(tokens(10_000, 500), tokens(1000, 100)), None);
        assert_eq!(total.count(tokens(12_000, 700), None), tokens(2000, 200));
        assert_eq!(total.count(tokens(0, 0), tokens(0, 0)), None);
        assert_eq!(total.count(tokens(300, 30), tokens(300, 30)), tokens(300, 30));
        assert_eq!(total.count(None, tokens(5, 5)), tokens(5, 5));
        total.record(tokens(100, 10));
        assert_eq!(total.count(tokens(400, 40), tokens(100, 10)), None);
        // A compaction is in no total.
        total.record(tokens(5000, 1));
        assert_eq!(total.count(tokens(400, 40), tokens(0, 0)), None);
        total.record(tokens(200, 20));
        assert_eq!(total.count(tokens(600, 60), tokens(200, 20)), None);
        total.record(tokens(300, 30));
        assert_eq!(total.count(tokens(900, 90), tokens(300, 30)), None);
        assert_eq!(total.count(tokens(950, 95), tokens(50, 5)), tokens(50, 5), "one without a record");
    }
}
