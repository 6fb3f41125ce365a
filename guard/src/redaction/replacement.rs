//! Replaces secrets in texts, JSON and attachments, and counts them by kind.

use super::contents::SecretFileKind;
use super::json::NESTED;
use super::{Redacted, Redactor};
use annals_core::context::Observed;
use annals_core::event::{Attachment, RedactionApplied, RequestOptions, ToolDefinition};
use annals_core::{Digest, Event, Json, Text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The redaction of everything that one batch will contain. Without a redactor nothing is replaced.
#[derive(Clone, Debug)]
pub struct Redaction {
    redactor: Option<Arc<Redactor>>,
    /// How often each kind of secret was replaced.
    counts: BTreeMap<String, u64>,
}

impl Redaction {
    /// A redaction that has replaced nothing yet.
    pub fn new(redactor: Option<&Arc<Redactor>>) -> Self {
        Self { redactor: redactor.cloned(), counts: BTreeMap::new() }
    }

    /// `redaction.applied`, if secrets were replaced. It belongs in the same batch.
    pub fn applied(&self) -> Option<Event> {
        (!self.counts.is_empty()).then(|| RedactionApplied { counts: self.counts.clone() }.into())
    }

    /// How often each kind of secret was replaced.
    pub(super) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Adds what was counted elsewhere.
    pub(super) fn count(&mut self, counts: &BTreeMap<String, u64>) {
        for (kind, count) in counts {
            *self.counts.entry(kind.clone()).or_default() += count;
        }
    }

    /// Redacts a text of the System Context. It was rendered from redacted values, so its placeholders are counted, too.
    pub(super) fn context_text(&mut self, text: &mut Text) {
        let Some(redactor) = self.redactor.clone() else { return };
        Self::new(Some(&redactor)).text(text);
        if let Some(inline) = text.inline() {
            let counts = redactor.placeholders(inline);
            self.count(&counts);
        }
    }

    /// A text.
    pub fn string(&mut self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redacted(text) {
            *text = redacted;
        }
    }

    /// A text of an event that is in no store yet.
    pub fn text(&mut self, text: &mut Text) {
        let redacted = match text.inline() {
            Some(inline) => match self.redacted(inline) {
                Cow::Owned(redacted) => redacted,
                Cow::Borrowed(_) => return,
            },
            None => return,
        };
        *text = redacted.into();
    }

    /// A text with lines of files. Of files that are kept for secrets every value is replaced.
    pub fn lines_of<'p>(&mut self, paths: impl Iterator<Item = &'p String>, text: &mut String) {
        let mut kinds: Vec<SecretFileKind> = paths.filter_map(|path| SecretFileKind::of(path)).collect();
        kinds.dedup();
        kinds.into_iter().for_each(|kind| self.contents(kind, text));
        self.string(text);
    }

    fn contents(&mut self, kept: SecretFileKind, text: &mut String) {
        let Some(redactor) = &self.redactor else { return };
        let Redacted { text: redacted, counts } = redactor.redact_contents(kept, text);
        if let Cow::Owned(redacted) = redacted {
            *text = redacted;
            self.count(&counts);
        }
    }

    /// A text that every request of a session has.
    pub fn repeated(&mut self, text: &mut Text) {
        let known = self.known(ReadAs::Plain, text.inline());
        self.unless_clean(known, |it| it.text(text));
    }

    /// Redacts the description and schema of a tool, which every request of a session has.
    pub fn definition(&mut self, tool: &mut ToolDefinition) {
        self.repeated(&mut tool.description);
        let known = self.known(ReadAs::Json, tool.schema.0.inline());
        self.unless_clean(known, |it| it.json(&mut tool.schema));
    }

    fn known(&self, form: ReadAs, text: Option<&str>) -> Option<(CleanTexts, (ReadAs, Digest))> {
        Some((self.redactor.as_ref()?.clean.clone(), (form, Digest::of(text?.as_bytes()))))
    }

    /// Looks for secrets in a text unless it is known to have none.
    fn unless_clean(&mut self, known: Option<(CleanTexts, (ReadAs, Digest))>, look: impl FnOnce(&mut Self)) {
        let Some((clean, key)) = known else { return look(self) };
        if clean.holds(&key) {
            return;
        }
        let before: u64 = self.counts.values().sum();
        look(self);
        if self.counts.values().sum::<u64>() == before {
            clean.note(key);
        }
    }

    /// The settings of a request.
    pub fn options(&mut self, options: &mut RequestOptions) {
        let RequestOptions { controls, options, body } = options;
        for values in [controls, options, body] {
            values.values_mut().for_each(|value| self.json(value));
        }
    }

    /// Redacts an observation before it is compared with the snapshot; admitted text is not touched.
    pub fn observed(&mut self, observed: &mut Observed) {
        match observed {
            Observed::Available(value) => self.value(value),
            Observed::Unavailable => {}
        }
    }

    /// A JSON text, which stays one; its numbers and the order of its fields stay as they are.
    pub fn json(&mut self, json: &mut Json) {
        let (Some(redactor), Some(before)) = (&self.redactor, json.0.inline()) else { return };
        let Redacted { text, counts } = redactor.redact_json(before);
        if let Cow::Owned(redacted) = text {
            *json = Json::received(redacted);
            self.count(&counts);
        }
    }

    /// Every string of a value, names of fields included.
    pub fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            Value::Object(object) => {
                let (kept, renamed): (Vec<_>, Vec<_>) = std::mem::take(object)
                    .into_iter()
                    .map(|(before, inner)| (self.redacted(&before).into_owned(), before, inner))
                    .partition(|(name, before, _)| name == before);
                let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
                for (name, _, mut inner) in kept.into_iter().chain(renamed) {
                    self.named(&name, &mut inner);
                    let name = free(object, &mut numbers, name);
                    object.insert(name, inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The value of a field, whose name may be what gives a secret away: `API_KEY`.
    fn named(&mut self, name: &str, value: &mut Value) {
        let Some(redactor) = &self.redactor else { return };
        let redacted = match value {
            Value::String(text) => redactor.redact_field(name, text, NESTED).into_owned(),
            Value::Number(number) => redactor.redact_number(name, &number.to_string()).into_owned(),
            _ => return self.value(value),
        };
        if let Some((text, counts)) = redacted {
            *value = Value::String(text);
            self.count(&counts);
        }
    }

    /// What comes with an input or a result: its name, and its content where that is text. Images and other binary
    /// content pass as they are.
    pub fn attachment(&mut self, attachment: &mut Attachment) {
        if let Some(name) = &mut attachment.name {
            self.string(name);
        }
        let Some(uri) = attachment.uri.inline() else { return };
        let Some(data) = uri.strip_prefix("data:") else { return self.text(&mut attachment.uri) };
        let Some((head, body)) = data.split_once(',') else { return };
        let mime = head.split(';').next().unwrap_or_default();
        let textual = mime.is_empty()
            || mime.starts_with("text/")
            || ["json", "xml", "yaml", "toml", "javascript", "x-sh"].iter().any(|kind| mime.ends_with(kind));
        if !textual {
            return;
        }
        if !head.ends_with(";base64") {
            return self.text(&mut attachment.uri);
        }
        let Some(content) = STANDARD.decode(body).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { return };
        let head = head.to_owned();
        if let Cow::Owned(redacted) = self.redacted(&content) {
            attachment.uri = format!("data:{head},{}", STANDARD.encode(redacted)).into();
        }
    }

    fn redacted<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let Some(redactor) = &self.redactor else { return Cow::Borrowed(text) };
        let Redacted { text, counts } = redactor.redact(text);
        self.count(&counts);
        text
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ReadAs {
    Plain,
    Json,
}

/// Texts in which a redactor found nothing. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct CleanTexts(Arc<Mutex<HashSet<(ReadAs, Digest)>>>);

/// How many are kept: far more than a session has tools and agents.
const CLEAN: usize = 4_096;

impl CleanTexts {
    fn holds(&self, key: &(ReadAs, Digest)) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    fn note(&self, key: (ReadAs, Digest)) {
        let mut clean = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clean.len() >= CLEAN {
            clean.clear();
        }
        clean.insert(key);
    }
}

/// An unused name: when several names were replaced by the same placeholder, each gets a number, so that all remain.
fn free(object: &Map<String, Value>, numbers: &mut BTreeMap<String, u64>, name: String) -> String {
    let mut free = name.clone();
    while object.contains_key(&free) {
        let number = numbers.entry(name.clone()).or_insert(1);
        *number += 1;
        free = format!("{name}-{number}");
    }
    free
}
