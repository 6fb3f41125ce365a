//! Calls that are made again and again (`docs/tools.md`).

use super::AnswerRecorder;
use crate::outcome::RunError;
use crate::tools::{CallError, CallInput, RepeatedCall};
use annals_projections::Repeats;

/// How many times as often as a failure a success repeats before the call is not made again.
const SUCCESSES: u64 = 5;
/// With this call that is not made again the turn ends.
const REFUSALS: u64 = 3;
/// How many characters of the input of such a call are shown.
const BRIEF: usize = 120;

impl AnswerRecorder<'_> {
    /// Why a call is not made again that had the same result so often in a row; the last time the run ends with it.
    pub(super) fn refuse(&mut self, name: &str, input: &CallInput, repeats: Repeats) -> Option<CallError> {
        let limit = self.runner.shared.settings.repeat_limit;
        let limit = if repeats.failed { limit } else { limit.saturating_mul(SUCCESSES) };
        if limit == 0 || repeats.count < limit {
            return None;
        }
        let (call, refused) = (RepeatedCall { name: name.to_owned(), repeats }, repeats.refused + 1);
        if refused < REFUSALS {
            return Some(CallError::Repeated(call));
        }
        self.given_up = Some(RunError::Repeated { call: call.clone(), input: self.in_brief(input), refused });
        Some(CallError::GivenUp { call, refused })
    }

    /// The beginning of an input without secrets, in one line.
    fn in_brief(&self, input: &CallInput) -> String {
        let redactor = self.runner.shared.settings.redactor.as_ref();
        let text = redactor
            .map_or_else(|| input.text().to_owned(), |redactor| redactor.redact(input.text()).text.into_owned());
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(BRIEF + 1).collect();
        match line.char_indices().nth(BRIEF) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}
