//! Shared by the tests across crates: crash stories, fuzz targets, mock servers, scenario files.

pub mod aimock;
pub mod counting_log;
pub mod crash;
pub mod crash_stories;
pub mod deadline;
pub mod editor;
pub mod fuzz;
pub mod long_session;
pub mod model;
pub mod needed;
pub mod scenarios;
