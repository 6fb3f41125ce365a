//! Scenario files, recorded and generated ones.

mod compaction_laws;
mod fixtures;
mod projections;
mod random;
mod recorded;
