//! Where a follower of all sessions is.

use super::{Position, ReadError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display};
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
    /// The next place in each part of a store, and the part of the last batch. `floors`: from where on batches may be elsewhere, since
    /// texts were erased while it was followed. `copies`: the last copy of an erased session that was given, before its marker. Both are
    /// empty for "nothing".
    Sharded { next: Arc<[u64]>, last: u32, floors: Arc<[u64]>, copies: Arc<[u64]> },
}

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
        Self(CursorParts::Sharded { next: next.into(), last, floors: Arc::default(), copies: Arc::default() })
    }

    /// The same place, where batches from `floors` on may still come from elsewhere, and `copies` were given.
    #[cfg(feature = "nats")]
    pub(crate) fn amid_erasures(self, floors: Vec<u64>, copies: Vec<u64>) -> Self {
        match self.0 {
            CursorParts::Sharded { next, last, .. }
                if next.len() == floors.len()
                    && next.len() == copies.len()
                    && (*next != *floors || copies.iter().any(|copy| *copy > 0)) =>
            {
                Self(CursorParts::Sharded { next, last, floors: floors.into(), copies: copies.into() })
            }
            same => Self(same),
        }
    }

    /// The last copy that was given of a part, before its marker.
    #[cfg(feature = "nats")]
    pub(crate) fn copy(&self, part: usize) -> Option<u64> {
        match &self.0 {
            CursorParts::Dense(_) => None,
            CursorParts::Sharded { copies, .. } => copies.get(part).copied(),
        }
    }

    /// From where on batches of a part may still come from elsewhere.
    #[cfg(feature = "nats")]
    pub(crate) fn floor(&self, part: usize) -> Option<u64> {
        match &self.0 {
            CursorParts::Dense(_) => None,
            CursorParts::Sharded { floors, .. } => floors.get(part).copied(),
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
            CursorParts::Sharded { next, last, floors, copies } => {
                write!(f, "{last}")?;
                for places in [next, floors, copies].into_iter().filter(|places| !places.is_empty()) {
                    for (at, place) in places.iter().enumerate() {
                        write!(f, "{}{place}", if at == 0 { ";" } else { "." })?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// A text is no [`StoreCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in a store: use one that a follower received")]
pub struct NoCursor;

impl FromStr for StoreCursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if digits { text.parse::<u64>().map_err(|_| NoCursor) } else { Err(NoCursor) }
        };
        let Some((last, next)) = text.split_once(';') else { return Ok(Self(CursorParts::Dense(number(text)?))) };
        let last = u32::try_from(number(last)?).map_err(|_| NoCursor)?;
        let places = |text: &str| text.split('.').take(PARTS + 1).map(number).collect::<Result<Vec<u64>, _>>();
        let parts = next.splitn(4, ';').map(places).collect::<Result<Vec<_>, _>>()?;
        let (next, floors, copies) = match parts.as_slice() {
            [next] => (next.clone(), Vec::new(), Vec::new()),
            [next, floors, copies] if floors.len() == next.len() && copies.len() == next.len() => {
                (next.clone(), floors.clone(), copies.clone())
            }
            _ => return Err(NoCursor),
        };
        match next.len() <= PARTS && (last as usize) < next.len() {
            true => {
                let (next, floors, copies) = (next.into(), floors.into(), copies.into());
                Ok(Self(CursorParts::Sharded { next, last, floors, copies }))
            }
            false => Err(NoCursor),
        }
    }
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
    use super::{Position, StoreCursor};

    #[test]
    fn a_cursor_reads_back_from_its_text() {
        let sharded = StoreCursor::sharded(vec![3, 0, 19], 2);
        let all = [StoreCursor::START, StoreCursor::behind(Position(7)), sharded.clone()];
        #[cfg(feature = "nats")]
        {
            assert_eq!(sharded.clone().amid_erasures(vec![3, 0, 19], vec![0, 0, 0]), sharded, "nothing to say");
            let amid = sharded.clone().amid_erasures(vec![1, 0, 19], vec![0, 0, 7]);
            assert_eq!((amid.floor(0), amid.copy(2)), (Some(1), Some(7)));
            assert_eq!(amid.to_string(), "2;3.0.19;1.0.19;0.0.7");
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
            "0;1.2;3",
            "0;1;2",
            "0;1;2;3;4",
            "0;1;;",
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
