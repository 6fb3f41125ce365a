//! How answers look: width, colours, time zone, and the moment that ages are counted from.

use crate::escape::control;
use annals_core::Time;
pub use annals_inspect::format::{counted, duration, money, plural, size, thousands};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How answers look.
#[derive(Clone, Debug)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Whether colours are used.
    pub colour: bool,
    /// Whether answers are JSON.
    pub json: bool,
    /// Whether the Markdown of models is drawn: on a terminal.
    pub markdown: bool,
    /// The zone that times are shown in.
    pub zone: TimeZone,
    /// The moment that ages are counted from.
    pub now: Time,
}

/// What a piece of text is: how it is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
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
    /// Needs attention.
    Warn,
    /// It went wrong.
    Bad,
    /// What a search found.
    Found,
    /// Emphasis in a text.
    Italic,
    /// Code in a text.
    Code,
}

impl Emphasis {
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
            Self::Italic => "3",
            Self::Code => "36",
        }
    }
}

impl Style {
    /// The text, painted.
    pub fn paint(&self, emphasis: Emphasis, text: &str) -> String {
        match (self.colour && !text.is_empty(), emphasis.code()) {
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

impl Style {
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

    /// The same without a date: `45d`, `2y`.
    pub fn shortest_age(&self, at: Time) -> String {
        match self.now.millis().checked_sub(at.millis()).map(|ms| ms / 86_400_000) {
            Some(days @ 10..1_000) => format!("{days}d"),
            Some(days @ 1_000..) => format!("{}y", days / 365),
            _ => self.short_age(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_counted_from_now() {
        let style = Style {
            width: 80,
            colour: false,
            json: false,
            markdown: false,
            zone: TimeZone::UTC,
            now: Time(1_780_488_000_000),
        };
        let ago = |ms| style.age(Time(style.now.0 - ms));
        assert_eq!(
            [ago(0), ago(61_000), ago(7_200_000), ago(90_000_000)].join(" | "),
            "now | 1 minute ago | 2 hours ago | 1 day ago"
        );
        assert_eq!(style.moment(style.now), "Wed 3 Jun 2026, 12:00:00 UTC");
    }
}
