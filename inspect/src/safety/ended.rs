//! What the end of a call says: which rules allowed or denied it without a question, and how a command ran.

use super::call::{AuditedCall, CallDecision, CallOutcome, CommandConfinement};
use super::calls::{NAMED, beginning};
use super::rules::{EXTERNAL, RulesInForce, action_of, denial};
use annals_core::event::{Effect, Rule, ToolOutcome, ToolSettled};
use annals_core::{Blobs, Seq};
use serde_json::Value;
use std::path::Path;

/// A rule and the reply that gave it.
type FoundRule<'a> = (&'a Rule, Option<Seq>);

/// The decisions on a call that were made without a question. `resources` are what its action was judged on; none if that is not known.
pub(super) fn unasked(
    call: &AuditedCall,
    resources: &[String],
    rules: RulesInForce<'_>,
    settled: Option<&ToolSettled>,
    blobs: &dyn Blobs,
) -> Vec<CallDecision> {
    let error = settled.filter(|settled| settled.outcome == ToolOutcome::Failed).and_then(|it| it.error.as_ref());
    let error = error.and_then(|error| error.read(blobs));
    if let Some((action, resource)) = error.as_deref().and_then(denial) {
        let rule = rules.last(action, Some(resource)).filter(|(rule, _)| rule.effect == Effect::Deny);
        return vec![by_rule(action, &[resource], CallOutcome::Denied, rule)];
    }
    let asked = |action: &str| call.decisions.iter().any(|decision| decision.action == action);
    let allows = |action: &str, resource: Option<&str>| {
        rules.last(action, resource).filter(|(rule, _)| rule.effect == Effect::Allow)
    };
    let mut found = Vec::new();
    if let Some(path) = call.outside_project.first().filter(|_| !asked(EXTERNAL)) {
        let folder = Path::new(path).parent().unwrap_or(Path::new(path)).to_string_lossy().into_owned();
        let rule = allows(EXTERNAL, Some(&folder)).or_else(|| allows(EXTERNAL, Some(path)));
        found.extend(rule.map(|rule| by_rule(EXTERNAL, &[path], CallOutcome::Allowed, Some(rule))));
    }
    let action = action_of(&call.tool);
    // A question that was not answered with yes ended the call before its other needs were judged.
    if !asked(action) && !call.decisions.iter().any(CallDecision::stops) {
        let rule = rules.last_of_all(action, resources).filter(|(rule, _)| rule.effect == Effect::Allow);
        let completed = settled.is_some_and(|settled| settled.outcome == ToolOutcome::Completed);
        let outcome = if rule.is_some() || completed { CallOutcome::Allowed } else { CallOutcome::Unknown };
        found.push(by_rule(action, resources, outcome, rule));
    }
    found
}

fn by_rule(
    action: &str,
    resources: &[impl AsRef<str>],
    outcome: CallOutcome,
    rule: Option<FoundRule<'_>>,
) -> CallDecision {
    CallDecision {
        asked: None,
        replied: None,
        action: beginning(action),
        resources: resources.iter().take(NAMED).map(|resource| beginning(resource.as_ref())).collect(),
        outcome,
        by: if outcome == CallOutcome::Unknown { String::new() } else { "rule".to_owned() },
        rule: rule.map(|(rule, _)| rule.clone()),
        approved: rule.and_then(|(_, seq)| seq),
    }
}

/// How a command of this program ran: what the sandbox enforced is in the result.
pub(super) fn confine(call: &mut AuditedCall, settled: Option<&ToolSettled>, blobs: &dyn Blobs) {
    let value = settled.and_then(|settled| settled.structured.as_ref()).and_then(|value| value.read(blobs));
    let note = value.as_ref().and_then(|value| value.get("sandbox"));
    let flag = |name: &str| note.and_then(|note| note.get(name)).and_then(Value::as_bool).unwrap_or_default();
    let outcome = settled.map(|settled| settled.outcome);
    call.confinement =
        Some(if call.decisions.iter().any(CallDecision::stops) || outcome == Some(ToolOutcome::Exhausted) {
            CommandConfinement::NotRun
        } else if flag("outside") {
            CommandConfinement::Outside
        } else if note.is_some() {
            CommandConfinement::Confined
        } else if value.as_ref().is_some_and(|value| value.get("exit").is_some() || value.get("background").is_some()) {
            CommandConfinement::Unconfined
        } else {
            CommandConfinement::Unknown
        });
    (call.network, call.refused) = (flag("network"), flag("refused"));
    let put_back = note.and_then(|note| note.get("put_back")).and_then(Value::as_array).into_iter().flatten();
    call.put_back = put_back.filter_map(Value::as_str).take(NAMED).map(beginning).collect();
}
