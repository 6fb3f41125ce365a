//! The clock, the only place where time comes from (`ARCHITECTURE.md#invariants`).

use crate::Boxed;
use annals_core::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Gives the time and waits for it.
pub trait Clock: Send + Sync {
    /// This moment.
    fn now(&self) -> Time;

    /// Waits until `at`. A moment that has passed is there at once.
    fn sleep_until(&self, at: Time) -> Boxed<'_, ()>;

    /// Minutes east of UTC of the user's zone at a moment; seconds of historical zones are dropped.
    fn offset_minutes(&self, at: Time) -> i32;
}

/// The clock as a function, for adapters that only ask for the current time.
pub fn now_of(clock: Arc<dyn Clock>) -> Arc<dyn Fn() -> Time + Send + Sync> {
    Arc::new(move || clock.now())
}

/// The host's clock, in the host's zone or a configured one.
#[derive(Clone, Debug)]
pub struct SystemClock {
    zone: TimeZone,
}

impl SystemClock {
    /// In the host's zone.
    pub fn local() -> Self {
        Self { zone: TimeZone::system() }
    }

    /// In a configured zone, such as `Europe/Lisbon`.
    ///
    /// # Errors
    /// When the host knows no zone of that name.
    pub fn in_zone(name: &str) -> Result<Self, jiff::Error> {
        Ok(Self { zone: TimeZone::get(name)? })
    }
}

/// The longest single wait: after a change of the host's clock, or a suspended machine, the time is looked at again.
const LOOK: Duration = Duration::from_secs(60);

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX).min((1 << 53) - 1))
    }

    fn sleep_until(&self, at: Time) -> Boxed<'_, ()> {
        Box::pin(async move {
            loop {
                let left = at.millis().saturating_sub(self.now().millis());
                if left == 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await;
            }
        })
    }

    fn offset_minutes(&self, at: Time) -> i32 {
        let moment = i64::try_from(at.millis()).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        moment.map_or(0, |moment| self.zone.to_offset(moment).seconds().div_euclid(60))
    }
}

/// One moment, in UTC: the time of everything that a single command records. Waiting returns at once.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Time);

impl Clock for FixedClock {
    fn now(&self) -> Time {
        self.0
    }

    fn sleep_until(&self, _: Time) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn offset_minutes(&self, _: Time) -> i32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_follows_summer_time() -> Result<(), jiff::Error> {
        let clock = SystemClock { zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3")? };
        assert_eq!(clock.offset_minutes(Time(1_780_488_000_000)), 120);
        assert_eq!(clock.offset_minutes(Time(1_768_478_400_000)), 60);
        Ok(())
    }

    #[tokio::test]
    async fn a_moment_that_has_passed_is_there_at_once() {
        SystemClock::local().sleep_until(Time(0)).await;
    }
}
