//! What should not be in a log, shown in its place.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use annals_core::Seq;
use serde::{Deserialize, Serialize};

/// An impossible event in a log. It is noted in its place and folding continues, so that a damaged session can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anomaly {
    /// The event.
    pub seq: Seq,
    /// What is wrong with it, in words.
    pub what: Cow<'static, str>,
}

/// The anomalies of a log, by Seq. Bounded: past [`Anomalies::MAX`] they are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// The first ones, in order.
    pub list: Vec<Anomaly>,
    /// How many there are in all.
    pub count: u64,
}

impl Anomalies {
    /// How many are kept in full.
    pub const MAX: usize = 1_000;

    pub(crate) fn note(&mut self, seq: Seq, what: impl Into<Cow<'static, str>>) {
        self.count += 1;
        if self.list.len() < Self::MAX {
            self.list.push(Anomaly { seq, what: what.into() });
        }
    }
}
