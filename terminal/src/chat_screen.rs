//! The screen of `annals chat` on a terminal: finished lines go into the terminal's own scrollback, and below them stays a part that
//! is drawn again and again.
//!
//! ```text
//! keys, sizes ─┐                                  ┌─► lines above (the terminal's: scrolled, copied, searched)
//! text, LiveView, questions ─► ScreenState (pure) ┼─► LowerScreen: what streams and runs, question, input, status
//!                                                 └─► ScreenInput ─► chat
//! ```

mod card;
mod completion;
mod editing;
mod editor;
mod frame;
mod handle;
mod inline;
mod input_history;
mod keys;
mod live;
mod page;
mod painted;
mod pressing;
mod raw_terminal;
mod screen_thread;
mod state;
#[cfg(test)]
mod tests;

pub use card::{LinesOf, QuestionAnswer, QuestionOption, ScreenQuestion};
pub use handle::{ChatScreen, ScreenHandle, ScreenSettings};
pub use live::{LiveCall, LiveView};
pub use state::ScreenInput;

use crate::style::{Emphasis, Style};

/// A text that cannot steer the terminal, painted: for [`ScreenHandle::details`].
pub fn safe(style: &Style, emphasis: Emphasis, text: &str) -> String {
    painted::painted(style, emphasis, text)
}
