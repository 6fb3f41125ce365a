//! What a projection of your own needs: `use annals_projections::prelude::*;`.
//!
//! Ask an event for the payload that concerns a view: `record.event.payload::<ToolCalled>()`. Payloads that are not named here are in
//! [`event`]: `event::TodoUpdated`. Kinds are only ever added and a payload never changes, so such a fold compiles with every later
//! version. The groups that hold the payloads (`event::ToolEvent`) get variants in minor versions, so they are not part of this prelude: a
//! `match` on them must end with `_`. `docs/projection.md`.

pub use crate::{Projection, ToJson, every_cut, fold, fold_at};
pub use annals_core::event::{
    self, ChildSettled, ChildStarted, CompactionCompleted, ContextAdmitted, EpochStarted, InputAdmitted, InputPromoted,
    Payload, PermissionAsked, PermissionReplied, RequestSent, SessionCreated, SessionForked, StepEnded, StepFailed,
    StepStarted, TextEnded, ToolCalled, ToolOutcome, ToolSettled, Usage,
};
pub use annals_core::{
    Batch, BlobHash, Blobs, CallId, Event, InputId, Json, Kind, ModelName, Record, Seq, SessionId, Text, Time,
};
