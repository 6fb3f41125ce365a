//! What operations answer.

pub mod edits;
pub mod events;
pub mod prompts;
pub mod questions;
pub mod requests;
pub mod sessions;
pub mod streams;
pub mod timeline;
pub mod user_questions;
pub mod whole_store;
