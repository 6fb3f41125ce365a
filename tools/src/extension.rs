//! What a configuration adds without Rust: tools, context sources and hooks by command (`docs/extending.md`).

mod context;
mod hook;
mod tool;

pub use context::{ContextProgram, LookWhen};
pub use hook::{Hook, HookMoment, HookPrograms};
pub use tool::CustomTool;
pub(super) use tool::ProgramTool;

/// How much of what a program printed is shown as the reason of a failure, in characters.
const REASON: usize = 2_000;

/// Why a program failed: what it said on stderr, else on stdout, else how it ended.
fn reason(output: &super::program::ProgramOutput) -> String {
    let message = [output.stderr.trim(), output.stdout.trim()].into_iter().find(|text| !text.is_empty());
    match (message, output.exit) {
        (Some(text), _) => text.chars().take(REASON).collect(),
        (None, Some(code)) => format!("it exited with code {code}"),
        (None, None) => "it was ended by a signal".into(),
    }
}
