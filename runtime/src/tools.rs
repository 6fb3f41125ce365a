//! Tools: their definition and registration, which ones a turn offers, how a call is settled
//! (`docs/reference/turn.md#tools`).
//!
//! A call goes [`Offered::resolve`] → [`Registered::validate`] → authorisation (`annals_core::permission`) →
//! [`Registered::run`] → [`Bounding::settle`]. Every step before the last may end it with a [`CallError`], whose text
//! the model sees.

mod call;
mod cancel;
mod error;
mod function;
mod indent;
mod inherited_denials;
mod offer;
mod registry;
mod settle;
mod skill;

pub use annals_providers::CallInput;
pub use call::{CallContext, Demand, Past, Permits, ProgressSender, Tool, ToolOutput};
pub use cancel::{Cancel, Cancellation};
pub use error::{CallError, RepeatedCall, ToolError};
pub use function::FunctionTool;
pub(crate) use inherited_denials::InheritedDenials;
pub use offer::Offered;
pub use registry::{Layer, Registered, RegistrationError, ToolRegistry};
pub use settle::{Bounding, hosted};
pub use skill::SkillTool;

#[cfg(test)]
mod tests;
