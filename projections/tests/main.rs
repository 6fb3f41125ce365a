//! Stories, laws and recorded sessions folded.

mod imported;
mod laws;
mod requests;
mod selection;
mod stories;
mod story;
