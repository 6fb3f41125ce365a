use super::History;
use crate::facts::*;
use crate::message::{Body, Content};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Event, Seq};

/// The selected messages, each by a word of its own.
fn selected(events: &[Event]) -> Vec<String> {
    words(&fold(events))
}

fn words(history: &History) -> Vec<String> {
    let inline = |text: &annals_core::Text| text.inline().unwrap_or_default().to_string();
    let word = |body: &Body| match body {
        Body::User { text, .. } | Body::System { text, .. } | Body::Synthetic { text } => inline(text),
        Body::Shell { command, .. } => inline(command),
        Body::Compaction { summary, .. } => inline(summary),
        Body::Assistant(assistant) => match assistant.content.first() {
            Some(Content::Text { text, .. }) => inline(text),
            Some(Content::Tool(tool)) => tool.name.clone(),
            Some(Content::Reasoning { .. }) | None => "answer".to_string(),
        },
        Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => "switch".to_string(),
    };
    history.selected().map(|message| word(&message.body)).collect()
}

fn said(word: &str) -> Vec<Event> {
    vec![step(), text(0, word), ended()]
}

#[test]
fn every_message_but_a_switch_is_selected() {
    let shell = ShellRan { command: "ls".into(), output: "".into(), exit: None };
    let switches =
        vec![AgentSwitched { agent: "plan".into() }.into(), ModelSwitched { model: "test/beta".into() }.into()];
    let synthetic = SyntheticAdded { text: "note".into() }.into();
    let events = [user("one"), said("two"), switches, vec![synthetic, shell.into(), context("rules")]].concat();
    assert_eq!(selected(&events), ["one", "two", "note", "ls", "rules"]);
}

#[test]
fn the_newest_compaction_hides_what_is_older_but_for_pins() {
    // Seqs: one 1, two 2, compaction 5, three 7.
    let events = [user("one"), said("two"), vec![compacted("first", "")], user("three")].concat();
    assert_eq!(selected(&events), ["first", "three"]);
    assert_eq!(selected(&[&events[..], &[pinned(1)]].concat()), ["one", "first", "three"]);
    assert_eq!(selected(&[&events[..], &[pinned(1), unpinned(1)]].concat()), ["first", "three"]);
    assert_eq!(selected(&[&events[..], &[pinned(1), unpinned(1), pinned(1)]].concat()), ["one", "first", "three"]);
    let again = [&events[..], &[compacted("second", "")]].concat();
    assert_eq!(selected(&again), ["second"], "an older compaction is hidden, too");
    let history = fold::<History>(&again);
    assert_eq!(history.compactions().collect::<Vec<_>>(), [Seq(5), Seq(8)]);
    assert_eq!(history.compaction().map(|message| message.seq), Some(Seq(8)));
    assert_eq!(history.kept().count(), 0);
}

#[test]
fn an_undone_compaction_gives_back_what_it_hid() {
    let events = [user("one"), vec![compacted("first", "")], user("two"), vec![compacted("second", "")]].concat();
    assert_eq!(selected(&[&events[..], &[undone(5)]].concat()), ["first", "two"]);
    assert_eq!(selected(&[&events[..], &[undone(5), undone(2)]].concat()), ["one", "two"]);
    assert_eq!(selected(&[&events[..], &[undone(2)]].concat()), ["second"], "the newer one still hides it");
    let history = fold::<History>(&events);
    assert_eq!(history.without(Seq(5)).map(|other| words(&other)), Some(vec!["first".into(), "two".into()]));
    assert_eq!(words(&history), ["second"], "nothing is undone by asking");
}

#[test]
fn an_epoch_retires_the_context_messages_before_it() {
    let first = epoch(EpochCause::FirstTurn, &[]);
    let events =
        [vec![first, context("old")], user("one"), vec![epoch(EpochCause::Moved, &[]), context("new")]].concat();
    assert_eq!(selected(&events), ["one", "new"]);
    assert_eq!(selected(&[&events[..], &[moved()]].concat()), ["old", "one", "new"], "no epoch is in force");
}

