//! Files that a test watches, and locations by their directories.

use annals_core::event::Location;
use annals_runtime::settings::{LocationServices, Locations};
use annals_runtime::worktree::{Capture, Changes, Checkout, Files, FilesError, Plan, Transfer, Tree, Undo};
use annals_store::Boxed;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A moment in the work on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A plan is about to be carried out.
    Restores,
    /// A plan was carried out.
    Restored,
    /// A departure is about to be planned.
    Departs,
}

/// Comes between: waits, does something else, or refuses.
pub trait Watch: Send + Sync {
    fn at(&self, moment: Moment) -> Boxed<'_, Result<(), FilesError>>;
}

/// Files whose work is watched.
pub struct Watched<W> {
    pub inner: Arc<dyn Files>,
    pub watch: W,
}

impl<W: Watch> Files for Watched<W> {
    fn conversation_only(&self) -> Option<&str> {
        self.inner.conversation_only()
    }
    fn is_gone(&self) -> bool {
        self.inner.is_gone()
    }
    fn checkout(&self) -> Option<Checkout> {
        self.inner.checkout()
    }
    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>> {
        self.inner.capture()
    }
    fn changes<'a>(&'a self, from: &'a Tree, to: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>> {
        self.inner.changes(from, to)
    }
    fn plan<'a>(&'a self, undo: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan(undo)
    }
    fn restore<'a>(&'a self, plan: &'a Plan) -> Boxed<'a, Result<(), FilesError>> {
        Box::pin(async move {
            self.watch.at(Moment::Restores).await?;
            self.inner.restore(plan).await?;
            self.watch.at(Moment::Restored).await
        })
    }
    fn plan_take_back<'a>(&'a self, from: &'a Tree, to: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan_take_back(from, to)
    }
    fn uncommitted<'a>(&'a self, below: &'a str) -> Boxed<'a, Result<Transfer, FilesError>> {
        self.inner.uncommitted(below)
    }
    fn plan_arrival<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan_arrival(transfer)
    }
    fn plan_departure<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        Box::pin(async move {
            self.watch.at(Moment::Departs).await?;
            self.inner.plan_departure(transfer).await
        })
    }
    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>> {
        self.inner.tidy()
    }
}

/// Services by directory.
pub struct Places(pub BTreeMap<String, LocationServices>);

impl Locations for Places {
    fn at(&self, location: &Location) -> LocationServices {
        self.0.get(&location.directory).cloned().unwrap_or_default()
    }
}

/// The location of a directory.
pub fn at(path: &Path) -> Location {
    Location { directory: path.to_string_lossy().into_owned(), workspace: None }
}
