//! Where a follower of all sessions is.

use super::{Position, ReadError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// How many parts a store has at most.
const PARTS: usize = 4096;

/// A place between batches of a whole store, to follow from: behind all that a follower got. Opaque: it is kept as text, which means
/// something to this store and to its copies alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreCursor(CursorParts);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CursorParts {
    /// The next position of a store whose positions are dense.
    Dense(u64),
    /// The next place in each part of a store, and the part of the last batch. `gaps`: the places that had nothing when they were
    /// passed, whose batches may still come from elsewhere, since texts were erased meanwhile; empty for "none".
    Sharded { next: Arc<[u64]>, last: u32, gaps: Arc<[PartGaps]> },
}

/// Places of one part without a batch, in order, apart from each other.
pub(crate) type PartGaps = Arc<[Range<u64>]>;

impl Default for CursorParts {
    fn default() -> Self {
        Self::Dense(0)
    }
}

impl StoreCursor {
    /// Before everything, in any store.
    pub const START: Self = Self(CursorParts::Dense(0));

    /// Behind a batch of a store whose positions are dense.
    pub fn behind(position: Position) -> Self {
        Self(CursorParts::Dense(position.0.saturating_add(1)))
    }

    /// Before a position of a store whose positions are dense.
    pub const fn before(position: Position) -> Self {
        Self(CursorParts::Dense(position.0))
    }

    /// In a store of several parts: the next place of each, and the part of the last batch.
    pub fn sharded(next: impl Into<Arc<[u64]>>, last: u32) -> Self {
        Self(CursorParts::Sharded { next: next.into(), last, gaps: Arc::default() })
    }

    /// The same place, where the batches of `gaps` may still come from elsewhere.
    #[cfg(feature = "nats")]
    pub(crate) fn amid_erasures(self, gaps: Vec<PartGaps>) -> Self {
        match self.0 {
            CursorParts::Sharded { next, last, .. }
                if next.len() == gaps.len() && gaps.iter().any(|gaps| !gaps.is_empty()) =>
            {
                Self(CursorParts::Sharded { next, last, gaps: gaps.into() })
            }
            same => Self(same),
        }
    }

    /// The places of a part whose batches may still come from elsewhere.
    #[cfg(feature = "nats")]
    pub(crate) fn gaps(&self, part: usize) -> PartGaps {
        match &self.0 {
            CursorParts::Dense(_) => PartGaps::default(),
            CursorParts::Sharded { gaps, .. } => gaps.get(part).cloned().unwrap_or_default(),
        }
    }

    /// The next position, for a store whose positions are dense.
    ///
    /// # Errors
    /// [`ReadError::ForeignCursor`] for a cursor of a store of several parts.
    pub fn dense(&self) -> Result<Position, ReadError> {
        match self.0 {
            CursorParts::Dense(next) => Ok(Position(next)),
            CursorParts::Sharded { .. } => Err(ReadError::ForeignCursor(self.clone())),
        }
    }

    /// The next place in each of so many parts, and the part of the last batch.
    ///
    /// # Errors
    /// [`ReadError::ForeignCursor`] for a cursor of a store of another form.
    pub fn shards(&self, count: usize) -> Result<(Vec<u64>, u32), ReadError> {
        match &self.0 {
            CursorParts::Dense(0) => Ok((vec![0; count], 0)),
            CursorParts::Sharded { next, last, .. } if next.len() == count => Ok((next.to_vec(), *last)),
            CursorParts::Dense(_) | CursorParts::Sharded { .. } => Err(ReadError::ForeignCursor(self.clone())),
        }
    }

    /// Whether nothing is before it.
    pub fn is_start(&self) -> bool {
        self.count() == 0
    }

    /// A number that only grows while a follower continues.
    pub fn count(&self) -> u64 {
        match &self.0 {
            CursorParts::Dense(next) => *next,
            CursorParts::Sharded { next, .. } => next.iter().fold(0, |sum, next| sum.saturating_add(*next)),
        }
    }

    /// The place before the last batch; `None` at the start.
    pub(crate) fn one_back(&self) -> Option<Self> {
        match &self.0 {
            CursorParts::Dense(next) => Some(Self(CursorParts::Dense(next.checked_sub(1)?))),
            CursorParts::Sharded { next, last, .. } => {
                let mut next = next.to_vec();
                let of_last = next.get_mut(*last as usize)?;
                *of_last = of_last.checked_sub(1)?;
                Some(Self::sharded(next, *last))
            }
        }
    }
}

impl Display for StoreCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            CursorParts::Dense(next) => write!(f, "{next}"),
            CursorParts::Sharded { next, last, gaps } => {
                write!(f, "{last}")?;
                write_parts(f, next, |f, place| write!(f, "{place}"))?;
                write_parts(f, gaps, |f, gaps| {
                    gaps.iter().enumerate().try_for_each(|(at, gap)| {
                        write!(f, "{}{}-{}", if at == 0 { "" } else { "_" }, gap.start, gap.end)
                    })
                })
            }
        }
    }
}