#[test]
fn a_compaction_s_epoch_retires_only_what_the_compaction_covered() {
    let before =
        [vec![epoch(EpochCause::FirstTurn, &[]), context("old")], user("one"), vec![compacted("first", "")]].concat();
    let parts = [&before[..], &[context("between")]].concat();
    assert_eq!(selected(&parts), ["old", "first", "between"], "until its epoch begins, every message counts");
    let caused = [&parts[..], &[epoch(EpochCause::Compaction, &[]), context("new")]].concat();
    assert_eq!(selected(&caused), ["first", "between", "new"]);
    let other = [&parts[..], &[epoch(EpochCause::AgentSwitched, &[]), context("new")]].concat();
    assert_eq!(selected(&other), ["first", "new"]);
}

#[test]
fn without_an_epoch_a_compaction_hides_the_context_messages_before_it() {
    let events = [vec![context("old")], user("one"), vec![compacted("first", ""), context("new")]].concat();
    assert_eq!(selected(&events), ["first", "new"]);
}

#[test]
fn a_revert_removes_messages_and_what_was_done_after_its_boundary() {
    // Seqs: one 1, call 2..5, two 7.
    let talk = [user("one"), answer("c", "read", "output"), user("two")].concat();
    assert_eq!(selected(&[&talk[..], &[reverted(7)]].concat()), ["one", "read"]);
    // A pin and an unpin after the boundary.
    let hidden = |more: &[Event]| selected(&[&talk[..], more, &[compacted("first", "")]].concat());
    assert_eq!(hidden(&[pinned(1), reverted(7)]), ["first"], "the pin went with it");
    assert_eq!(
        selected(
            &[&talk[..6], &[pinned(1)], &user("two")[..], &[unpinned(1), reverted(8), compacted("first", "")]].concat()
        ),
        ["one", "first"]
    );
    // A compaction and an undoing after the boundary.
    assert_eq!(selected(&[&talk[..], &[compacted("first", ""), reverted(7)]].concat()), ["one", "read"]);
    let undone = [&talk[..6], &[compacted("first", "")], &user("two")[..], &[undone(6), reverted(8)]].concat();
    assert_eq!(selected(&undone), ["first"], "the undoing went with it");
}

#[test]
fn a_revert_gives_back_an_output_that_was_pruned_after_its_boundary() {
    let is_pruned = |events: &[Event]| {
        let history = fold::<History>(events);
        let Some(Body::Assistant(assistant)) = history.message(Seq(2)).map(|message| &message.body) else {
            return None;
        };
        assistant.content.iter().find_map(|content| match content {
            Content::Tool(tool) => Some(tool.pruned),
            Content::Text { .. } | Content::Reasoning { .. } => None,
        })
    };
    let talk =
        [user("one"), answer("c", "read", "output"), vec![pruned(&["c"])], user("two"), vec![pruned(&["c"])]].concat();
    assert_eq!(is_pruned(&talk[..6]), Some(None));
    assert_eq!(is_pruned(&talk), Some(Some(Seq(6))), "the first prune counts");
    assert_eq!(is_pruned(&[&talk[..], &[reverted(8)]].concat()), Some(Some(Seq(6))));
    let late = [&talk[..6], &user("two")[..], &[pruned(&["c"]), reverted(7)]].concat();
    assert_eq!(is_pruned(&late), Some(None));
}

#[test]
fn a_bounded_history_knows_when_it_lacks_what_is_needed() {
    let events = [user("one"), said("two"), vec![compacted("first", "")], user("three")].concat();
    let mut bounded = fold::<History>(&events);
    bounded.evict();
    assert_eq!(words(&bounded), ["first", "three"]);
    assert!(!bounded.is_stale() && bounded.message(Seq(1)).is_none());
    let next = events.len() as u64;
    let stale = |more: &[Event]| {
        let mut view = bounded.clone();
        crate::facts::more(&mut view, next, more);
        view.is_stale()
    };
    assert!(stale(&[undone(5)]), "the compaction hid what is gone");
    assert!(stale(&[pinned(1)]), "the pinned message is gone");
    assert!(stale(&[reverted(5)]));
    assert!(!stale(&[pinned(7)]) && !stale(&[reverted(7)]) && !stale(&[compacted("second", "")]));
    assert!(bounded.without(Seq(5)).is_none());
    let mut whole = fold::<History>(&user("one"));
    whole.evict();
    assert_eq!(words(&whole), ["one"], "without a compaction nothing is evicted");
}
