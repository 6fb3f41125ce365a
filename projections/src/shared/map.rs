//! A map and a set whose clones share their entries.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most entries of a chunk; one more, and it is split in two.
const CHUNK: usize = 64;

/// Entries in order of their keys.
type Entries<K, V> = Arc<Vec<(K, V)>>;

/// A map whose clones share their entries, in order of its keys.
#[derive(Clone)]
pub struct SharedMap<K, V> {
    /// None is empty.
    chunks: Vec<Entries<K, V>>,
    len: usize,
}

impl<K, V> SharedMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }

    /// How many entries it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Its entries in order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }

    /// Its values in order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk(key))?;
        let at = chunk.binary_search_by(|(known, _)| known.borrow().cmp(key)).ok()?;
        chunk.get(at).map(|(_, value)| value)
    }

    /// Whether there is a value of a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The chunk in which a key is, if it is in any.
    fn chunk<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let begins = |chunk: &Entries<K, V>| chunk.first().is_some_and(|(first, _)| first.borrow() <= key);
        self.chunks.partition_point(begins).saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Sets the value of a key; returns the one before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let place = self.chunk(&key);
        let Some(shared) = self.chunks.get_mut(place) else {
            self.chunks.push(Arc::new(alloc::vec![(key, value)]));
            self.len = 1;
            return None;
        };
        let chunk = Arc::make_mut(shared);
        match chunk.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => return chunk.get_mut(at).map(|(_, known)| core::mem::replace(known, value)),
            Err(at) => chunk.insert(at, (key, value)),
        }
        self.len += 1;
        if chunk.len() > CHUNK {
            // Keys that are in order fill their chunks.
            let last = place + 1 == self.chunks.len();
            let chunk = self.chunks.get_mut(place).map(Arc::make_mut)?;
            let split = if last { chunk.len() - 1 } else { chunk.len() / 2 };
            let rest = chunk.split_off(split);
            self.chunks.insert(place + 1, Arc::new(rest));
        }
        None
    }

    /// Adds an entry whose key is mostly greater than all others, as in what was written in order.
    fn append(&mut self, key: K, value: V) {
        if self.chunks.last().and_then(|chunk| chunk.last()).is_some_and(|(last, _)| *last >= key) {
            self.insert(key, value);
            return;
        }
        match self.chunks.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push((key, value)),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push((key, value));
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
    }

    /// Keeps the entries that a condition holds for.
    pub fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        for chunk in &mut self.chunks {
            if chunk.iter().any(|(key, value)| !keep(key, value)) {
                Arc::make_mut(chunk).retain(|(key, value)| keep(key, value));
            }
        }
        self.chunks.retain(|chunk| !chunk.is_empty());
        self.len = self.chunks.iter().map(|chunk| chunk.len()).sum();
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K: Serialize, V: Serialize> Serialize for SharedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len))?;
        self.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Clone + Deserialize<'de>> Deserialize<'de> for SharedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadEntries(PhantomData))
    }
}

/// Reads a map entry by entry.
struct ReadEntries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Clone + Deserialize<'de>> Visitor<'de> for ReadEntries<K, V> {
    type Value = SharedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SharedMap<K, V>, A::Error> {
        let mut map = SharedMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            map.append(key, value);
        }
        Ok(map)
    }
}

/// A set whose clones share their items, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedSet<T: Eq>(SharedMap<T, ()>);

impl<T: Ord + Clone> SharedSet<T> {
    /// Adds an item; returns whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        self.0.insert(item, ()).is_none()
    }

    /// Whether it has an item.
    pub fn contains(&self, item: &T) -> bool {
        self.0.contains_key(item)
    }

    /// Removes every item.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Eq + Serialize> Serialize for SharedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len))?;
        self.0.iter().try_for_each(|(item, ())| list.serialize_element(item))?;
        list.end()
    }
}

impl<'de, T: Ord + Clone + Deserialize<'de>> Deserialize<'de> for SharedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ReadItems(PhantomData))
    }
}

/// Reads a set item by item.
struct ReadItems<T>(PhantomData<T>);

impl<'de, T: Ord + Clone + Deserialize<'de>> Visitor<'de> for ReadItems<T> {
    type Value = SharedSet<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SharedSet<T>, A::Error> {
        let mut set = SharedSet(SharedMap::new());
        while let Some(item) = items.next_element()? {
            set.0.append(item, ());
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shared_map_is_a_map_and_its_clones_do_not_change(
            entries in prop::collection::vec((0..400u32, any::<u8>()), 0..600),
            divisor in 1..7u8,
        ) {
            let (mut map, mut model) = (SharedMap::new(), BTreeMap::new());
            for (at, (key, value)) in entries.into_iter().enumerate() {
                let key: String = key.to_string();
                let before = (at % 50 == 0).then(|| (map.clone(), model.clone()));
                prop_assert_eq!(map.insert(key.clone(), value), model.insert(key, value));
                if let Some((before, unchanged)) = before {
                    prop_assert!(before.iter().eq(&unchanged));
                }
            }
            for key in (0..400u32).map(|key| key.to_string()) {
                prop_assert_eq!(map.get(&key), model.get(&key));
            }
            map.retain(|_, value| value % divisor != 0);
            model.retain(|_, value| *value % divisor != 0);
            prop_assert!(map.iter().eq(&model));
            prop_assert_eq!(map.len(), model.len());
            let json = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&model).unwrap());
            let reversed: Vec<String> = model.iter().rev().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            prop_assert_eq!(&serde_json::from_str::<SharedMap<String, u8>>(&format!("{{{}}}", reversed.join(","))).unwrap(), &map);
            prop_assert_eq!(serde_json::from_str::<SharedMap<String, u8>>(&json).unwrap(), map);
        }
    }

    #[test]
    fn a_shared_set_is_written_as_a_list() {
        let mut set = SharedSet::default();
        assert_eq!([set.insert(3), set.insert(1), set.insert(3)], [true, true, false]);
        assert_eq!((set.contains(&1), set.contains(&2)), (true, false));
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, "[1,3]");
        assert_eq!(serde_json::from_str::<SharedSet<i32>>(&json).unwrap(), set);
    }
}
