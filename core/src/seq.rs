//! The place of an event in its session.

use core::fmt;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// The place of an event in its session: dense, from 0. The only order there is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The first place.
    pub const ZERO: Self = Self(0);

    /// The place `n` further on.
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
