//! An import report for programs.

use super::{FilledSession, ImportOutcome, ImportReport, Loss, LossKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl ImportReport {
    /// The whole report in its public form.
    pub fn to_json(&self) -> Value {
        let damage = |damage: &BTreeMap<String, Loss>| -> Value {
            damage.iter().map(|(what, loss)| (what.clone(), loss_json(loss))).collect::<serde_json::Map<_, _>>().into()
        };
        let losses = |losses: &BTreeMap<String, Loss>| -> Value {
            let with_kind = |(what, loss): (&String, &Loss)| {
                let mut value = loss_json(loss);
                value["kind"] = LossKind::of(what).name().into();
                (what.clone(), value)
            };
            losses.iter().map(with_kind).collect::<serde_json::Map<_, _>>().into()
        };
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|session| {
                let outcome = match &session.outcome {
                    ImportOutcome::Imported => json!({"outcome": "imported"}),
                    ImportOutcome::Diverged { line, other_form } => {
                        json!({"outcome": "diverged", "line": line, "other_form": other_form})
                    }
                    ImportOutcome::ChangedHere { seq } => json!({"outcome": "changed-here", "seq": seq}),
                    ImportOutcome::Failed { line, reason } => {
                        json!({"outcome": "failed", "line": line, "reason": reason})
                    }
                };
                let instead_of = session.instead_of.map(|(changed, seq)| json!({"session": changed, "seq": seq}));
                let former = session.former.map(|(former, line)| json!({"session": former, "line": line}));
                json!({
                    "session": session.session, "agent": session.agent, "id": session.foreign, "form": session.form,
                    "title": session.title, "new": session.new, "known": session.known, "events": session.events,
                    "lost": session.lost, "instead_of": instead_of, "former": former, "result": outcome,
                    "losses": losses(&session.losses), "damage": damage(&session.damage),
                })
            })
            .collect();
        let damage: Vec<Value> = self
            .damage
            .iter()
            .map(|((path, what), loss)| json!({"file": path.to_string_lossy(), "what": what, "where": loss_json(loss)}))
            .collect();
        let refused: Vec<Value> =
            self.refused.iter().map(|(path, why)| json!({"file": path.to_string_lossy(), "why": why})).collect();
        let filled = |it: &FilledSession| json!({"session": it.session, "texts": it.texts, "key": it.key});
        let filled: Vec<Value> = self.filled.iter().map(filled).collect();
        json!({"sessions": sessions, "damage": damage, "refused": refused, "filled": filled})
    }
}

fn loss_json(loss: &Loss) -> Value {
    json!({"count": loss.count, "lines": loss.lines, "originals": loss.originals})
}
