//! A user message of OpenCode V1 and its parts. See the table in `v1.rs`.

use super::super::foreign::JsonObject;
use super::content::file_part;
use annals_core::Time;
use annals_core::event::{Attachment, CompactionReason};

/// A user message whose parts are being read.
pub(super) struct OpenUserMessage {
    pub(super) id: String,
    pub(super) line: u64,
    pub(super) at: Time,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    pub(super) texts: Vec<String>,
    pub(super) synthetic: Vec<String>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) compaction: Option<CompactionReason>,
}

impl OpenUserMessage {
    pub(super) fn part(&mut self, part: &JsonObject<'_>) {
        match part.text("type").as_deref() {
            Some("text") => {
                part.object("time").iter().for_each(JsonObject::skip_all);
                let (synthetic, ignored) = (part.flag("synthetic"), part.flag("ignored"));
                let text = part.text("text").unwrap_or_default();
                if synthetic {
                    // Why the program wrote it.
                    part.skip(&["metadata"]);
                }
                match (synthetic, ignored) {
                    (_, true) => part.note("text that is not sent to the model"),
                    (true, false) => self.synthetic.push(text),
                    (false, false) => self.texts.push(text),
                }
            }
            Some("file") => {
                part.skip(&["source"]);
                self.attachments.extend(file_part(part));
            }
            Some("compaction") => {
                let auto = part.flag("auto");
                let overflow = part.flag("overflow");
                self.compaction = Some(match (auto, overflow) {
                    (true, true) => CompactionReason::Overflow,
                    (true, false) => CompactionReason::Auto,
                    _ => CompactionReason::Manual,
                });
            }
            _ => {
                part.skip_all();
                part.note(&format!("a {} part of a user message", part.text("type").unwrap_or_default()));
            }
        }
    }
}
