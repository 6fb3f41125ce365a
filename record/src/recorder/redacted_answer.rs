//! Answers without secrets.

use annals_guard::redaction::Redactor;
use annals_providers::recorded::{DecodedAnswer, WireItem};
use std::borrow::Cow;

/// The same answer without secrets, and whether it had any.
pub(super) fn redacted(mut answer: DecodedAnswer, redactor: &Redactor) -> (DecodedAnswer, bool) {
    let mut changed = false;
    let mut replace = |text: &mut String| {
        if let Cow::Owned(redacted) = redactor.redact(text).text {
            (*text, changed) = (redacted, true);
        }
    };
    for item in &mut answer.items {
        match item {
            WireItem::Text(text)
            | WireItem::Context { text, .. }
            | WireItem::Reference { text }
            | WireItem::Unknown { text }
            | WireItem::Result { text, .. } => replace(text),
            WireItem::Reasoning { text, metadata } => {
                replace(text);
                metadata.iter_mut().for_each(&mut replace);
            }
            WireItem::Call { input, metadata, .. } => {
                replace(input);
                metadata.iter_mut().for_each(&mut replace);
            }
            WireItem::HostedResult { result, error, .. } => {
                replace(result);
                error.iter_mut().for_each(&mut replace);
            }
            WireItem::Media(_) => {}
        }
    }
    if let Some(error) = &mut answer.error
        && let Some(message) = error.message.inline()
        && let Cow::Owned(redacted) = redactor.redact(message).text
    {
        (error.message, changed) = (redacted.into(), true);
    }
    (answer, changed)
}
