//! Redaction: secrets are replaced by typed placeholders before they reach the log or a model
//! (`docs/redaction.md`).
//!
//! It is applied where text enters from outside, never to what a model wrote: the model sees the placeholder, and digests
//! are of that. `docs/redaction.md` lists the places.
//!
//! ```
//! use annals_guard::redaction::Redactor;
//!
//! let redactor = Redactor::default().with_variable("DEPLOY_PASSWORD", "correct-horse-battery");
//! let redacted = redactor.redact("login with correct-horse-battery");
//! assert_eq!(redacted.text, "login with [redacted:env:DEPLOY_PASSWORD]");
//! assert_eq!(redacted.counts["env:DEPLOY_PASSWORD"], 1);
//! ```

mod assigned;
mod batch;
mod contents;
mod counting_log;
mod encoded;
mod environment;
mod formats;
mod imported_event;
mod json;
mod manifests;
mod pattern;
mod placeholder;
mod plain;
mod redacting_log;
mod replacement;
mod tables;
mod words;
mod work;

pub use batch::redact_events;
pub use counting_log::CountingLog;
pub use environment::is_secret_name;
pub use pattern::PatternError;
pub use redacting_log::RedactingLog;

pub use contents::is_kept_for_secrets;
pub use replacement::Redaction;

use aho_corasick::{AhoCorasick, MatchKind};
use pattern::SecretPattern;
use placeholder::{placeholder, placeholders, without};
use plain::PlainText;
use replacement::CleanTexts;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Values shorter than this are not taken as secrets: they would match everywhere.
pub const SHORTEST: usize = 8;

/// A replacement may make its neighbourhood look like a secret: the largest number of passes over a text.
const ROUNDS: usize = 8;

/// The shortest part of a secret next to a placeholder, in bytes.
const LEFT: usize = 4;

/// Finds and replaces secrets. Its `Debug` form shows none.
#[derive(Clone)]
pub struct Redactor {
    patterns: Vec<SecretPattern>,
    /// Finds the patterns that are worth trying on a text.
    hints: Option<AhoCorasick>,
    /// The pattern of each hint.
    hinted: Vec<usize>,
    /// Values, each with the kind that its placeholder names.
    values: Vec<(String, String)>,
    literals: Option<AhoCorasick>,
    /// Texts in which all of this found nothing.
    clean: CleanTexts,
}

/// A text without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text with placeholders.
    pub text: Cow<'t, str>,
    /// How often each kind of secret was replaced.
    pub counts: BTreeMap<String, u64>,
}

impl Redacted<'_> {
    /// The text and the counts, if something was replaced.
    fn into_owned(self) -> Option<(String, BTreeMap<String, u64>)> {
        match self.text {
            Cow::Owned(text) => Some((text, self.counts)),
            Cow::Borrowed(_) => None,
        }
    }
}

impl Default for Redactor {
    /// Knows the formats of common keys and no values.
    fn default() -> Self {
        let mut redactor = Self {
            patterns: formats::known(),
            hints: None,
            hinted: Vec::new(),
            values: Vec::new(),
            literals: None,
            clean: CleanTexts::default(),
        };
        redactor.index();
        redactor
    }
}

/// The redactor that a runtime has unless it is given another: the formats of common keys, and no values.
pub fn usual() -> Arc<Redactor> {
    static USUAL: LazyLock<Arc<Redactor>> = LazyLock::new(Arc::default);
    USUAL.clone()
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: BTreeSet<&str> = self.kinds().collect();
        f.debug_struct("Redactor").field("kinds", &kinds).finish_non_exhaustive()
    }
}

impl Redactor {
    /// The same, knowing the values of variables: those whose name is that of a secret ([`is_secret_name`]) or is in
    /// `secret`, without those in `public`.
    #[must_use]
    pub fn with_environment(
        mut self,
        variables: impl IntoIterator<Item = (String, String)>,
        secret: &[String],
        public: &[String],
    ) -> Self {
        for (name, value) in variables {
            if !public.contains(&name) && (secret.contains(&name) || environment::is_secret(&name, &value)) {
                self.learn(&name, &value);
            }
        }
        self.index();
        self
    }

