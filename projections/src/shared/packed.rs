//! A list that is loaded as it was saved: all but the newest items are packed, and decoded when they are asked for.

use super::SharedVec;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many items are packed together.
const CHUNK: usize = 64;

/// A list of many items of which few are asked for. Clones share what they contain.
///
/// ```
/// use annals_projections::PackedVec;
///
/// let mut list = PackedVec::default();
/// (0..200).for_each(|item: u64| list.push(item));
/// assert_eq!((list.len(), list.get(70), list.iter().next_back()), (200, Some(70), Some(199)));
/// ```
#[derive(Clone)]
pub struct PackedVec<T> {
    packed: Vec<Arc<PackedBytes>>,
    /// The newest, fewer than two chunks.
    open: SharedVec<T>,
}

impl<T> PackedVec<T> {
    /// How many items it has.
    pub const fn len(&self) -> usize {
        self.packed.len() * CHUNK + self.open.len()
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Serialize + DeserializeOwned + Clone> PackedVec<T> {
    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.open.push(item);
        if self.open.len() == 2 * CHUNK {
            let chunk = self.open.drain_front(CHUNK);
            // What cannot be written could not be saved either: it has no items then.
            self.packed.push(Arc::new(PackedBytes(postcard::to_allocvec(&chunk).unwrap_or_default())));
        }
    }

    /// The item at a place, from 0.
    pub fn get(&self, at: usize) -> Option<T> {
        match self.packed.get(at / CHUNK) {
            Some(_) => self.chunk(at / CHUNK).into_iter().nth(at % CHUNK),
            None => self.open.get(at - self.packed.len() * CHUNK).cloned(),
        }
    }

    /// Its items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        self.range(0..self.len())
    }

    /// The items at some places; those beyond the end are left out.
    pub fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = T> + '_ {
        let until = range.end.min(self.len());
        let from = range.start.min(until);
        let chunks = (from / CHUNK).min(self.packed.len())..until.div_ceil(CHUNK).min(self.packed.len() + 1);
        chunks.flat_map(move |chunk| {
            let (items, first) = (self.chunk(chunk), chunk * CHUNK);
            items.into_iter().take(until - first).skip(from.saturating_sub(first))
        })
    }

    /// Removes the first items.
    pub fn remove_front(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let mut rest = Self::default();
        self.range(count..self.len()).for_each(|item| rest.push(item));
        *self = rest;
    }

    /// The items of a chunk; behind the packed ones, those that are open. Bytes of another form, which a saved view with a sound hash
    /// cannot have, have none.
    fn chunk(&self, chunk: usize) -> Vec<T> {
        match self.packed.get(chunk) {
            Some(packed) => postcard::from_bytes(&packed.0).unwrap_or_default(),
            None => self.open.iter().cloned().collect(),
        }
    }
}

impl<T> Default for PackedVec<T> {
    fn default() -> Self {
        Self { packed: Vec::new(), open: SharedVec::new() }
    }
}

impl<T: Serialize + DeserializeOwned + Clone + PartialEq> PartialEq for PackedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Serialize + DeserializeOwned + Clone + Eq> Eq for PackedVec<T> {}

impl<T: Serialize + DeserializeOwned + Clone + fmt::Debug> fmt::Debug for PackedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Serialize + DeserializeOwned + Clone> Serialize for PackedVec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter());
        }
        let packed: Vec<&PackedBytes> = self.packed.iter().map(|chunk| &**chunk).collect();
        (packed, &self.open).serialize(serializer)
    }
}

impl<'de, T: Serialize + DeserializeOwned + Clone> Deserialize<'de> for PackedVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let mut list = Self::default();
            Vec::deserialize(deserializer)?.into_iter().for_each(|item| list.push(item));
            return Ok(list);
        }
        let (packed, open): (Vec<PackedBytes>, SharedVec<T>) = Deserialize::deserialize(deserializer)?;
        Ok(Self { packed: packed.into_iter().map(Arc::new).collect(), open })
    }
}

/// Bytes, which are saved as such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedBytes(pub(crate) Vec<u8>);

impl Serialize for PackedBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for PackedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = PackedBytes;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<PackedBytes, E> {
        Ok(PackedBytes(bytes.to_vec()))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<PackedBytes, E> {
        Ok(PackedBytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    fn list(count: usize) -> PackedVec<String> {
        let mut list = PackedVec::default();
        (0..count).for_each(|item| list.push(item.to_string()));
        list
    }

    #[test]
    fn it_has_what_a_vector_has() {
        for count in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK - 1, 2 * CHUNK, 3 * CHUNK + 7] {
            let (list, all) = (list(count), (0..count).map(|item| item.to_string()).collect::<Vec<_>>());
            assert_eq!((list.len(), list.is_empty()), (count, count == 0));
            assert_eq!(list.iter().collect::<Vec<_>>(), all);
            assert!(list.iter().rev().eq(all.iter().rev().cloned()));
            for at in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK, count, count + CHUNK] {
                assert_eq!(list.get(at), all.get(at).cloned(), "{at} of {count}");
                let part: Vec<String> = list.range(at..at + CHUNK + 2).collect();
                let (from, until) = (at.min(count), (at + CHUNK + 2).min(count));
                assert_eq!(part, &all[from..until], "from {at} of {count}");
                let mut rest = list.clone();
                rest.remove_front(at);
                assert!(rest.iter().eq(all.iter().skip(at).cloned()), "without {at} of {count}");
            }
        }
    }

    #[test]
    fn it_is_saved_and_loaded() {
        let list = list(5 * CHUNK + 3);
        let saved = postcard::to_allocvec(&list).unwrap();
        let loaded: PackedVec<String> = postcard::from_bytes(&saved).unwrap();
        assert_eq!((&loaded, loaded.packed.len()), (&list, 4));
        let json = serde_json::to_string(&list).unwrap();
        assert!(json.starts_with(r#"["0","1""#), "{json}");
        assert_eq!(serde_json::from_str::<PackedVec<String>>(&json).unwrap(), list);
    }
}
