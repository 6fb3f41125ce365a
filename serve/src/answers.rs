//! What operations answer.

pub mod events;
pub mod questions;
pub mod requests;
pub mod sessions;
pub mod streams;
pub mod timeline;
pub mod whole_store;
