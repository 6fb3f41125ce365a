//! How Annals looks on a terminal: what the `annals` command draws with, and the screens of sessions that run.
//!
//! ```text
//! answers of annals-inspect ─► draw ─► layout, style, markdown ─► escape ─► pager ─► the terminal
//! keys ─► tui: a session at any cut, drawn by draw
//! annals_host::Host ─► live: inputs, notices, questions, signals ─► the screen, or JSON lines
//! ```
//!
//! Everything that is written goes through [`escape`]: what a log or a model says never steers a terminal. The page of `docs/`
//! is `docs/commands.md#common-to-all-commands`.

pub mod ago;
pub mod cells;
pub mod chat_screen;
pub mod diagnostics;
pub mod draw;
pub mod error;
pub mod escape;
pub mod json;
pub mod keys;
pub mod layout;
pub mod live;
pub mod markdown;
pub mod message;
pub mod pager;
pub mod picker;
pub mod progress;
pub mod remarks;
pub mod shown_title;
pub mod style;
mod terminal;
pub mod tui;

pub use terminal::Terminal;
