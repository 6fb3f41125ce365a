//! The tools in real turns, and a session's files in a real git worktree.

#[cfg(unix)]
mod moves;
mod place;
#[path = "../../src/tests/process.rs"]
mod process;
#[cfg(unix)]
mod restarts;
#[cfg(unix)]
mod undo;
mod watched;
mod workbench;
mod worktree;
#[path = "../../../runtime/tests/runs/world.rs"]
#[allow(dead_code, reason = "shared with the tests of runs")]
mod world;
