//! The agent runtime of Annals: what observes the world, decides, and appends.
#![warn(missing_docs)]

pub mod bus;
pub mod catalog;
pub mod compaction;
pub mod context;
mod coordinator;
mod drain;
mod lane;
pub mod outcome;
pub mod permission;
pub mod ports;

pub mod providers;
pub mod redaction;
mod runtime;
pub mod scenario;
mod session;
pub mod settings;
pub mod subagents;
pub mod tools;
mod turn;
pub mod views;
pub mod wire;
pub mod workbench;
pub mod worktree;

pub use annals_store::Boxed;
pub use outcome::{Admitted, LogError, Outcome, Refusal, RunError};
pub use runtime::{NewSession, Runtime};
pub use session::{
    BackgroundEnded, Extent, MessagePlace, MovePlan, NewInput, RevertFiles, RevertPlan, Session, fork_title,
};
pub use settings::{Ports, Settings};
