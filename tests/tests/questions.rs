//! The questions about a session: what they answer, and the laws of the answers.

mod bodies;
mod cache;
mod costs;
mod drawn;
mod harness;
mod index;
mod laws;
mod logs;
mod long;
mod pages;
