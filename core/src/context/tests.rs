//! The System Context algebra against the decision tables of `docs/reference/context.md#decisions`, written down again
//! here from its text: [`table`] holds the tables, [`laws`] plays every case through both.

mod edges;
mod key;
mod laws;
mod source;
mod table;
