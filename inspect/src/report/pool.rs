//! Values that many views of a report share, each kept once.

use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Values by the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Pool {
    ids: HashMap<String, u32>,
}

impl Pool {
    /// The number of a value, which is added unless it is there.
    pub(super) fn add<T: Serialize>(&mut self, value: &T) -> u32 {
        // A value of our own without maps of other keys than texts always has a JSON form.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        let next = self.ids.len() as u32;
        *self.ids.entry(json).or_insert(next)
    }

    /// All values, in order.
    pub(super) fn into_items(self) -> Vec<Box<RawValue>> {
        let mut items: Vec<(String, u32)> = self.ids.into_iter().collect();
        items.sort_by_key(|(_, id)| *id);
        items.into_iter().filter_map(|(json, _)| RawValue::from_string(json).ok()).collect()
    }
}

/// A list of numbers as runs: the first number and how many follow each other.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Runs(Vec<(u32, u32)>);

impl Runs {
    pub(super) fn of(ids: &[u32]) -> Self {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for id in ids {
            match runs.last_mut() {
                Some((first, count)) if first.checked_add(*count) == Some(*id) => *count += 1,
                _ => runs.push((*id, 1)),
            }
        }
        Self(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_kept_once_and_lists_are_runs() {
        let mut pool = Pool::default();
        let ids: Vec<u32> = ["a", "b", "a", "c", "d"].iter().map(|text| pool.add(text)).collect();
        assert_eq!(ids, [0, 1, 0, 2, 3]);
        assert_eq!(Runs::of(&ids), Runs(vec![(0, 2), (0, 1), (2, 2)]));
        let items: Vec<String> = pool.into_items().iter().map(|item| item.get().to_owned()).collect();
        assert_eq!(items, ["\"a\"", "\"b\"", "\"c\"", "\"d\""]);
    }
}
