//! What a projection of your own needs: `use annals_projections::prelude::*;`.
//!
//! Match the kinds of events that concern a view and end with `_ => {}`: kinds are only ever added. `docs/projection.md`.

pub use crate::{Projection, ToJson, every_cut, fold, fold_at};
pub use annals_core::event::{
    CompactionEvent, ContextEvent, FilesEvent, InputEvent, MessageEvent, PermissionEvent, SessionEvent, StepEvent,
    ToolEvent, ToolOutcome,
};
pub use annals_core::{Batch, Blobs, CallId, Event, InputId, Kind, ModelName, Record, Seq, SessionId, Text, Time};
