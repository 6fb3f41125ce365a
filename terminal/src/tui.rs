//! The time machine in the terminal: sessions, and one session at any cut.
//!
//! ```text
//! keys, sizes ─► TuiState (pure) ─► draw
//!                 │        ▲
//!        TuiWanted▼        │TuiLoaded
//!               TuiLoader (reads the log; only the newest wish counts)
//! ```

mod draw;
mod follow;
mod layout;
mod list;
mod load;
mod page;
mod pages;
mod screen_loop;
mod session;
mod state;
mod tab;
#[cfg(test)]
mod tests;
mod timeline;

pub use follow::TuiSource;
pub use list::TuiList;
pub use screen_loop::{TuiEnd, show};
