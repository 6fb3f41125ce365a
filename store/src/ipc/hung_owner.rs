//! An owner that is there and says nothing.

use super::owner_connections::Lost;
use crate::disk::Layout;
use crate::hung_owner::HungOwner;
use std::path::Path;

impl HungOwner {
    /// The owner of the store in a folder, as noted when it took the lock.
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), owner: Layout::new(dir).owner() }
    }

    /// The error that a broken call carries, if it broke for that.
    pub(super) fn in_error(lost: &Lost) -> Option<Self> {
        lost.get_ref()?.downcast_ref::<Self>().cloned()
    }
}
