//! Lists of items behind [`Arc`] in saved views: written as the items themselves.

use super::SharedVec;
use super::vec::read_items;
use alloc::sync::Arc;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(list: &SharedVec<Arc<T>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(list.iter().map(|item| &**item))
}

pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<SharedVec<Arc<T>>, D::Error> {
    read_items(from, Arc::new)
}
