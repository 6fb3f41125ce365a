//! Retries: durable, at least two seconds apart, never a crash's leftover (`docs/reference/turn.md#retries`).

use super::record_request::RecordedRequest;
use super::{Runner, Stop};
use crate::lane::Decision;
use crate::ports::ProviderError;
use annals_core::Event;
use annals_core::event::{Failure, RetryScheduled, Usage};

/// Attempts of one turn, the first included.
pub(super) const ATTEMPTS: u32 = 5;

const FIRST_WAIT_MS: u64 = 2_000;
const LONGEST_WAIT_MS: u64 = 15 * 60 * 1_000;

/// How long to wait before the `n`-th retry, counted from 1: doubling, spread by a number in `[0, 1)`, at least what
/// the provider asks, at most 15 minutes.
fn wait_ms(n: u32, spread: f64, asked_ms: Option<u64>) -> u64 {
    let doubled = FIRST_WAIT_MS.saturating_mul(1 << n.saturating_sub(1).min(32));
    // Both factors are small and positive; the product is below 2^53.
    let spread = (doubled.min(LONGEST_WAIT_MS) as f64 * (1.0 + spread.clamp(0.0, 1.0) / 4.0)).ceil() as u64;
    spread.max(asked_ms.unwrap_or(0)).min(LONGEST_WAIT_MS)
}

impl Runner {
    /// Schedules the attempt after `attempt`: the fact, and the moment.
    pub(super) fn scheduled(
        &self,
        attempt: u32,
        error: &ProviderError,
        usage: Option<Usage>,
        cost: u64,
    ) -> RetryScheduled {
        let ports = &self.shared.ports;
        let wait = wait_ms(attempt, ports.ids.jitter(), error.retry_after_ms);
        RetryScheduled { attempt: attempt + 1, at: ports.clock.now().plus(wait), error: failure(error), usage, cost }
    }

    /// Waits for a scheduled attempt. An interruption ends the wait, and a crash forgets it.
    pub(super) async fn wait_for(&self, scheduled: &RetryScheduled) -> Result<(), Stop> {
        self.unless_interrupted(self.shared.ports.clock.sleep_until(scheduled.at)).await
    }

    /// Records that another attempt of a request follows, unless the turn was ended in the meantime.
    pub(super) async fn record_retry(
        &self,
        request: &RecordedRequest,
        scheduled: &RetryScheduled,
        then: Option<Event>,
    ) -> Result<(), Stop> {
        let mut events: Vec<Event> = vec![scheduled.clone().into()];
        events.extend(then);
        self.lane
            .decide(|view| match request.is_current(view) {
                true => Ok(Decision::append(events.clone(), ())),
                false => Err(self.superseded(request, view)),
            })
            .await
    }
}

/// A provider's error as events keep it.
pub(crate) fn failure(error: &ProviderError) -> Failure {
    Failure { kind: error.kind.as_str().into(), message: error.message.as_str().into(), status: error.status }
}

#[cfg(test)]
mod tests {
    use super::wait_ms;

    #[test]
    fn waits_double_from_two_seconds_and_end_at_a_quarter_of_an_hour() {
        let plain: Vec<u64> = (1..=4).map(|n| wait_ms(n, 0.0, None)).collect();
        assert_eq!(plain, [2_000, 4_000, 8_000, 16_000]);
        assert_eq!(wait_ms(1, 0.5, None), 2_250);
        assert_eq!(wait_ms(40, 0.9, None), 900_000);
    }

    #[test]
    fn a_wait_is_never_below_what_the_provider_asks_nor_above_the_maximum() {
        assert_eq!(wait_ms(1, 0.0, Some(60_000)), 60_000);
        assert_eq!(wait_ms(4, 0.0, Some(60)), 16_000);
        assert_eq!(wait_ms(1, 0.0, Some(86_400_000)), 900_000);
    }
}
