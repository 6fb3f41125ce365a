//! A format that gives a secret away.

use regex::Regex;
use std::ops::Range;

/// A pattern cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatternError {
    /// It is no regular expression.
    #[error("no regular expression: {0}")]
    Regex(#[from] regex::Error),
    /// It is found where there is nothing.
    #[error("finds secrets where there is nothing")]
    Empty,
    /// It is found in placeholders.
    #[error("finds secrets in placeholders such as [redacted:jwt]; make it narrower")]
    TooBroad,
    /// Its name cannot be part of a placeholder.
    #[error("{0:?} cannot name a kind of secret: letters, digits, `-`, `_` and `.` can")]
    Kind(String),
}

/// A format.
#[derive(Clone, Debug)]
pub(super) struct SecretPattern {
    /// What its placeholders say.
    pub(super) kind: String,
    /// Texts of which every match contains at least one, in any case; without any, the pattern is always tried.
    pub(super) hints: &'static [&'static str],
    finder: Finder,
}

/// How the secrets of a format are found.
#[derive(Clone, Debug)]
enum Finder {
    /// By an expression, if a match counts after all.
    Regex(Regex, fn(&str) -> bool),
    /// By the name that a value is assigned to.
    Assigned,
}

impl SecretPattern {
    /// A built-in pattern. The secret is its last group that matched, or the whole match.
    pub(super) fn known(
        kind: &str,
        hints: &'static [&'static str],
        regex: &str,
        counts: fn(&str) -> bool,
    ) -> Result<Self, regex::Error> {
        Ok(Self { kind: kind.to_owned(), hints, finder: Finder::Regex(Regex::new(regex)?, counts) })
    }

    /// The one that finds what is assigned to names of secrets.
    pub(super) fn assigned(kind: &str, hints: &'static [&'static str]) -> Self {
        Self { kind: kind.to_owned(), hints, finder: Finder::Assigned }
    }

    /// One of a user's.
    pub(super) fn of_user(kind: &str, regex: &str) -> Result<Self, PatternError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if kind.is_empty() || !kind.chars().all(legal) {
            return Err(PatternError::Kind(kind.to_owned()));
        }
        let regex = Regex::new(regex)?;
        if regex.is_match("") {
            return Err(PatternError::Empty);
        }
        Ok(Self { kind: kind.to_owned(), hints: &[], finder: Finder::Regex(regex, |_| true) })
    }

    pub(super) fn finds(&self, text: &str) -> bool {
        matches!(&self.finder, Finder::Regex(regex, _) if regex.is_match(text))
    }

    /// Visits the secrets of a text.
    pub(super) fn spans(&self, text: &str, visit: &mut dyn FnMut(Range<usize>)) {
        let (regex, counts) = match &self.finder {
            Finder::Regex(regex, counts) => (regex, counts),
            Finder::Assigned => return super::assigned::spans(text, visit),
        };
        if regex.captures_len() == 1 {
            for found in regex.find_iter(text).filter(|found| counts(found.as_str())) {
                visit(found.range());
            }
            return;
        }
        for groups in regex.captures_iter(text) {
            let secret = groups.iter().skip(1).flatten().last().or_else(|| groups.get(0));
            if let Some(secret) = secret.filter(|secret| !secret.is_empty() && counts(secret.as_str())) {
                visit(secret.range());
            }
        }
    }
}
