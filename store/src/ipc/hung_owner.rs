//! An owner that is there and says nothing.

use super::client::Lost;
use crate::disk::Layout;
use crate::hung_owner::HungOwner;
use std::path::Path;

impl HungOwner {
    /// The owner of the store in a folder, as it told when it took the lock.
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), owner: Layout::new(dir).owner() }
    }

    /// What a broken call tells of it, if it broke for that.
    pub(super) fn in_error(lost: &Lost) -> Option<Self> {
        lost.get_ref()?.downcast_ref::<Self>().cloned()
    }
}
