//! System Context without the world: keys, the Context Snapshot, and what one observation decides.
//!
//! `docs/reference/context.md#decisions` has the tables.

mod key;
mod observation;
mod part;
mod reconcile;
mod snapshot;

pub use key::{InvalidKey, Key};
pub use observation::{Codec, Observation, Observed, Render, Rendering, Undecodable};
pub use part::Part;
pub use reconcile::{
    Generation, InitializationBlocked, ReconcileError, Reconciled, RenderKind, Replaced, Update, initialize, reconcile,
    replace,
};
pub use snapshot::{Entry, Snapshot};

#[cfg(test)]
mod tests;
