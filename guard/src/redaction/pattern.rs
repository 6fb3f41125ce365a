//! A format that gives a secret away.

use regex::Regex;
use std::ops::Range;
use std::sync::OnceLock;

/// A pattern cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatternError {
    /// It is not a regular expression.
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
    /// By an expression of this program, if a match counts after all.
    Known(&'static KnownExpression, fn(&str) -> bool),
    /// By an expression of the user.
    OfUser(Regex),
    /// By a function that visits the secrets of a text.
    Function(fn(&str, &mut dyn FnMut(Range<usize>))),
}

/// An expression that is compiled when a text is first searched with it: most texts have no hint of most formats, and
/// compiling all of them takes longer than most commands.
#[derive(Debug)]
pub(super) struct KnownExpression {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl KnownExpression {
    /// An expression that is not compiled yet.
    pub(super) fn new(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// The compiled expression; `None` when it is none.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }
}

impl SecretPattern {
    /// A built-in pattern. The secret is its last group that matched, or the whole match.
    pub(super) fn known(
        kind: &str,
        hints: &'static [&'static str],
        expression: &'static KnownExpression,
        counts: fn(&str) -> bool,
    ) -> Self {
        Self { kind: kind.to_owned(), hints, finder: Finder::Known(expression, counts) }
    }

    /// A function that visits the secrets of a text.
    pub(super) fn function(
        kind: &str,
        hints: &'static [&'static str],
        function: fn(&str, &mut dyn FnMut(Range<usize>)),
    ) -> Self {
        Self { kind: kind.to_owned(), hints, finder: Finder::Function(function) }
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
        Ok(Self { kind: kind.to_owned(), hints: &[], finder: Finder::OfUser(regex) })
    }

    pub(super) fn finds(&self, text: &str) -> bool {
        match &self.finder {
            Finder::Known(expression, _) => expression.regex().is_some_and(|regex| regex.is_match(text)),
            Finder::OfUser(regex) => regex.is_match(text),
            Finder::Function(_) => false,
        }
    }

    /// Visits the secrets of a text.
    pub(super) fn spans(&self, text: &str, visit: &mut dyn FnMut(Range<usize>)) {
        let (regex, counts): (_, fn(&str) -> bool) = match &self.finder {
            Finder::Known(expression, counts) => match expression.regex() {
                Some(regex) => (regex, *counts),
                None => return,
            },
            Finder::OfUser(regex) => (regex, |_| true),
            Finder::Function(function) => return function(text, visit),
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
