//! What is no row of a table: mistakes of sources, damaged snapshots, exact messages.

use super::source::{Calls, observed, rendering_empty};
use crate::context::{
    Entry, Generation, ReconcileError, Reconciled, RenderKind, Replaced, Snapshot, initialize, reconcile, replace,
};
use crate::text::{BlobRef, Json, NoBlobs, Text};
use crate::{Blobs, Digest};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use serde_json::json;

fn snapshot(key: &str, value: Json, removed: Option<Text>) -> Snapshot {
    Snapshot([(key.parse().unwrap(), Entry { value, removed })].into())
}

fn old() -> Json {
    Json::canonical(&json!({"v": "old"}))
}

#[test]
fn a_blocked_initialization_names_all_unavailable_sources_in_order_of_composition() {
    let calls = Calls::default();
    let observations = [
        observed("z/late", None, true, &calls),
        observed("a/fine", Some(json!({"v": "x"})), true, &calls),
        observed("a/early", None, true, &calls),
    ];
    assert_eq!(
        initialize(&observations).unwrap_err().to_string(),
        "System context initialization blocked by unavailable sources: z/late, a/early"
    );
    assert!(calls.all().is_empty(), "nothing is rendered");
}

#[test]
fn a_duplicate_key_is_an_error_before_anything_is_rendered() {
    let calls = Calls::default();
    let twice = [
        observed("core/date", Some(json!({"v": "x"})), true, &calls),
        observed("a/b", None, true, &calls),
        observed("core/date", None, true, &calls),
    ];
    let duplicate = ReconcileError::DuplicateKey("core/date".parse().unwrap());
    assert_eq!(duplicate.to_string(), "Duplicate system context key: core/date");
    assert_eq!(initialize(&twice), Err(duplicate.clone()), "rather than blocked");
    assert_eq!(replace(&twice, &Snapshot::default()), Err(duplicate.clone()));
    assert_eq!(reconcile(&twice, &Snapshot::default(), &NoBlobs), Err(duplicate));
    assert!(calls.all().is_empty());
}

#[test]
fn an_empty_rendering_is_an_error_that_names_the_source_and_the_renderer() {
    let empty = |kind| ReconcileError::EmptyRendering { key: "core/date".parse().unwrap(), kind };
    let source = |kind| [rendering_empty("core/date", json!({"v": "new"}), kind)];
    let stored = snapshot("core/date", old(), None);
    for (kind, error) in [("baseline", empty(RenderKind::Baseline)), ("removal", empty(RenderKind::Removal))] {
        assert_eq!(initialize(&source(kind)), Err(error.clone()));
        assert_eq!(replace(&source(kind), &stored), Err(error.clone()));
        assert_eq!(reconcile(&source(kind), &Snapshot::default(), &NoBlobs), Err(error.clone()));
        assert_eq!(error.to_string(), alloc::format!("System context source core/date rendered an empty {kind}"));
    }
    for (kind, error) in [("update", empty(RenderKind::Update)), ("removal", empty(RenderKind::Removal))] {
        assert_eq!(reconcile(&source(kind), &stored, &NoBlobs), Err(error.clone()));
        assert_eq!(error.to_string(), alloc::format!("System context source core/date rendered an empty {kind}"));
    }
}

#[test]
fn one_empty_rendering_withholds_every_other_text() {
    let calls = Calls::default();
    let observations =
        [observed("a/b", Some(json!({"v": "x"})), true, &calls), rendering_empty("c/d", json!({"v": "x"}), "baseline")];
    assert!(matches!(
        reconcile(&observations, &Snapshot::default(), &NoBlobs),
        Err(ReconcileError::EmptyRendering { .. })
    ));
}

#[test]
fn stored_values_and_removal_texts_are_read_from_blobs() {
    let (value, removal) = (String::from("{\"v\":\"old\"}"), String::from("it is gone"));
    let reference = |text: &str| Text::from(BlobRef::to(text));
    let stored = snapshot("core/date", Json(reference(&value)), Some(reference(&removal)));
    let blobs: BTreeMap<Digest, String> =
        [value, removal].map(|text| (Digest::of(text.as_bytes()), text)).into_iter().collect();
    let changed = [observed("core/date", Some(json!({"v": "new"})), false, &Calls::default())];
    let Ok(Reconciled::Updated(update)) = reconcile(&changed, &stored, &blobs) else { panic!("updated") };
    assert_eq!(update.text, "core/date was old, is new");
    let Ok(Reconciled::Updated(update)) = reconcile(&[], &stored, &blobs) else { panic!("updated") };
    assert_eq!((update.text.as_str(), update.removed), ("it is gone", vec!["core/date".parse().unwrap()]));
}

#[test]
fn a_stored_value_whose_blob_is_missing_does_not_decode() {
    /// A source whose value is any text at all, so that a note in the place of a blob would pass for one.
    struct Words;
    impl crate::context::Codec for Words {
        fn same(
            &self,
            stored: &serde_json::Value,
            current: &serde_json::Value,
        ) -> Result<bool, crate::context::Undecodable> {
            Ok(stored == current)
        }
    }
    impl crate::context::Rendering for Words {
        fn baseline(&self, current: &serde_json::Value) -> String {
            current.to_string()
        }
        fn update(&self, previous: &serde_json::Value, current: &serde_json::Value) -> String {
            alloc::format!("{previous} became {current}")
        }
        fn removed(&self, _: &serde_json::Value) -> Option<String> {
            None
        }
    }
    let missing = BlobRef::to("\"old\"");
    assert_eq!(NoBlobs.text(&missing.blob), None);
    for stored in [Json(Text::from(missing)), Json::received("no JSON at all")] {
        let observations = [crate::context::Observation {
            key: "a/b".parse().unwrap(),
            observed: crate::context::Observed::Available(json!("new")),
            render: alloc::boxed::Box::new(Words),
        }];
        let decided = reconcile(&observations, &snapshot("a/b", stored, None), &NoBlobs).unwrap();
        let Reconciled::ReplacementReady(generation) = decided else { panic!("{decided:?}") };
        assert_eq!(generation.text(), "\"new\"");
    }
}

#[test]
fn a_removal_text_that_is_empty_or_missing_counts_as_not_stored() {
    let none = Reconciled::ReplacementReady(Generation::default());
    for removed in [Text::default(), Text::from(BlobRef::to("it is gone")), Text::from(BlobRef::to(""))] {
        let stored = snapshot("core/date", old(), Some(removed));
        assert_eq!(reconcile(&[], &stored, &NoBlobs), Ok(none.clone()));
    }
}

#[test]
fn a_replacement_does_not_look_at_stored_values() {
    let calls = Calls::default();
    let observations = [observed("core/date", Some(json!({"v": "new"})), false, &calls)];
    let stored = snapshot("core/date", Json::received("not JSON"), None);
    assert!(matches!(replace(&observations, &stored), Ok(Replaced::ReplacementReady(_))));
    let unavailable = [observed("core/date", None, false, &calls)];
    assert_eq!(reconcile(&unavailable, &stored, &NoBlobs), Ok(Reconciled::Unchanged), "row 5 does not decode either");
}
