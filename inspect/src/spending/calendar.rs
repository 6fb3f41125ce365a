//! Days, weeks and months of a time zone.

use annals_core::Time;

/// The days of a time zone.
#[derive(Clone, Copy)]
pub struct Calendar<'a> {
    /// How many seconds the zone's clocks are ahead of UTC at a time.
    pub offset: &'a dyn Fn(Time) -> i64,
}

/// Seconds of a day.
const DAY: i64 = 86_400;

impl Calendar<'_> {
    /// The day: `2026-11-21`.
    pub fn day(&self, at: Time) -> String {
        let (year, month, day) = civil(self.days(at));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// The ISO week: `2026-W47`. It belongs to the year of its Thursday.
    pub fn week(&self, at: Time) -> String {
        let days = self.days(at);
        // 1970-01-01 was a Thursday.
        let thursday = days - (days + 3).rem_euclid(7) + 3;
        let (year, _, _) = civil(thursday);
        format!("{year:04}-W{:02}", (thursday - days_before(year)) / 7 + 1)
    }

    /// The month: `2026-11`.
    pub fn month(&self, at: Time) -> String {
        let (year, month, _) = civil(self.days(at));
        format!("{year:04}-{month:02}")
    }

    fn days(&self, at: Time) -> i64 {
        let seconds = i64::try_from(at.0 / 1_000).unwrap_or(i64::MAX);
        seconds.saturating_add((self.offset)(at)).div_euclid(DAY)
    }
}

/// A time in UTC, to the second: `2026-11-21T20:00:00Z`.
pub(super) fn instant(at: Time) -> String {
    let seconds = i64::try_from(at.0 / 1_000).unwrap_or(i64::MAX);
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// How many days of 1970 and later lie before a year.
fn days_before(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 719_162
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let mut year = 1970 + days.div_euclid(365);
    while days_before(year) > days {
        year -= 1;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut day = days - days_before(year);
    let mut month = 1;
    for length in [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_weeks_and_months_are_those_of_the_zone() {
        let utc = Calendar { offset: &|_| 0 };
        let at = |days: i64| Time(u64::try_from(days * DAY * 1_000).unwrap());
        for (days, day, week) in [
            (0, "1970-01-01", "1970-W01"),
            (18_261, "2019-12-31", "2020-W01"),
            (18_321, "2020-02-29", "2020-W09"),
            (18_627, "2020-12-31", "2020-W53"),
            (18_630, "2021-01-03", "2020-W53"),
            (18_631, "2021-01-04", "2021-W01"),
            (20_778, "2026-11-21", "2026-W47"),
            (47_540, "2100-02-28", "2100-W08"),
            (47_541, "2100-03-01", "2100-W09"),
        ] {
            assert_eq!((utc.day(at(days)).as_str(), utc.week(at(days)).as_str()), (day, week));
            assert_eq!(utc.month(at(days)), day[..7]);
        }
        let late = Time(20_778 * 86_400_000 + 20 * 3_600_000);
        assert_eq!(Calendar { offset: &|_| 9 * 3_600 }.day(late), "2026-11-22");
        assert_eq!(Calendar { offset: &|_| -21 * 3_600 }.day(late), "2026-11-20");
        assert_eq!(instant(late), "2026-11-21T20:00:00Z");
    }
}
