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
        Self { zone: system_zone() }
    }

    /// In a configured zone, such as `Europe/Lisbon`.
    ///
    /// # Errors
    /// When the host knows no zone of that name.
    pub fn in_zone(name: &str) -> Result<Self, jiff::Error> {
        Ok(Self { zone: TimeZone::get(name)? })
    }
}

/// The host's zone: that of the variable `TZ`, else of `/etc/localtime`.
pub fn system_zone() -> TimeZone {
    // The library finds the same, after it has listed every folder of the database of zones.
    named_zone().unwrap_or_else(TimeZone::system)
}

/// The zone whose file `TZ` names or `/etc/localtime` links to, if it is where zones usually are.
fn named_zone() -> Option<TimeZone> {
    if std::env::var_os("TZDIR").is_some() {
        return None;
    }
    let name = match std::env::var_os("TZ") {
        None => linked_name(std::fs::read_link("/etc/localtime").ok()?.to_str()?)?.to_owned(),
        Some(set) if set.is_empty() || set == "UTC" => return Some(TimeZone::UTC),
        Some(set) => variable_name(set.to_str()?)?.to_owned(),
    };
    TimeZone::tzif(&name, &std::fs::read(format!("/usr/share/zoneinfo/{name}")).ok()?).ok()
}

/// The name of a zone in the path of its file.
fn linked_name(path: &str) -> Option<&str> {
    let (_, name) = path.rsplit_once("zoneinfo/")?;
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    name.split('/').all(is_plain).then_some(name)
}

/// The name of a zone in `TZ`. Without a slash it may be a rule, such as `EST5EDT`; other rules have a comma.
fn variable_name(set: &str) -> Option<&str> {
    let is_plain = |set: &&str| set.split('/').count() > 1 && linked_name(&format!("zoneinfo/{set}")).is_some();
    linked_name(set).or_else(|| Some(set).filter(is_plain))
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

    #[test]
    fn a_zone_is_named_by_a_link_or_by_a_variable_that_is_no_rule() {
        for (path, name) in [
            ("/usr/share/zoneinfo/Europe/Berlin", Some("Europe/Berlin")),
            ("../usr/share/zoneinfo/UTC", Some("UTC")),
            ("/usr/share/zoneinfo/../../x", None),
            ("/opt/zone", None),
        ] {
            assert_eq!(linked_name(path), name, "{path}");
        }
        for (set, name) in [
            ("America/Argentina/Buenos_Aires", Some("America/Argentina/Buenos_Aires")),
            ("/usr/share/zoneinfo/Asia/Tokyo", Some("Asia/Tokyo")),
            ("EST5EDT", None),
            ("EST5EDT,M3.2.0/2,M11.1.0", None),
            (":Europe/Berlin", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(variable_name(set), name, "{set}");
        }
    }

    #[test]
    fn the_zone_of_the_host_is_the_one_that_the_library_finds() {
        assert_eq!(system_zone(), TimeZone::system());
    }
}
