//! Undo and redo by one user message at a time: where a staged revert moves next.

use annals_core::Seq;
use annals_projections::SessionView;

/// The user message that one more undo begins at; `None` when there is nothing more to undo.
pub fn next_undo(view: &SessionView) -> Option<Seq> {
    let end = view.session.revert.as_ref().map_or(Seq(u64::MAX), |revert| revert.first_removed);
    user_messages(view).rev().find(|seq| *seq < end)
}

/// The user message that the staged undo begins at after one redo; `None` when nothing is left undone, or nothing is
/// staged.
pub fn next_redo(view: &SessionView) -> Option<Seq> {
    let staged = view.session.revert.as_ref()?;
    user_messages(view).find(|seq| *seq > staged.first_removed)
}

/// The user messages that no committed revert removed, oldest first.
fn user_messages(view: &SessionView) -> impl DoubleEndedIterator<Item = Seq> {
    let transcript = &view.transcript;
    transcript.items.iter().filter(|item| item.user && !transcript.is_removed(item.seq)).map(|item| item.seq)
}
