//! How answers look: width, colours, time zone, and the moment that ages are counted from.

use crate::escape::control;
use annals_core::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How answers look.
#[derive(Clone, Debug)]
pub struct Look {
    /// Columns of a line.
    pub width: usize,
    /// Whether colours are used.
    pub colour: bool,
    /// Whether answers are JSON.
    pub json: bool,
    /// The zone that times are shown in.
    pub zone: TimeZone,
    /// The moment that ages are counted from.
    pub now: Time,
}

/// What a piece of text is: how it is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// Aside: numbers of lines, times, rules.
    Dim,
    /// A heading.
    Strong,
    /// The user.
    User,
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// System Context.
    Context,
    /// It went well.
    Good,
    /// Somebody should look.
    Warn,
    /// It went wrong.
    Bad,
    /// What a search found.
    Found,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Strong => "1",
            Self::User => "1;36",
            Self::Model => "1;35",
            Self::Tool => "34",
            Self::Context => "33",
            Self::Good => "32",
            Self::Warn => "1;33",
            Self::Bad => "1;31",
            Self::Found => "1;4",
        }
    }
}

impl Look {
    /// The text, painted.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        match (self.colour && !text.is_empty(), tone.code()) {
            (true, code) if !code.is_empty() => format!("{}{text}{}", control(&format!("{code}m")), control("0m")),
            _ => text.to_owned(),
        }
    }

    fn zoned(&self, at: Time) -> Option<jiff::Zoned> {
        let millis = i64::try_from(at.millis()).ok()?;
        Some(Timestamp::from_millisecond(millis).ok()?.to_zoned(self.zone.clone()))
    }

    /// The time of day: `20:11:17`.
    pub fn clock(&self, at: Time) -> String {
        self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime("%H:%M:%S").to_string())
    }

    /// The day: `Sat 21 Nov 2026`.
    pub fn day(&self, at: Time) -> String {
        self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime("%a %-d %b %Y").to_string())
    }

    /// Day, time and zone: `Sat 21 Nov 2026, 20:11:17 UTC`.
    pub fn moment(&self, at: Time) -> String {
        self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime("%a %-d %b %Y, %H:%M:%S %Z").to_string())
    }

    /// Day and time with milliseconds: `2026-11-21 20:11:17.493`.
    pub fn exact(&self, at: Time) -> String {
        self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string())
    }

    /// How long ago: `2 hours ago`, `now`; a day when it is long ago or ahead.
    pub fn age(&self, at: Time) -> String {
        let seconds = match self.now.millis().checked_sub(at.millis()) {
            Some(ms) => ms / 1000,
            None => return self.day(at),
        };
        let (count, unit) = match seconds {
            0..10 => return "now".to_owned(),
            10..60 => (seconds, "second"),
            60..3_600 => (seconds / 60, "minute"),
            3_600..86_400 => (seconds / 3_600, "hour"),
            86_400..2_592_000 => (seconds / 86_400, "day"),
            _ => return self.day(at),
        };
        format!("{count} {unit}{} ago", plural(count))
    }
}

impl Look {
    /// How long ago, for a column: `12s`, `5m`, `3h`, `6d`; a date when it is long ago or ahead.
    pub fn short_age(&self, at: Time) -> String {
        match self.now.millis().checked_sub(at.millis()).map(|ms| ms / 1000) {
            Some(seconds @ 0..60) => format!("{seconds}s"),
            Some(seconds @ 60..3_600) => format!("{}m", seconds / 60),
            Some(seconds @ 3_600..86_400) => format!("{}h", seconds / 3_600),
            Some(seconds @ 86_400..864_000) => format!("{}d", seconds / 86_400),
            _ => self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d").to_string()),
        }
    }
}

/// `s` unless it is one.
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A count of something: `1 event`, `1,204 events`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), plural(count))
}

/// With separators: `1,204`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration: `12 ms`, `1.2 s`, `2m 05s`, `1h 02m`, `3d 4h`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Nano-dollars as money: `$1.20`, `$0.0012`, `<$0.0001`.
pub fn money(nano: u64) -> String {
    match nano {
        0 => "$0".to_owned(),
        1..100_000 => "<$0.0001".to_owned(),
        100_000..1_000_000_000 => format!("$0.{:04}", nano / 100_000),
        _ => format!("${}.{:02}", thousands(nano / 1_000_000_000), nano / 10_000_000 % 100),
    }
}

/// Bytes for people: `812 bytes`, `12.3 kB`, `2.2 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} byte{}", plural(bytes)),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes / 100 % 10),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(
            [thousands(0), thousands(999), thousands(1_204), thousands(12_345_678)].join(" "),
            "0 999 1,204 12,345,678"
        );
        assert_eq!(
            [12, 1_250, 125_000, 3_720_000, 273_600_000].map(duration).join(" | "),
            "12 ms | 1.2 s | 2m 05s | 1h 02m | 3d 4h"
        );
        assert_eq!([0, 7, 1_250_000, 1_200_000_000].map(money).join(" "), "$0 <$0.0001 $0.0012 $1.20");
        assert_eq!([1, 812, 12_345, 2_289_664].map(size).join(" | "), "1 byte | 812 bytes | 12.3 kB | 2.2 MB");
    }

    #[test]
    fn ages_are_counted_from_now() {
        let look = Look { width: 80, colour: false, json: false, zone: TimeZone::UTC, now: Time(1_780_488_000_000) };
        let ago = |ms| look.age(Time(look.now.0 - ms));
        assert_eq!(
            [ago(0), ago(61_000), ago(7_200_000), ago(90_000_000)].join(" | "),
            "now | 1 minute ago | 2 hours ago | 1 day ago"
        );
        assert_eq!(look.moment(look.now), "Wed 3 Jun 2026, 12:00:00 UTC");
    }
}
