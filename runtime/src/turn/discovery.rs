//! Nested instruction files: a successful read near one discovers it (`docs/reference/context.md#instructions`).

use super::{Runner, Stop};
use crate::context::instructions::discover;
use crate::settings::NestedInstructions;
use annals_core::event::InstructionDiscovered;
use annals_core::{CallId, Event};

impl Runner {
    /// The instruction files near the files that a call read. They join the instructions at the next boundary.
    pub(super) async fn discovered(&self, call: &CallId, read: &[String]) -> Result<Vec<Event>, Stop> {
        let Some(NestedInstructions { files, config }) = self.services.nested.as_ref().filter(|_| !read.is_empty())
        else {
            return Ok(Vec::new());
        };
        let mut known = self.lane.view().await?.session.instructions.clone();
        let mut events = Vec::new();
        for path in read {
            match discover(files.as_ref(), config, &self.location.directory, path, &known).await {
                Ok(found) => {
                    let event =
                        |path: &String| InstructionDiscovered { path: path.clone(), call: Some(call.clone()) }.into();
                    events.extend(found.iter().map(event));
                    known.extend(found);
                }
                // The result of the read is kept.
                Err(error) => tracing::warn!(%call, path, %error, "nested instructions could not be looked for"),
            }
        }
        Ok(events)
    }
}