    /// The same, knowing the value of one variable, if it is long enough ([`SHORTEST`]).
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.learn(name, value);
        self.index();
        self
    }

    /// The same, with another pattern; if it has a group, the group is the secret.
    ///
    /// # Errors
    /// If it is not a regular expression, matches nothing, or matches placeholders.
    pub fn with_pattern(mut self, kind: &str, regex: &str) -> Result<Self, PatternError> {
        let pattern = SecretPattern::of_user(kind, regex)?;
        if self.kinds().chain([kind]).any(|kind| pattern.finds(&placeholder(kind))) {
            return Err(PatternError::TooBroad);
        }
        self.patterns.push(pattern);
        self.index();
        Ok(self)
    }

    /// The redactor as a function from a text to the redacted text, for adapters that keep texts of their own.
    pub fn scrub(redactor: Arc<Self>) -> Arc<dyn Fn(&str) -> String + Send + Sync> {
        Arc::new(move |text| redactor.redact(text).text.into_owned())
    }

    /// Replaces the secrets of a text. Deterministic, in time linear in the text; what it gives holds nothing more to
    /// replace. Where the text is JSON its strings are decoded first, also those of JSON in such strings.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        self.redact_at(text, json::NESTED)
    }

    /// The same, reading JSON in strings of JSON so deep.
    fn redact_at<'t>(&self, text: &'t str, depth: usize) -> Redacted<'t> {
        let Some(walked) = self.walk(text, depth) else { return self.redact_flat(text) };
        if walked.counts.is_empty() {
            return self.redact_flat(text);
        }
        let Redacted { text: flat, counts } = self.redact_flat(&walked.text);
        let mut all = walked.counts;
        counts.into_iter().for_each(|(kind, count)| *all.entry(kind).or_default() += count);
        Redacted { text: Cow::Owned(flat.into_owned()), counts: all }
    }

    /// Replaces the secrets of a text as it is written.
    fn redact_flat<'t>(&self, text: &'t str) -> Redacted<'t> {
        let mut redacted = Redacted { text: Cow::Borrowed(text), counts: BTreeMap::new() };
        for _ in 0..ROUNDS {
            let found = self.secrets(&redacted.text);
            if found.is_empty() {
                break;
            }
            let mut out = String::with_capacity(redacted.text.len());
            let mut from = 0;
            for (span, kind) in found {
                out.push_str(redacted.text.get(from..span.start).unwrap_or_default());
                out.push_str(&placeholder(kind));
                from = span.end;
                *redacted.counts.entry(kind.to_owned()).or_default() += 1;
            }
            out.push_str(redacted.text.get(from..).unwrap_or_default());
            redacted.text = Cow::Owned(out);
        }
        redacted
    }

    /// Counts the placeholders in a text by kind.
    fn placeholders(&self, text: &str) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (_, kind) in placeholders(text) {
            if self.kinds().any(|known| known == kind) {
                *counts.entry(kind.to_owned()).or_default() += 1;
            }
        }
        counts
    }

    /// The spans of secrets, in order and without overlaps, each with its kind.
    fn secrets(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let mut found = self.found(text);
        encoded::texts(text, &mut |span, decoded| {
            let inside = self.found(&decoded);
            if let Some((_, rank, kind)) = inside.into_iter().min_by_key(|(_, rank, _)| *rank) {
                // A value that is known by its name keeps it.
                found.push((span, usize::MAX, if rank == 0 { kind } else { formats::ENCODED }));
            }
        });
        if found.is_empty() {
            return Vec::new();
        }
        let placeholders = placeholders(text);
        if !placeholders.is_empty() {
            let cut = |(span, rank, kind): (Range<usize>, usize, _)| {
                let whole = span.len();
                without(span, &placeholders).map(move |part| (part, whole, rank, kind))
            };
            // What is left of a value that was replaced is a sign or two.
            let left =
                found.into_iter().flat_map(cut).filter(|(part, whole, ..)| part.len() == *whole || part.len() >= LEFT);
            found = left.map(|(part, _, rank, kind)| (part, rank, kind)).collect();
        }
        // The first one, then the longest, then the most specific; what overlaps it is a part of the same secret.
        found.sort_by(|(a, first, _), (b, second, _)| {
            a.start.cmp(&b.start).then(b.end.cmp(&a.end)).then(first.cmp(second))
        });
        let mut apart: Vec<(Range<usize>, &str)> = Vec::new();
        for (span, _, kind) in found {
            match apart.last_mut() {
                Some((last, _)) if span.start < last.end => last.end = last.end.max(span.end),
                _ => apart.push((span, kind)),
            }
        }
        apart
    }

    /// The spans of values and formats, in no order, each with its rank and kind.
    fn found(&self, text: &str) -> Vec<(Range<usize>, usize, &str)> {
        let mut found: Vec<(Range<usize>, usize, &str)> = Vec::new();
        if let Some(literals) = &self.literals {
            for hit in literals.find_iter(text) {
                if let Some((kind, _)) = self.values.get(hit.pattern().as_usize()) {
                    found.push((hit.range(), 0, kind));
                }
            }
        }
        let plain = PlainText::of(text);
        for at in self.worth_trying(&plain.text) {
            if let Some(pattern) = self.patterns.get(at) {
                pattern.spans(&plain.text, &mut |span| found.push((plain.in_original(span), at + 1, &pattern.kind)));
            }
        }
        found
    }

    fn worth_trying(&self, text: &str) -> BTreeSet<usize> {
        let Some(hints) = &self.hints else { return BTreeSet::new() };
        let mut worth: BTreeSet<usize> = BTreeSet::new();
        worth
            .extend(self.patterns.iter().enumerate().filter(|(_, pattern)| pattern.hints.is_empty()).map(|(at, _)| at));
        for hit in hints.find_overlapping_iter(text) {
            if let Some(pattern) = self.hinted.get(hit.pattern().as_usize()) {
                worth.insert(*pattern);
                if worth.len() == self.patterns.len() {
                    break;
                }
            }
        }
        worth
    }

    fn kinds(&self) -> impl Iterator<Item = &str> {
        self.patterns
            .iter()
            .map(|pattern| pattern.kind.as_str())
            .chain(self.values.iter().map(|(kind, _)| kind.as_str()))
    }

    fn learn(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if value.len() < SHORTEST {
            return;
        }
        let kind = format!("env:{name}");
        for form in environment::forms(value) {
            self.values.push((kind.clone(), form));
        }
    }

    /// Rebuilds the searches. The order of values and patterns does not matter.
    fn index(&mut self) {
        self.values.sort_by(|(a, x), (b, y)| x.cmp(y).then(a.cmp(b)));
        // Of two variables with the same value, the first by name.
        self.values.dedup_by(|later, earlier| later.1 == earlier.1);
        // A value that is part of a placeholder would be found in it for ever.
        let placeholders: Vec<String> = self.kinds().map(placeholder).collect();
        self.values.retain(|(_, value)| !placeholders.iter().any(|placeholder| placeholder.contains(value.as_str())));
        let values = self.values.iter().map(|(_, value)| value);
        // A search too large to be built does not exist for values that fit in an environment.
        self.literals = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).ok();
        let hints = || {
            let of = |(at, pattern): (usize, &SecretPattern)| {
                pattern.hints.iter().map(|hint| (at, *hint)).collect::<Vec<_>>()
            };
            self.patterns.iter().enumerate().flat_map(of)
        };
        let hinted = hints().map(|(at, _)| at).collect();
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(hints().map(|(_, hint)| hint)).ok();
        self.hinted = hinted;
        self.hints = search;
        // It finds more than before.
        self.clean = CleanTexts::default();
    }
}

#[cfg(test)]
mod tests;
