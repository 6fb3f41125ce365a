//! Lines of the program itself: boundaries of compactions, failed attempts. See the table in `mapping.rs`.

use super::mapping::TranscriptBranch;
use crate::foreign::JsonObject;
use annals_core::event::{Failure, RetryScheduled, SyntheticAdded};
use annals_core::{Event, Time};

impl TranscriptBranch {
    /// Maps a line of the type `system`.
    pub(super) fn system(&mut self, at: Time, object: &JsonObject<'_>, events: &mut Vec<Event>) {
        let subtype = object.text("subtype").unwrap_or_default();
        match subtype.as_str() {
            "compact_boundary" => {
                let kept = std::mem::take(&mut self.kept);
                self.compact_boundary(object, kept);
            }
            "api_error" => {
                let wait = object.number("retryInMs").unwrap_or(0);
                let attempt = object.number("retryAttempt").and_then(|it| u32::try_from(it).ok()).unwrap_or(1);
                let error = object.object("error");
                let status = error.as_ref().and_then(|error| error.number("status"));
                let message = error.as_ref().and_then(|error| error.text("message")).unwrap_or_default();
                let connection = error.as_ref().and_then(|error| error.object("connection"));
                connection.iter().for_each(JsonObject::skip_all);
                let cause = connection.and_then(|connection| connection.text("message"));
                let message = cause.map_or(message.clone(), |cause| format!("{message} {cause}"));
                error.iter().for_each(JsonObject::skip_all);
                object.skip_all();
                let failure = Failure {
                    kind: "api-error".into(),
                    message: message.into(),
                    status: status.and_then(|status| u16::try_from(status).ok()),
                };
                let attempt = attempt.saturating_add(1);
                events.push(RetryScheduled { attempt, at: at.plus(wait), error: failure, usage: None, cost: 0 }.into());
            }
            // The model reads it with the next prompt.
            "local_command" => {
                let (text, uuid) = (object.text("content"), object.text("uuid").unwrap_or_default());
                object.skip_all();
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    self.message(&uuid, events);
                    events.push(SyntheticAdded { text: text.into() }.into());
                }
            }
            "turn_duration" | "stop_hook_summary" | "informational" => object.skip_all(),
            _ => {
                object.skip_all();
                object.note(&subtype);
            }
        }
    }
}
