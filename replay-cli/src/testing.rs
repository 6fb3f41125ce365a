//! What the tests of the workspace use of the inside of the command: a host in front of a scripted model, and drawing.

pub use crate::command_context::CommandContext;
pub use crate::commands::bisect::draw as draw_bisection;
pub use crate::draw::{cache, diff, when, why};
pub use crate::layout::Sheet;
pub use crate::live::{Frontend, Interaction, Screen, TypedLine, TypedLines, run_interactive};
pub use annals_host::StoreChoice;
