//! A rule that selects texts (`docs/reference/digest.md#withheld-and-erased-texts`).

use super::matching;
use annals_core::Time;
use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// One rule that selects texts, as a user writes it: `tool:read`, `path:**/.env`, `text:REGEX`, `seq:41`, `seq:41-50`,
/// `kind:tool.settled`.
#[derive(Clone, Debug)]
pub struct WithholdRule {
    written: String,
    pub(super) selects: Selector,
    /// Texts of this time and later are left alone.
    before: Option<Time>,
}

#[derive(Clone, Debug)]
pub(super) enum Selector {
    /// The calls of a tool.
    Tool(String),
    /// Calls and events with a path that matches.
    Path(GlobMatcher),
    /// Texts that match.
    Text(Regex),
    /// Events by their numbers.
    Seqs(RangeInclusive<u64>),
    /// Events by their kind.
    Kind(String),
}

/// A rule is not one of the forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written:?} is not a rule: {reason}")]
pub struct InvalidRule {
    /// The rule as written.
    pub written: String,
    /// What is wrong.
    pub reason: String,
}

impl WithholdRule {
    /// The same for texts from before a time alone.
    #[must_use]
    pub fn before(self, time: Time) -> Self {
        Self { before: Some(time), ..self }
    }

    /// The rule as it was written.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The rule for a record of it: without the expression of `text:REGEX`, which may say what a text contained.
    pub fn recordable(&self) -> &str {
        match self.selects {
            Selector::Text(_) => "text",
            _ => &self.written,
        }
    }

    /// Whether it means the same texts in every session.
    pub fn is_general(&self) -> bool {
        !matches!(self.selects, Selector::Seqs(_))
    }

    /// Whether it is about texts of this time.
    pub(super) fn reaches(&self, at: Time) -> bool {
        self.before.is_none_or(|before| at < before)
    }

    /// Whether it is a rule `text:REGEX` that matches.
    pub fn matches_text(&self, text: &str) -> bool {
        matches!(&self.selects, Selector::Text(regex) if matching::matches(regex, text))
    }

    /// The expression of a rule `text:REGEX`.
    pub(super) fn text(&self) -> Option<&Regex> {
        match &self.selects {
            Selector::Text(regex) => Some(regex),
            _ => None,
        }
    }
}

impl FromStr for WithholdRule {
    type Err = InvalidRule;

    fn from_str(written: &str) -> Result<Self, InvalidRule> {
        let invalid = |reason: String| InvalidRule { written: written.into(), reason };
        let forms = || invalid("expected tool:NAME, path:GLOB, text:REGEX, seq:N, seq:N-M or kind:KIND".into());
        let (form, value) = written.split_once(':').filter(|(_, value)| !value.is_empty()).ok_or_else(forms)?;
        let selects = match form {
            "tool" => Selector::Tool(value.into()),
            "path" => {
                let glob = GlobBuilder::new(value).literal_separator(true).build();
                Selector::Path(glob.map_err(|error| invalid(error.to_string()))?.compile_matcher())
            }
            "text" => Selector::Text(Regex::new(value).map_err(|error| invalid(error.to_string()))?),
            "seq" => {
                let (from, to) = value.split_once('-').unwrap_or((value, value));
                let number = |text: &str| text.parse().map_err(|_| invalid(format!("{text:?} is not an event number")));
                Selector::Seqs(number(from)?..=number(to)?)
            }
            "kind" => Selector::Kind(value.into()),
            _ => return Err(forms()),
        };
        Ok(Self { written: written.into(), selects, before: None })
    }
}
