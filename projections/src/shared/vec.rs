//! A list whose clones share their items.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::{Index, Range};
use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many items a chunk has; all but the last one are full.
const CHUNK: usize = 32;

/// A list whose clones share their items.
///
/// ```
/// use annals_projections::SharedVec;
///
/// let mut list: SharedVec<u32> = (0..100).collect();
/// let before = list.clone();
/// list.push(100);
/// assert_eq!((before.len(), list.len(), list.last()), (100, 101, Some(&100)));
/// ```
#[derive(Clone)]
pub struct SharedVec<T> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> SharedVec<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }

    /// How many items it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item at a place.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// The first item.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// Its items in order.
    pub fn iter(&self) -> SharedVecIter<'_, T> {
        self.range(0..self.len)
    }

    /// The items at some places; those beyond the end are left out.
    pub fn range(&self, range: Range<usize>) -> SharedVecIter<'_, T> {
        SharedVecIter { list: self, range: range.start.min(self.len)..range.end.min(self.len) }
    }

    /// The first place whose item is not `before`, when those that are come first.
    pub fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> usize {
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&mut before));
        match self.chunks.get(chunk) {
            Some(items) => chunk * CHUNK + items.partition_point(before),
            None => self.len,
        }
    }

    /// The place of an item by its key, when they are in order of their keys.
    pub fn find_by_key<K: Ord>(&self, key: &K, mut of: impl FnMut(&T) -> K) -> Option<usize> {
        let at = self.partition_point(|item| of(item) < *key);
        self.get(at).filter(|item| of(item) == *key).map(|_| at)
    }

    /// Removes the items from a place on.
    pub fn truncate(&mut self, len: usize)
    where
        T: Clone,
    {
        if len >= self.len {
            return;
        }
        self.chunks.truncate(len.div_ceil(CHUNK));
        if let Some(last) = self.chunks.last_mut()
            && !len.is_multiple_of(CHUNK)
        {
            Arc::make_mut(last).truncate(len % CHUNK);
        }
        self.len = len;
    }
}

impl<T: Clone> SharedVec<T> {
    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        match self.chunks.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(item),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(item);
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
    }

    /// Removes the last item and returns it.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.last().cloned()?;
        self.truncate(self.len - 1);
        Some(last)
    }

    /// The item at a place, to be changed: its chunk is copied if someone else holds it.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(at / CHUNK).filter(|chunk| at % CHUNK < chunk.len())?;
        Arc::make_mut(chunk).get_mut(at % CHUNK)
    }

    /// Keeps the items that a condition holds for.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let Some(first) = self.iter().position(|item| !keep(item)) else { return };
        let rest: Vec<T> = self.range(first + 1..self.len).filter(|item| keep(item)).cloned().collect();
        self.truncate(first);
        self.extend(rest);
    }

    /// Removes the first items and returns them.
    pub fn drain_front(&mut self, count: usize) -> Vec<T> {
        let count = count.min(self.len);
        if count == 0 {
            return Vec::new();
        }
        let rest: Self = self.range(count..self.len).cloned().collect();
        let all = core::mem::replace(self, rest);
        all.range(0..count).cloned().collect()
    }
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<usize> for SharedVec<T> {
    type Output = T;

    #[track_caller]
    #[expect(clippy::expect_used, reason = "as for slices, a place beyond the end is a defect of the caller")]
    fn index(&self, at: usize) -> &T {
        self.get(at).expect("the place is in the list")
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for SharedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<Vec<T>>, &Arc<Vec<T>>)| Arc::ptr_eq(one, other) || one == other;
        self.len == other.len && self.chunks.iter().zip(&other.chunks).all(same)
    }
}

impl<T: Eq> Eq for SharedVec<T> {}

impl<T: PartialEq> PartialEq<[T]> for SharedVec<T> {
    fn eq(&self, other: &[T]) -> bool {
        self.iter().eq(other)
    }
}

impl<T: Clone> Extend<T> for SharedVec<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Clone> FromIterator<T> for SharedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        list.extend(items);
        list
    }
}

impl<T: Clone> From<Vec<T>> for SharedVec<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a SharedVec<T> {
    type Item = &'a T;
    type IntoIter = SharedVecIter<'a, T>;

    fn into_iter(self) -> SharedVecIter<'a, T> {
        self.iter()
    }
}

