//! Questions about the past of a Session: why, when, what differs, what a cache could keep, where something began.
//!
//! Every answer is plain data computed from the log and its folds, on Sessions of our own and on imported ones; drawing
//! and JSON are made of that data. Provenance is what the folds carry; nothing is searched afterwards to guess it. Where
//! the log lacks a fact that an answer needs, the answer says which ([`Lack`]).

pub mod bisect;
pub mod cache;
pub mod certify;
pub mod diff;
mod error;
pub mod goldens;
mod past;
mod request;
mod steps;
pub mod views;
pub mod when;
pub mod why;

pub use error::AskError;
pub use past::{Fact, Past};
pub use request::{Asked, Built, Lack, each_request};
pub use steps::{Answer, Step, Steps};
