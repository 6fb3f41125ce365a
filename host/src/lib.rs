//! Sessions run from a configuration: what the `annals` command, a server that admits prompts and an editor protocol have in
//! common. Nothing here knows a terminal or arguments.
//!
//! ```text
//! HostContext ─► store, Reader ─► ExistingSession ─┐
//! (where, variables, remarks)      RunOptions ─────┴─► configured ─► HostParts, Chosen ─► Host ─► open ─► Session
//!                                                      (agent, model, provider, tools, MCP servers, rules, redaction)
//! ```
//!
//! [`HostedSession`] does all of it for one session: it opens it, admits prompts, runs it, hands out permission questions on a channel and
//! interrupts. The parts are there for programs that need them one by one: [`editing`] changes sessions without a model, [`erasing`]
//! removes texts, [`AutomaticSigner`] signs what was appended, [`live`] shows
//! other processes what is on its way, [`asked`] lets them answer questions of models.

pub mod advice;
mod approval;
pub mod asked;
mod configured;
mod context;
pub mod editing;
pub mod erasing;
mod error;
mod existing_session;
mod expansion;
mod host;
mod hosted_session;
mod index_keeper;
mod launcher;
pub mod live;
mod live_config;
mod opened_log;
mod opening;
#[cfg(feature = "nats")]
mod private_folder;
pub mod project;
mod remarks;
mod short_id;
mod signals;
mod signing;
mod socket;
mod store_choice;

pub use approval::ApprovalMode;
pub use configured::{Chosen, EditorServices, RunOptions, configured, configured_asking, unknown_model};
pub use context::{HostContext, HostProgram};
pub use error::{EditError, HostError, SigningError, status_of_file};
pub use existing_session::{ExistingSession, continued, working_directory};
pub use expansion::{ExpandedPrompt, PromptExpander};
pub use host::Host;
pub use hosted_session::{HostedSession, Questions};
pub use index_keeper::IndexKeeper;
pub use launcher::launched;
pub use live_config::LiveConfig;
pub use opened_log::{ClusterErasure, OpenedLog};
pub use opening::{open, open_to_prompt};
pub use remarks::{HostRemarks, LoggedRemarks, NoProgress, WorkProgress};
pub use short_id::short;
pub use signals::{Signal, Signals};
pub use signing::{AutomaticSigner, key_file};
pub use store_choice::{StoreChoice, VARIABLE};