impl<T: Serialize> Serialize for SharedVec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.len))?;
        self.iter().try_for_each(|item| seq.serialize_element(item))?;
        seq.end()
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for SharedVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_items(deserializer, core::convert::identity::<T>)
    }
}

/// Reads a list item by item into its chunks.
pub(super) fn read_items<'de, S: Deserialize<'de>, T: Clone, D: Deserializer<'de>>(
    from: D,
    item: fn(S) -> T,
) -> Result<SharedVec<T>, D::Error> {
    from.deserialize_seq(Items(item))
}

/// Makes items of what is read.
struct Items<S, T>(fn(S) -> T);

impl<'de, S: Deserialize<'de>, T: Clone> Visitor<'de> for Items<S, T> {
    type Value = SharedVec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SharedVec<T>, A::Error> {
        let mut list = SharedVec::new();
        while let Some(item) = items.next_element()? {
            list.push((self.0)(item));
        }
        Ok(list)
    }
}

/// Items of a [`SharedVec`].
#[derive(Clone, Debug)]
pub struct SharedVecIter<'a, T> {
    list: &'a SharedVec<T>,
    range: Range<usize>,
}

impl<'a, T> Iterator for SharedVecIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.list.get(self.range.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<&'a T> {
        self.list.get(self.range.nth(n)?)
    }
}

impl<T> DoubleEndedIterator for SharedVecIter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.list.get(self.range.next_back()?)
    }
}

impl<T> ExactSizeIterator for SharedVecIter<'_, T> {}
impl<T> FusedIterator for SharedVecIter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What can be done with a list.
    #[derive(Clone, Debug)]
    enum Change {
        Push(u16),
        Set(usize, u16),
        Truncate(usize),
        Retain(u16),
        DrainFront(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            8 => any::<u16>().prop_map(Change::Push),
            2 => (0..200usize, any::<u16>()).prop_map(|(at, item)| Change::Set(at, item)),
            1 => (0..200usize).prop_map(Change::Truncate),
            1 => (2..9u16).prop_map(Change::Retain),
            1 => (0..40usize).prop_map(Change::DrainFront),
        ]
    }

    proptest! {
        #[test]
        fn a_shared_list_is_a_list_and_its_clones_do_not_change(
            start in prop::collection::vec(any::<u16>(), 0..100),
            changes in prop::collection::vec(change(), 0..80),
        ) {
            let (mut list, mut model) = (SharedVec::from(start.clone()), start);
            for change in changes {
                let (before, unchanged) = (list.clone(), model.clone());
                match change {
                    Change::Push(item) => {
                        list.push(item);
                        model.push(item);
                    }
                    Change::Set(at, item) => {
                        let one = list.get_mut(at).map(|place| *place = item);
                        prop_assert_eq!(one, model.get_mut(at).map(|place| *place = item));
                    }
                    Change::Truncate(len) => {
                        list.truncate(len);
                        model.truncate(len);
                    }
                    Change::Retain(divisor) => {
                        list.retain(|item| item % divisor != 0);
                        model.retain(|item| item % divisor != 0);
                    }
                    Change::DrainFront(count) => {
                        let drained: Vec<u16> = model.drain(..count.min(model.len())).collect();
                        prop_assert_eq!(list.drain_front(count), drained);
                    }
                }
                prop_assert_eq!(&before, unchanged.as_slice());
                prop_assert_eq!(&list, model.as_slice());
                prop_assert_eq!(list.len(), model.len());
                prop_assert!(list.iter().rev().eq(model.iter().rev()));
                prop_assert_eq!(list.last(), model.last());
            }
            let json = serde_json::to_string(&list).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&model).unwrap());
            prop_assert_eq!(serde_json::from_str::<SharedVec<u16>>(&json).unwrap(), list);
        }

        #[test]
        fn items_in_order_are_found(mut items in prop::collection::vec(any::<u16>(), 0..200), sought in any::<u16>()) {
            items.sort_unstable();
            items.dedup();
            let list = SharedVec::from(items.clone());
            prop_assert_eq!(list.partition_point(|item| *item < sought), items.partition_point(|item| *item < sought));
            prop_assert_eq!(list.find_by_key(&sought, |item| *item), items.binary_search(&sought).ok());
        }
    }
}
