//! Work in the background: requests for titles and tasks of subagents, which no turn waits for.
//!
//! [`Scheduler`] decides when such work starts; `Background` holds the tasks of this process, so that they can be awaited
//! and cancelled.

mod schedule;
mod tasks;

pub(crate) use schedule::scheduled;
pub use schedule::{Guard, Scheduler, Work};
pub(crate) use tasks::Background;
