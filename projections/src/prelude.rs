//! What a projection of your own needs: `use annals_projections::prelude::*;`.
//!
//! Ask an event for the payload that concerns a view (`record.event.payload::<ToolCalled>()`), or match it and end with `_ => {}`:
//! kinds are only ever added. `docs/projection.md`.

pub use crate::{Projection, ToJson, every_cut, fold, fold_at};
pub use annals_core::event::{
    CompactionCompleted, CompactionEvent, ContextAdmitted, ContextEvent, EpochStarted, FilesEvent, InputAdmitted,
    InputEvent, InputPromoted, MessageEvent, Payload, PermissionAsked, PermissionEvent, PermissionReplied, RequestSent,
    SessionCreated, SessionEvent, SessionForked, StepEnded, StepEvent, StepFailed, StepStarted, TextEnded, ToolCalled,
    ToolEvent, ToolOutcome, ToolSettled,
};
pub use annals_core::{Batch, Blobs, CallId, Event, InputId, Kind, ModelName, Record, Seq, SessionId, Text, Time};