/// Writes something of each part; nothing when there are none.
fn write_parts<T>(
    f: &mut fmt::Formatter<'_>,
    parts: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    parts.iter().enumerate().try_for_each(|(at, part)| {
        f.write_str(if at == 0 { ";" } else { "." })?;
        write(f, part)
    })
}

/// A text is no [`StoreCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in a store: use one that a follower received")]
pub struct NoCursor;

impl FromStr for StoreCursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let Some((last, parts)) = text.split_once(';') else { return Ok(Self(CursorParts::Dense(number(text)?))) };
        let last = u32::try_from(number(last)?).map_err(|_| NoCursor)?;
        let (next, gaps) = match parts.split_once(';') {
            None => (each_part(parts, number)?, Vec::new()),
            Some((next, gaps)) => (each_part(next, number)?, each_part(gaps, gaps_of)?),
        };
        match (last as usize) < next.len() && (gaps.is_empty() || gaps.len() == next.len()) {
            true => Ok(Self(CursorParts::Sharded { next: next.into(), last, gaps: gaps.into() })),
            false => Err(NoCursor),
        }
    }
}

fn number(text: &str) -> Result<u64, NoCursor> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().map_err(|_| NoCursor) } else { Err(NoCursor) }
}

fn each_part<T>(text: &str, read: impl Fn(&str) -> Result<T, NoCursor>) -> Result<Vec<T>, NoCursor> {
    let parts = text.split('.').take(PARTS + 1).map(read).collect::<Result<Vec<T>, _>>()?;
    if parts.len() > PARTS { Err(NoCursor) } else { Ok(parts) }
}

fn gaps_of(text: &str) -> Result<PartGaps, NoCursor> {
    let gap = |text: &str| {
        let (start, end) = text.split_once('-').ok_or(NoCursor)?;
        Ok(number(start)?..number(end)?)
    };
    let gaps = text.split('_').filter(|_| !text.is_empty()).map(gap).collect::<Result<Vec<_>, _>>()?;
    let apart = |pair: &[Range<u64>]| matches!(pair, [one, two] if one.end < two.start);
    let sound = gaps.iter().all(|gap| !gap.is_empty()) && gaps.windows(2).all(apart);
    if sound { Ok(gaps.into()) } else { Err(NoCursor) }
}

impl Serialize for StoreCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "nats")]
    use super::PartGaps;
    use super::{Position, StoreCursor};

    #[test]
    fn a_cursor_reads_back_from_its_text() {
        let sharded = StoreCursor::sharded(vec![3, 0, 19], 2);
        let all = [StoreCursor::START, StoreCursor::behind(Position(7)), sharded.clone()];
        #[cfg(feature = "nats")]
        {
            let none = PartGaps::default;
            let nothing = sharded.clone().amid_erasures(vec![none(), none(), none()]);
            assert_eq!(nothing, sharded, "nothing to say");
            let gaps: PartGaps = [3..4, 7..12].into();
            let amid = sharded.clone().amid_erasures(vec![none(), none(), gaps.clone()]);
            assert_eq!((amid.gaps(0), amid.gaps(2)), (none(), gaps));
            assert_eq!(amid.to_string(), "2;3.0.19;..3-4_7-12");
            assert_eq!(amid.to_string().parse(), Ok(amid));
        }
        for (cursor, text) in all.iter().zip(["0", "8", "2;3.0.19"]) {
            assert_eq!(cursor.to_string(), text);
            assert_eq!(text.parse().as_ref(), Ok(cursor));
            let json = serde_json::to_string(cursor).unwrap();
            assert_eq!(serde_json::from_str::<StoreCursor>(&json).unwrap(), *cursor);
        }
        for wrong in [
            "",
            "-1",
            "+1",
            "1;",
            ";1",
            "3;1.2",
            "1;2..3",
            "a",
            "1;2.x",
            "0;1.2;3-4",
            "0;1;2",
            "0;9;3-4;0",
            "0;1;;",
            "0;9;3-3",
            "0;9;3-4_4-5",
            "0;9;3-4_",
            "0;9;.",
            "99999999999999999999",
        ] {
            assert!(wrong.parse::<StoreCursor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cursor_of_another_store_is_refused() {
        assert!(StoreCursor::sharded(vec![1, 2], 0).dense().is_err());
        assert!(StoreCursor::sharded(vec![1, 2], 0).shards(3).is_err());
        assert!(StoreCursor::behind(Position(4)).shards(2).is_err());
        assert_eq!(StoreCursor::START.shards(2).unwrap().0, [0, 0]);
    }

    #[test]
    fn one_back_is_before_the_last_batch() {
        assert_eq!(StoreCursor::START.one_back(), None);
        assert_eq!(StoreCursor::behind(Position(4)).one_back(), Some(StoreCursor::before(Position(4))));
        assert_eq!(StoreCursor::sharded(vec![3, 5], 1).one_back(), Some(StoreCursor::sharded(vec![3, 4], 1)));
        assert_eq!(StoreCursor::sharded(vec![3, 0], 1).one_back(), None);
    }
}
