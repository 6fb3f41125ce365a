//! Context of Codex: the baseline of an epoch, the context updates after it, and compaction, which starts a new
//! one. See the table in `mapping.rs`.

use super::super::foreign::JsonObject;
use super::AGENT;
use super::mapping::RolloutMapper;
use super::message::{PieceKind, items};
use annals_core::event::*;
use annals_core::{AgentName, Entry, Json, Key, ModelName, Time};
use std::collections::{BTreeMap, HashMap};

impl RolloutMapper {
    /// Context for the model: part of the baseline before the epoch starts, a context update afterwards.
    pub(super) fn context(&mut self, line: u64, at: Time, pieces: Vec<(String, String)>) {
        if self.cause.is_some() {
            self.pieces.extend(pieces);
            self.gathered = (line, at);
            return;
        }
        self.close();
        let (parts, set) = keyed(&pieces);
        let keys = parts.iter().map(|part| part.key.clone()).collect();
        let text = parts.into_iter().filter_map(|part| part.text.inline().map(str::to_owned));
        let text = text.collect::<Vec<_>>().join("\n\n").into();
        let advance = SnapshotAdvanced { set, removed: Vec::new() };
        self.push(line, at, vec![ContextAdmitted { keys, text }.into(), advance.into()]);
    }

    /// Starts the epoch if one is due: the context up to here is its baseline.
    pub(super) fn epoch(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        let (parts, entries) = keyed(&std::mem::take(&mut self.pieces));
        let known = parts.iter().any(|part| part.key.as_str() != "codex/base.instructions");
        let (parts, entries) = if known { (parts, entries) } else { Default::default() };
        let (agent, location) = (AgentName(AGENT.into()), self.location());
        let (line, at) = self.gathered;
        self.push(line, at, vec![EpochStarted { cause, agent, location, parts, entries, known }.into()]);
    }

    pub(super) fn compacted(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        self.close();
        self.epoch();
        let summary = payload.text("message").unwrap_or_default();
        let mut kept = Vec::new();
        let mut context = Vec::new();
        for item in payload.objects("replacement_history") {
            if item.text("type").as_deref() == Some("message") {
                for piece in items(&item) {
                    match piece.kind {
                        PieceKind::Context(name) => context.push((name, piece.text)),
                        // The summary itself is the last item of the replacement.
                        _ if !summary.is_empty() && piece.text.contains(&summary) => {}
                        _ => kept.push(piece.text),
                    }
                }
            } else if item.has("encrypted_content") {
                item.note("an encrypted summary");
            }
            item.skip_all();
        }
        payload.skip(&[
            "window_number",
            "window_id",
            "first_window_id",
            "previous_window_id",
            "compaction_response_id",
            "latest_token_usage_record",
            "replacement_history_metadata",
            "resume_metadata",
        ]);
        // A rollout does not record who asked.
        let reason = CompactionReason::Unknown;
        let ended = CompactionEnded {
            reason,
            summary: summary.into(),
            recent: kept.join("\n\n").into(),
            estimate: 0,
            usage: self.unassigned.take(),
            cost: 0,
        };
        let started = CompactionStarted { reason, model: Some(ModelName(self.model.clone())), estimate: 0 };
        self.push(line, at, vec![started.into(), ended.into()]);
        self.pieces =
            self.meta.instructions.clone().map(|text| ("base.instructions".into(), text)).into_iter().collect();
        self.pieces.extend(context);
        self.gathered = (line, at);
        self.cause = Some(EpochCause::Compaction);
    }
}

/// Pieces as keyed parts and entries: `codex/NAME`, a repeated name as `codex/NAME/2`.
fn keyed(pieces: &[(String, String)]) -> (Vec<Part>, BTreeMap<Key, Entry>) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut parts = Vec::new();
    let mut entries = BTreeMap::new();
    for (name, text) in pieces {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        let name: String = name.to_lowercase().chars().map(|c| if allowed(c) { c } else { '-' }).collect();
        let count = counts.entry(name.clone()).or_insert(0);
        *count += 1;
        let key = if *count == 1 { format!("codex/{name}") } else { format!("codex/{name}/{count}") };
        let Ok(key) = key.parse::<Key>() else { continue };
        let value = Json::canonical(&serde_json::Value::from(text.as_str()));
        entries.insert(key.clone(), Entry { value, removed: None });
        parts.push(Part { key, text: text.as_str().into() });
    }
    (parts, entries)
}
