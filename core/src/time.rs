//! Times as the log keeps them. Ids and clocks order nothing: only [`crate::Seq`] does.

use core::fmt;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// A moment: milliseconds since 1970-01-01T00:00:00Z, below 2^53. Chosen by the clock port in `runtime`, or taken
/// from a foreign record by an importer; never read here.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Milliseconds since the epoch.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// This moment plus `ms` milliseconds, without overflow.
    pub const fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Year, month (1..=12), day (1..=31) of this moment in a zone `offset_minutes` east of UTC.
    pub fn civil(self, offset_minutes: i32) -> (i64, u8, u8) {
        civil_from_days(self.days(offset_minutes))
    }

    /// Day of the week, Sunday = 0, in a zone `offset_minutes` east of UTC.
    pub fn weekday(self, offset_minutes: i32) -> u8 {
        (self.days(offset_minutes) + 4).rem_euclid(7) as u8
    }

    fn days(self, offset_minutes: i32) -> i64 {
        (self.0 as i64).saturating_add(i64::from(offset_minutes) * 60_000).div_euclid(86_400_000)
    }
}

/// Days since 1970-01-01 to (year, month, day) of the proleptic Gregorian calendar.
fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u8;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// RFC 3339 in UTC with milliseconds: `2026-06-03T12:00:00.000Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil(0);
        let ms = self.0 % 86_400_000;
        let (h, m, s, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{milli:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::Time;
    use alloc::string::ToString;

    #[test]
    fn a_time_reads_as_rfc_3339() {
        assert_eq!(Time(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Time(1_780_488_000_000).to_string(), "2026-06-03T12:00:00.000Z");
        assert_eq!(Time(951_782_399_999).to_string(), "2000-02-28T23:59:59.999Z");
        assert_eq!(Time(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn the_calendar_day_follows_the_zone() {
        let noon = Time(1_780_488_000_000);
        assert_eq!((noon.civil(0), noon.weekday(0)), ((2026, 6, 3), 3));
        assert_eq!(noon.civil(12 * 60), (2026, 6, 4));
        assert_eq!(noon.civil(-13 * 60), (2026, 6, 2));
    }
}
