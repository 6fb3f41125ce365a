//! The schema of each kind of event.

use super::trace::schema_of;
use annals_core::Kind;
use annals_core::event::*;
use serde_json::{Value, json};

macro_rules! payloads {
    ($($kind:ident)*) => {
        fn payload(kind: Kind) -> Option<Value> {
            match kind { $( Kind::$kind => schema_of::<$kind>(), )* }
        }
    };
}

payloads! {
    SessionCreated SessionForked SessionTitled SessionMoved AgentSwitched ModelSwitched TitleFailed InputAdmitted
    InputPromoted InputWithdrawn InputDeliveryChanged EpochStarted EpochReplacementBlocked ContextAdmitted
    SnapshotAdvanced InstructionDiscovered AgentProfileRecorded ModelProfileRecorded ToolsRecorded OptionsRecorded
    RequestSent StepStarted StepEnded StepFailed RetryScheduled TextEnded ReasoningEnded ToolCalled ToolProgressed
    ToolSettled PermissionAsked PermissionReplied CompactionStarted CompactionEnded CompactionFailed
    CompactionUndone ToolOutputsPruned MessagePinned MessageUnpinned SyntheticAdded ShellRan TodoUpdated
    RedactionApplied FilesCaptured FilesSummarised RevertStaged RevertCleared RevertCommitted RestoreBegun RestoreAbandoned
    DepartureBegun DepartureEnded ChildStarted ChildSettled
}

/// The schema of the events of a kind: `{type, ...payload}`.
pub fn event(kind: Kind) -> Option<Value> {
    let Value::Object(mut schema) = payload(kind)? else { return None };
    schema.insert("description".to_owned(), json!(kind.meaning()));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("type".to_owned(), json!({"const": kind.name()}));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.insert(0, json!("type"));
    }
    Some(Value::Object(schema))
}

/// The schema of an item of the view `events`: any event, with its place and time.
pub fn events() -> Value {
    let each = Kind::ALL.iter().filter_map(|kind| {
        let mut schema = event(*kind)?;
        for name in ["seq", "at"] {
            schema["properties"][name] = json!({"type": "integer", "minimum": 0});
            schema["required"].as_array_mut()?.push(json!(name));
        }
        Some(schema)
    });
    json!({"type": "array", "items": {"oneOf": each.collect::<Vec<_>>()}})
}
