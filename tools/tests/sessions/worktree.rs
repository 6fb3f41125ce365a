//! Files in a git worktree: captured, compared, restored and moved (`docs/reference/revert.md#files`).

mod captures;
mod laws;
mod restores;
mod transfers;
mod undo;
