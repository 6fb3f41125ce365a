//! The agent runtime of Annals: it observes the world, decides, and appends.
//!
//! ```text
//! Session (admit, run, compact, revert, fork) ◄─ Runtime (Settings, Ports)
//!    │
//!    ▼
//! drain: turns until nothing is left to do
//!    │
//!    ▼
//! turn: boundary (inbox, context) ─► record_request ─► exchange (provider) ─► answer ─► calls (permission, tools)
//!    │                                                                                    │
//!    ▼                                                                                    ▼
//! lane: the only writer of a session; decides again after a conflict ─► redaction ─► log ─► bus (watchers)
//! ```
//!
//! [`ports`] are the traits for everything outside: files, clock, output files. [`worktree`] is the trait for captures of
//! a project's files. Described in `docs/reference/turn.md`.

pub mod background;
mod builder;
pub mod bus;
pub mod context;
mod coordinator;
mod drain;
mod editing;
mod guarded;
pub mod hooks;
pub mod host;
mod lane;
pub mod outcome;
pub mod permission;
pub mod ports;
mod process;
pub mod prompt;
mod recovery;
pub mod rerun;
mod runtime;
mod session;
pub mod settings;
mod state;
pub mod subagents;
pub mod testing;
mod titles;
pub mod tools;
mod turn;
pub mod worktree;

pub use annals_store::Boxed;
pub use builder::{BuildRuntimeError, RuntimeBuilder};
pub use editing::{EditorPorts, FilesAt};
pub use outcome::{Admitted, CompactionError, LogError, MissingItem, Outcome, Refusal, RunError};
pub use process::{DescribeProcess, ProcessRecorder};
pub use runtime::NewSession;
pub use session::{
    BackgroundEnded, EditRefusal, EditableText, Extent, FilesStay, InputAnswer, InputAnswerError, Local, MessagePlace,
    MoveChoice, MovePlan, NewInput, RevertFiles, RevertPlan, Session, SessionEditor, TextKind, fork_title, local_fork,
    next_redo, next_undo,
};
pub use settings::{Ports, Settings};
pub use state::Runtime;
