//! Times as people write them: `7d`, `2h ago`, `yesterday`, `2026-11-21`, `2026-11-21 14:05`.

use crate::ago::ago;
use crate::style::Style;
use annals_core::Time;
use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, ToSpan};

/// A time on the command line, before it is known in which zone and how long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// So many milliseconds ago.
    Ago(u64),
    /// So many days before today.
    Today(u8),
    /// A day.
    Day(Date),
    /// A moment of the reader's clock.
    Clock(DateTime),
    /// An instant.
    Instant(Timestamp),
}

/// Parses a time.
///
/// # Errors
/// When it is none; the message has examples.
pub fn time(text: &str) -> Result<TimeArg, String> {
    let trimmed = text.trim();
    let compact = |text: &str| Date::strptime("%Y%m%d", text).ok().filter(|_| text.len() == 8);
    let found = match trimmed {
        "today" => Some(TimeArg::Today(0)),
        "yesterday" => Some(TimeArg::Today(1)),
        _ => ago(trimmed.strip_suffix("ago").unwrap_or(trimmed).trim_end()).ok().map(TimeArg::Ago),
    };
    found
        .or_else(|| compact(trimmed).map(TimeArg::Day))
        .or_else(|| trimmed.parse().ok().map(TimeArg::Instant))
        .or_else(|| trimmed.parse::<Date>().ok().filter(|_| trimmed.len() == 10).map(TimeArg::Day))
        .or_else(|| trimmed.parse().ok().map(TimeArg::Clock))
        .ok_or_else(|| "expected a time such as 7d, 12h, yesterday, 2026-11-21 or 2026-11-21T14:05".to_owned())
}

impl TimeArg {
    /// When it begins: a day begins at midnight.
    pub fn start(self, style: &Style) -> Time {
        self.civil(style, 0)
    }

    /// When it is over: a day ends at the next midnight, so that it belongs to what is before its end.
    pub fn end(self, style: &Style) -> Time {
        self.civil(style, 1)
    }

    fn civil(self, style: &Style, days: i64) -> Time {
        let today = || {
            Timestamp::from_millisecond(i64::try_from(style.now.0).ok()?)
                .ok()
                .map(|now| now.to_zoned(style.zone.clone()).date())
        };
        let zoned = |at: DateTime| at.to_zoned(style.zone.clone()).ok().map(|at| at.timestamp());
        let day =
            |day: Date, days: i64| zoned(day.saturating_add(days.days()).to_datetime(jiff::civil::Time::midnight()));
        let instant = match self {
            Self::Ago(ms) => return Time(style.now.0.saturating_sub(ms)),
            Self::Instant(at) => Some(at),
            Self::Clock(at) => zoned(at),
            Self::Day(date) => day(date, days),
            Self::Today(before) => today().and_then(|today| day(today, days - i64::from(before))),
        };
        Time(instant.and_then(|at| u64::try_from(at.as_millisecond()).ok()).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn times_are_read_in_every_form() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = Time(1_780_488_000_000); // 2026-06-03 12:00 UTC
        let style = Style { width: 80, colour: false, json: false, markdown: false, zone, now };
        let of = |text: &str| {
            let at = time(text).unwrap();
            [at.start(&style), at.end(&style)].map(|at| Timestamp::from_millisecond(at.0 as i64).unwrap().to_string())
        };
        let day = |day: u8| format!("2026-06-{day:02}T22:00:00Z");
        assert_eq!(of("7d"), ["2026-05-27T12:00:00Z", "2026-05-27T12:00:00Z"]);
        assert_eq!(of("2h ago"), ["2026-06-03T10:00:00Z", "2026-06-03T10:00:00Z"]);
        assert_eq!(of("today"), [day(2), day(3)]);
        assert_eq!(of("yesterday"), [day(1), day(2)]);
        for text in ["2026-06-03", "20260603"] {
            assert_eq!(of(text), [day(2), day(3)], "{text}");
        }
        for text in ["2026-06-03T14:05", "2026-06-03 14:05:00", "2026-06-03T12:05:00Z"] {
            assert_eq!(of(text), ["2026-06-03T12:05:00Z", "2026-06-03T12:05:00Z"], "{text}");
        }
        for text in ["", "7", "d", "7y", "2026-13-01", "soon"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
