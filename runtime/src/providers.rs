//! Providers: models behind HTTP, and recorded ones (DESIGN section 7).

pub mod cassette;

pub use cassette::{CassettePlayer, CassetteRecorder};
