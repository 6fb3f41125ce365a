//! Files in a git worktree: captured, compared, restored and moved (`docs/reference/revert.md#files`).

mod worktree {
    pub mod captures;
    pub mod laws;
    pub mod place;
    pub mod restores;
    pub mod transfers;
    pub mod undo;
}
