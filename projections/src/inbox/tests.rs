use super::{Admission, Inbox};
use crate::facts::*;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::text::BlobRef;
use annals_core::{Event, Seq, Text};

fn pending(inbox: &Inbox) -> Vec<(&str, Delivery)> {
    inbox.pending.iter().map(|pending| (pending.input.as_str(), pending.delivery)).collect()
}

fn withdrawn(id: &str) -> Event {
    InputWithdrawn { input: id.into() }.into()
}

fn changed(id: &str, delivery: Delivery) -> Event {
    InputDeliveryChanged { input: id.into(), delivery }.into()
}

#[test]
fn inputs_wait_in_order_of_admission_until_they_are_promoted_or_withdrawn() {
    use Delivery::{Queue, Steer};
    let all = [admitted("a", Steer), admitted("b", Queue), admitted("c", Steer), admitted("d", Queue)];
    let inbox = fold::<Inbox>(&all);
    assert_eq!(pending(&inbox), [("a", Steer), ("b", Queue), ("c", Steer), ("d", Queue)]);
    assert_eq!(inbox.steers().map(|it| it.input.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(inbox.queued().map(|it| it.input.as_str()), Some("b"));
    let later = fold::<Inbox>(&[&all[..], &[promoted("b"), withdrawn("c"), changed("d", Steer)]].concat());
    assert_eq!(pending(&later), [("a", Steer), ("d", Steer)]);
    assert_eq!((later.queued(), later.anomalies.count), (None, 0));
}

#[test]
fn an_id_is_used_up_by_its_first_admission() {
    let inbox =
        fold::<Inbox>(&[admitted("a", Delivery::Queue), promoted("a"), admitted("b", Delivery::Steer), withdrawn("b")]);
    let seqs: Vec<(&str, Seq)> = inbox.used.iter().map(|(id, admission)| (id.as_str(), admission.seq)).collect();
    assert_eq!(seqs, [("a", Seq(0)), ("b", Seq(2))]);
    assert_eq!(inbox.used.values().next().map(|admission| admission.delivery), Some(Delivery::Queue));
    let again = fold::<Inbox>(&[admitted("a", Delivery::Steer), admitted("a", Delivery::Steer)]);
    assert_eq!(again.anomalies.count, 1);
}

#[test]
fn a_revert_takes_what_was_admitted_after_its_boundary_and_leaves_what_waited() {
    let events =
        [admitted("a", Delivery::Queue), admitted("b", Delivery::Queue), admitted("c", Delivery::Queue), reverted(1)];
    let inbox = fold::<Inbox>(&events);
    assert_eq!(pending(&inbox), [("a", Delivery::Queue)]);
    assert_eq!(inbox.used.len(), 3, "their ids stay used up");
}

#[test]
fn a_fork_inherits_used_ids_and_no_waiting_input() {
    let forked = SessionForked {
        parent: annals_core::SessionId::from_parts(1, 1),
        cut: Seq(1),
        parent_digest: annals_core::Digest([0; 32]),
        title: None,
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let inbox = fold::<Inbox>(&[admitted("a", Delivery::Steer), forked.into()]);
    assert_eq!((pending(&inbox), inbox.used.len()), (vec![], 1));
}

#[test]
fn what_does_not_wait_cannot_be_promoted_withdrawn_or_changed() {
    for event in [promoted("a"), withdrawn("a"), changed("a", Delivery::Steer)] {
        let inbox = fold::<Inbox>(&[admitted("a", Delivery::Queue), promoted("a"), event]);
        assert_eq!(inbox.anomalies.list.iter().map(|anomaly| anomaly.seq).collect::<Vec<_>>(), [Seq(2)]);
    }
}

#[test]
fn a_bounded_inbox_shows_what_waits_and_takes_no_id_for_used_up() {
    let mut inbox = fold::<Inbox>(&[admitted("a", Delivery::Steer), promoted("a"), admitted("b", Delivery::Steer)]);
    inbox.evict();
    assert_eq!((pending(&inbox), inbox.used.len()), (vec![("b", Delivery::Steer)], 0));
    more(&mut inbox, 3, &[admitted("a", Delivery::Steer)]);
    assert_eq!((inbox.used.len(), inbox.anomalies.count), (0, 0));
}

#[test]
fn an_input_is_known_again_by_its_text_and_attachments_inline_or_in_a_blob() {
    let blob = |text: &str| Text::from(BlobRef::to(text));
    let content = |text: Text, attachments: &[Attachment]| Admission::content(&text, attachments);
    assert_eq!(content("text".into(), &[]), content(blob("text"), &[]));
    assert_ne!(content("text".into(), &[]), content("other".into(), &[]));
    let attachment = |mime: &str, name: Option<&str>, uri: &str| Attachment {
        mime: mime.into(),
        name: name.map(Into::into),
        uri: uri.into(),
    };
    let one = [attachment("image/png", Some("a"), "data:1")];
    let all = [
        content("text".into(), &[]),
        content("text".into(), &one),
        content("text".into(), &[attachment("image/gif", Some("a"), "data:1")]),
        content("text".into(), &[attachment("image/png", Some("b"), "data:1")]),
        content("text".into(), &[attachment("image/png", Some("a"), "data:2")]),
        content("text".into(), &[&one[..], &one[..]].concat()),
    ];
    assert!(all.iter().enumerate().all(|(at, digest)| !all[..at].contains(digest)), "each differs from the others");
}
