//! What a program that runs sessions for people needs around a [`Runtime`](crate::Runtime), with or without a terminal.
//!
//! ```text
//! HostParts ─► StoreHost (Runtime, Leases, ports)      everything over one store
//! ServicesAt ─► LocationCache ─► Ports::locations      each location is examined once
//! QuestionSender ─► Ports::approver                    permission questions arrive on a channel
//! PromptSender ─► the tool `question`                  questions of models arrive on a channel
//! Leases ─► run_leased ─► RunEnd                       one process at a time runs a session
//! Bus ─► HeldNotices, JsonLines                        what is shown later, what programs read
//! ```

mod empty_answer;
mod held_notices;
mod json_lines;
mod lease;
mod leased_run;
mod locations;
mod prompts;
mod questions;
mod store_host;
mod this_process;

pub use empty_answer::{EmptyAnswer, is_answered};
pub use held_notices::HeldNotices;
pub use json_lines::JsonLines;
pub use lease::{Lease, LeaseError, Leases};
pub use leased_run::{Elsewhere, LeasedRunError, RunEnd, RunGoal, run_leased};
pub use locations::{LocationCache, ServicesAt};
pub use prompts::{PromptSender, WaitingPrompt};
pub use questions::{QuestionSender, WaitingQuestion};
pub use store_host::{HostParts, OUTPUTS, OpenHostError, StoreHost};
pub use this_process::ThisProcess;
