//! Scenario files, recorded and generated ones.

mod compaction_laws;
mod fixtures;
mod random;
mod recorded;
