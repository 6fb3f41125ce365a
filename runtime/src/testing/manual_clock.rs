//! A clock that moves only when it is advanced.

use crate::Boxed;
use crate::ports::Clock;
use annals_core::Time;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock in UTC that moves only when it is advanced; waiting advances it.
///
/// ```
/// use annals_runtime::ports::Clock;
/// use annals_runtime::testing::ManualClock;
/// let clock = ManualClock::at(ManualClock::SCENARIO);
/// clock.advance(90_000);
/// assert_eq!(clock.now().to_string(), "2026-06-03T12:01:30.000Z");
/// ```
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Where the clock of a scenario starts: `2026-06-03T12:00:00Z`.
    pub const SCENARIO: Time = Time(1_780_488_000_000);

    /// A clock that shows `start`.
    pub fn at(start: Time) -> Self {
        Self(AtomicU64::new(start.millis()))
    }

    /// Moves on by `ms` milliseconds.
    pub fn advance(&self, ms: u64) {
        let moved = self.now().plus(ms);
        self.0.fetch_max(moved.millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, at: Time) -> Boxed<'_, ()> {
        Box::pin(async move {
            // Other tasks that are ready run first, as in a real wait.
            tokio::task::yield_now().await;
            self.0.fetch_max(at.millis(), Ordering::SeqCst);
        })
    }

    fn offset_minutes(&self, _: Time) -> i32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_moves_a_manual_clock_and_never_back() {
        let clock = ManualClock::at(ManualClock::SCENARIO);
        assert_eq!(clock.now().to_string(), "2026-06-03T12:00:00.000Z");
        clock.sleep_until(clock.now().plus(2_000)).await;
        clock.sleep_until(Time(0)).await;
        assert_eq!(clock.now().to_string(), "2026-06-03T12:00:02.000Z");
    }
}
