//! Generated scenarios, and scenario files in tests of projections. `scenario_files` plays the files.

mod compaction_laws;
mod projections;
mod random;
