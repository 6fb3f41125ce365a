//! JSON Schemas of views, of events and of the answers of this crate: what a program may rely on. Feature `schema`.
//!
//! Each is derived from the type that is written, so that it cannot differ from it.

use crate::ProgramViewJson;
use crate::certify::{Difference, Report};
use crate::compactions::ListedCompaction;
use crate::recordings::RecordingSummary;
use crate::report::ReportData;
use crate::requests::ListedRequest;
use crate::safety::{SafetyAudit, SafetySummary};
use crate::search::{IndexStatus, SearchMatch};
use crate::sessions::SessionOverview;
use crate::spending::SpendingTable;
use crate::tree::TreeSession;
use crate::verified::VerifiedLog;
use crate::view_diff::Change;
use crate::views::RequestItem;
use crate::{bisect, blame, cache, diff, reruns, signing, what_if, when, why};
use annals_core::schema::{event, of};
use annals_core::{Key, Kind};
use annals_projections::StatisticsSummary;
use annals_projections::json::{
    BaselineJson, EpochJson, MessageJson, PendingJson, SessionJson, SnapshotEntryJson, UsageJson,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The answers that have a schema: of `why`, `when`, `cache`, `diff`, `fold`, `bisect`, `certify`, `compactions`, `audit`, `replay` (its
/// counts), `verify`, `sign`, `verify --signed`, `prove` and `witness`, spending, the state of
/// the index, rows of SQL, and lists of sessions, of a tree, of matches and of requests; the data in a report, and what `annals record`
/// gives.
pub const ANSWERS: [&str; 33] = [
    "why",
    "when",
    "cache",
    "diff",
    "diff-requests",
    "diff-views",
    "diff-transcript",
    "diff-fold",
    "fold",
    "blame",
    "rerun",
    "what-if",
    "tune",
    "bisect",
    "certificate",
    "certificate-differences",
    "statistics",
    "compactions",
    "audit",
    "search",
    "sql",
    "index",
    "sessions",
    "spending",
    "tree",
    "recording",
    "request-list",
    "report",
    "verify",
    "signed-checkpoint",
    "signed-store",
    "proved-batch",
    "witnessed-checkpoint",
];

/// The schema of a view, of an answer, of a kind of event (`tool.called`), or of all views (`all`); `None` for another name.
pub fn named(name: &str) -> Option<Value> {
    let schema = match name {
        "all" => all(),
        _ => view(name).or_else(|| answer(name)).or_else(|| Some(event(Kind::of_name(name)?)))?,
    };
    let Value::Object(mut fields) = schema else { return None };
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".to_owned(), json!(if name == "all" { "annals" } else { name }));
    Some(Value::Object(fields))
}

/// The view, and the counts of the audit that `annals usage SESSION` adds.
fn usage() -> Value {
    let mut schema = of::<UsageJson>();
    let mut safety = of::<SafetySummary>();
    if let Some(fields) = safety.as_object_mut() {
        fields.remove("$schema");
        fields.remove("title");
    }
    if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        members.insert("safety".to_owned(), safety);
    }
    schema
}

fn view(name: &str) -> Option<Value> {
    Some(match name {
        "session" => of::<SessionJson<'static>>(),
        "history" | "transcript" => of::<Vec<MessageJson<'static>>>(),
        "baseline" => of::<Option<BaselineJson<'static>>>(),
        "snapshot" => of::<BTreeMap<Key, SnapshotEntryJson>>(),
        "pending" => of::<Vec<PendingJson<'static>>>(),
        "epochs" => of::<Vec<EpochJson>>(),
        "requests" => of::<Vec<RequestItem>>(),
        "usage" => usage(),
        "events" => events(),
        _ => return None,
    })
}

fn answer(name: &str) -> Option<Value> {
    Some(match name {
        "why" => of::<why::Why>(),
        "when" => of::<when::When>(),
        "cache" => of::<cache::Cached>(),
        "diff" => of::<diff::SessionDiff>(),
        "diff-requests" => of::<diff::RequestDiff>(),
        "diff-views" => of::<Vec<Change>>(),
        "diff-transcript" => of::<diff::TranscriptDiff>(),
        "diff-fold" => of::<diff::FoldDiff>(),
        "fold" => of::<Vec<ProgramViewJson>>(),
        "what-if" => of::<what_if::WhatIfAnswer>(),
        "tune" => of::<Vec<what_if::TunedSetting>>(),
        "blame" => of::<blame::Blame>(),
        "rerun" => of::<reruns::Reruns>(),
        "bisect" => of::<bisect::BisectResult>(),
        "certificate" => of::<Report>(),
        "certificate-differences" => of::<Vec<Difference>>(),
        "statistics" => of::<StatisticsSummary>(),
        "compactions" => of::<Vec<ListedCompaction>>(),
        "audit" => of::<SafetyAudit>(),
        "search" => of::<Vec<SearchMatch>>(),
        "sql" => {
            json!({"type": "array", "items": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}}})
        }
        "index" => of::<IndexStatus>(),
        "sessions" => of::<Vec<SessionOverview>>(),
        "spending" => of::<SpendingTable>(),
        "tree" => of::<Vec<TreeSession>>(),
        "recording" => of::<RecordingSummary>(),
        "request-list" => of::<Vec<ListedRequest>>(),
        "report" => of::<ReportData>(),
        "verify" => of::<VerifiedLog>(),
        "signed-checkpoint" => of::<signing::SignedCheckpointFile>(),
        "signed-store" => of::<signing::SignedStore>(),
        "proved-batch" => of::<signing::ProvedBatch>(),
        "witnessed-checkpoint" => of::<signing::WitnessedCheckpoint>(),
        _ => return None,
    })
}

/// Every view under its name.
fn all() -> Value {
    let views = crate::views::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), view(name)?)));
    json!({"type": "object", "properties": views.collect::<Map<_, _>>()})
}

/// The view `events`: any event, with its place and time.
fn events() -> Value {
    let each = Kind::ALL.iter().map(|kind| {
        let mut schema = event(*kind);
        schema["properties"]["type"] = json!({"const": kind.family()});
        for name in ["seq", "at"] {
            schema["properties"][name] = json!({"type": "integer", "minimum": 0});
            if let Some(required) = schema["required"].as_array_mut().filter(|names| !names.contains(&json!(name))) {
                required.push(json!(name));
            }
        }
        schema
    });
    json!({"type": "array", "items": {"oneOf": each.collect::<Vec<_>>()}})
}

#[cfg(test)]
mod tests {
    use super::{ANSWERS, named};
    use crate::views::NAMES;
    use annals_core::Kind;

    #[test]
    fn every_view_answer_and_kind_of_event_has_a_schema() {
        for name in NAMES.iter().chain(&ANSWERS).copied().chain(Kind::ALL.iter().map(|kind| kind.name())) {
            let schema = named(name).unwrap_or_default();
            assert_eq!(schema["title"], name);
            // A report has reports in it: the root of its own schema.
            let elsewhere = schema.to_string().replace(r##""$ref":"#""##, "");
            assert!(!elsewhere.contains("$ref"), "{name} refers to nothing: {schema}");
        }
        assert!(
            named("all").is_some_and(|all| all["properties"].as_object().is_some_and(|it| it.len() == NAMES.len()))
        );
        assert_eq!(named("histroy"), None);
    }
}
