//! Events as they are named on the command line: by number, turn, distance from the end, or time.

use crate::ago::ago;
use crate::error::CliError;
use crate::style::Style;
use annals_core::{Seq, SessionId, Time};
use annals_inspect::message_ref::MessageRef;
use annals_inspect::reader::{FindError, Reader};
use annals_projections::SessionView;
use jiff::Timestamp;
use jiff::civil;
use std::str::FromStr;

/// A second in milliseconds.
const SECOND: u64 = 1_000;

/// An event, or the message that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventArg {
    /// By its number, or a turn by the number of its user message.
    Number(MessageRef),
    /// Counted from the end: 1 is the last event.
    Back(u64),
    /// The last one so many milliseconds ago.
    Ago(u64),
    /// The last one at a time of the last day with events on which it was that time.
    Clock(civil::Time),
}

/// A text names no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an event number (see annals replay), turn:N for user message N, -N from the end, or a time such as 14:05:21 or 2h ago"
)]
pub struct NoEventArg;

impl FromStr for EventArg {
    type Err = NoEventArg;

    fn from_str(text: &str) -> Result<Self, NoEventArg> {
        let text = text.trim();
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        let back = text.strip_prefix('-').and_then(|number| number.parse().ok()).filter(|number| *number > 0);
        let clock = || {
            let is_clock = text.contains(':') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
            ["%H:%M:%S", "%H:%M"]
                .into_iter()
                .find_map(|form| civil::Time::strptime(form, text).ok().filter(|_| is_clock))
        };
        let past = || text.strip_suffix("ago").and_then(|time| ago(time.trim_end()).ok());
        let found = back.map(Self::Back).or_else(|| clock().map(Self::Clock)).or_else(|| past().map(Self::Ago));
        found.ok_or(NoEventArg)
    }
}

impl EventArg {
    /// The number of the event.
    ///
    /// # Errors
    /// When the session has no such event or turn.
    pub async fn seq(self, reader: &Reader, session: SessionId, style: &Style) -> Result<Seq, CliError> {
        let head = reader.head(session).await?;
        let until = match self {
            Self::Number(MessageRef::Event(seq)) => return Ok(seq),
            Self::Number(turn) => {
                let view = reader.view(session, head.next).await?;
                return Ok(turn.find(reader, session, &view).await?);
            }
            Self::Back(back) => {
                let last = Seq(head.next.0.saturating_sub(1));
                let seq = head.next.0.checked_sub(back).map(Seq);
                return Ok(seq.ok_or(FindError::PastTheEnd { session, seq: Seq(back), last })?);
            }
            Self::Ago(ms) => Time(style.now.0.saturating_sub(ms)),
            Self::Clock(time) => last_time(time, head.at, style),
        };
        let early = || CliError::from(FindError::NothingSoEarly { session });
        let Self::Clock(time) = self else {
            return newest(reader, session, head.next, until).await?.map(|(seq, _)| seq).ok_or_else(early);
        };
        // On a day without an event nothing happened at that time: a fork may begin days after what it continues.
        let mut found = newest(reader, session, head.next, until).await?.ok_or_else(early)?;
        let mut until = until;
        while style.day(found.1) != style.day(until) {
            until = last_time(time, found.1, style);
            match newest(reader, session, found.0.plus(1), until).await? {
                Some(before) => found = before,
                None => break,
            }
        }
        Ok(found.0)
    }

    /// The event that made the message: that which contains the event, or for one that is not counted from the beginning the
    /// nearest.
    ///
    /// # Errors
    /// When the session has no such event or turn, or an event with this number is in no message.
    pub async fn message(
        self,
        reader: &Reader,
        session: SessionId,
        view: &SessionView,
        style: &Style,
    ) -> Result<Seq, CliError> {
        if let Self::Number(number) = self {
            return Ok(number.find(reader, session, view).await?);
        }
        let seq = self.seq(reader, session, style).await?;
        match MessageRef::Event(seq).find(reader, session, view).await {
            Err(FindError::NotInAMessage { nearest: Some(nearest), .. }) => Ok(nearest),
            found => Ok(found?),
        }
    }
}

/// The last event before `next` that happened until a time, and when.
async fn newest(reader: &Reader, session: SessionId, next: Seq, until: Time) -> Result<Option<(Seq, Time)>, CliError> {
    let seq = reader.newest_from(session, next, 1, |record| record.at <= until).await?;
    let mut found = None;
    let see = |record: &annals_core::Record<'_>| found = (record.at <= until).then_some((record.seq, record.at));
    reader.each(session, seq, seq.plus(1), see).await?;
    Ok(found)
}

/// The end of the second in which the clock showed a time, on the last day before `end` on which it did.
fn last_time(time: civil::Time, end: Time, style: &Style) -> Time {
    let ended = i64::try_from(end.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let on = |date: civil::Date| {
        let at = date.to_datetime(time).to_zoned(style.zone.clone()).ok()?;
        u64::try_from(at.timestamp().as_millisecond()).ok()
    };
    let found = ended.map(|ended| ended.to_zoned(style.zone.clone()).date()).and_then(|last| {
        let today = on(last)?;
        if today <= end.0 { Some(today) } else { on(last.yesterday().ok()?) }
    });
    found.map_or(end, |at| Time(at + SECOND - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn events_are_named_by_number_turn_distance_and_time() {
        let of = |text: &str| text.parse::<EventArg>();
        assert_eq!(of("51"), Ok(EventArg::Number(MessageRef::Event(Seq(51)))));
        assert_eq!(of("turn:3"), Ok(EventArg::Number(MessageRef::Turn(3))));
        assert_eq!(of("-1"), Ok(EventArg::Back(1)));
        assert_eq!(of("12:23:21"), Ok(EventArg::Clock(civil::time(12, 23, 21, 0))));
        assert_eq!(of("12:23"), Ok(EventArg::Clock(civil::time(12, 23, 0, 0))));
        assert_eq!(of("2h ago"), Ok(EventArg::Ago(7_200_000)));
        for text in ["", "-0", "-x", "9th", "25:00:00", "2h", "ago", "turn:x", "1:2:3:4"] {
            assert_eq!(of(text), Err(NoEventArg), "{text}");
        }
    }

    #[test]
    fn a_time_of_the_clock_is_the_last_one_before_the_end() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let end = Time(1_780_488_000_000); // 2026-06-03 14:00 of the zone
        let style = Style { width: 80, colour: false, json: false, markdown: false, zone, now: end };
        let before = |hour, minute| end.0 - last_time(civil::time(hour, minute, 0, 0), end, &style).0;
        assert_eq!(before(13, 59), 60_000 - 999);
        assert_eq!(before(14, 1), 86_400_000 - 60_000 - 999);
    }
}
