//! A session with a user interface: answers to permission questions, and output, around a [`Host`](annals_host::Host).
//!
//! ```text
//! annals_host::Host (Runtime over the store) ─► run_interactive: inputs, notices, questions, signals
//!                                                  └─► Frontend: the screen, or JSON lines
//! ```

pub mod chat;
pub mod closing;
mod edge;
mod frontend;
mod idle;
mod interaction;
mod lines;
mod meter;
mod question;
mod question_card;
mod run_loop;
mod screen;
mod screen_questions;
mod screen_tasks;
mod screen_tools;
mod typed_reply;
mod window_use;

pub use chat::ChatCommand;
pub use frontend::Frontend;
pub use idle::{idle, leave};
pub use interaction::Interaction;
pub use lines::{TypedLine, TypedLines};
pub use run_loop::run_interactive;
pub use screen::Screen;
