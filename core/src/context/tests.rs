//! The System Context algebra against the decision tables of system-context section 3, written down again here from
//! its text: [`table`] holds the tables, [`laws`] plays every case through both.

mod edges;
mod key;
mod laws;
mod source;
mod table;
