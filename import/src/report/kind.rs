//! What kind of thing was not imported, by its name.

/// A kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossKind {
    /// Something that was said or done: a text, a result, a record that is not recognised.
    Content,
    /// How the agent was set: policies, modes, budgets.
    Settings,
    /// What is shown, repeated elsewhere, or about the program alone. Not counted as a loss.
    Display,
}

/// Names of settings, in any place of a record.
const SETTINGS: [&str; 17] = [
    "a additional_tools item",
    "another working directory",
    "approval_policy",
    "effort",
    "fast_mode",
    "format",
    "mode",
    "output_style",
    "perTurnEffort",
    "permission",
    "permission_profile",
    "permissionMode",
    "requestedModel",
    "sandbox_policy",
    "service_tier",
    "thinkingMetadata",
    "variant",
];

/// Names of what is not counted, in any place of a record.
const DISPLAY: [&str; 32] = [
    "account_scoped",
    "annotations",
    "caller",
    "context_management",
    "diagnostics",
    "entrypoint",
    "guardian_history",
    "hostsOwnTurn",
    "isAbortedMidStream",
    "iterations",
    "logprobs",
    "madeBy",
    "promptCacheRequested",
    "provenance",
    "queueSkipAttachments",
    "renderedBesideToolResult",
    "renderedInHumanTurn",
    "retained_context",
    "serverClassifierRequest",
    "session_kind",
    "slug",
    "stop_details",
    "the end of a command that ran in the background",
    "the header of another thread",
    "the thread that it was forked from",
    "thinkingDisplay",
    "trigger_turn",
    "turnCompanion",
    "usage of the session that it was forked from",
    "usage of the thread that it was forked from",
    "userType",
    "version",
];

/// Endings of names of fields that say when, where or by which id, and nothing that was said.
const ATTRIBUTES: [&str; 15] = [
    "Ms", "_ms", "At", "_at", "ID", "Id", "_id", "Index", "Origin", "Position", "Ref", "Source", "UUID", "Uuid",
    "Uuids",
];

impl LossKind {
    /// The kind of a loss with this name: `RECORD.FIELD`, or `RECORD: what`.
    pub fn of(what: &str) -> Self {
        let last = what.rsplit_once(": ").or_else(|| what.rsplit_once('.')).map_or(what, |(_, last)| last);
        let last = last.rsplit('.').next().filter(|_| !last.contains(' ')).unwrap_or(last);
        match last {
            last if SETTINGS.contains(&last) => Self::Settings,
            last if DISPLAY.contains(&last) => Self::Display,
            // The name of a field, not a remark.
            last if what.ends_with(&format!(".{last}")) && ATTRIBUTES.iter().any(|end| last.ends_with(end)) => {
                Self::Display
            }
            _ => Self::Content,
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Settings => "settings",
            Self::Display => "display",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_loss_says_its_kind() {
        for (what, kind) in [
            ("turn_context: approval_policy", LossKind::Settings),
            ("assistant.apiBlockIndex", LossKind::Display),
            ("attachment.attachment.delivery_id", LossKind::Display),
            ("assistant.permissionDecision", LossKind::Content),
            ("assistant.isAbortedMidStream", LossKind::Display),
            ("user.summarizedTurnPromptUuids", LossKind::Display),
            ("event_msg: usage of the thread that it was forked from", LossKind::Display),
            ("session_meta.base_instructions.provenance", LossKind::Display),
            ("attachment: file", LossKind::Content),
            ("event_msg: a_new_event: not recognised", LossKind::Content),
            ("queue-operation: a prompt that was never sent", LossKind::Content),
        ] {
            assert_eq!(LossKind::of(what), kind, "{what}");
        }
    }
}
