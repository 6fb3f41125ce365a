//! What a search looks for: words, phrases and regular expressions, all of which must match.

use super::folding::{folded, folded_char, words};
use super::requirement::{TextRequirement, required};
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// What a text must contain. A term with capital letters is matched with its case, any other in any case.
#[derive(Clone, Debug, Default)]
pub struct SearchPattern {
    terms: Vec<Term>,
    files: Vec<String>,
    /// Whether one of the terms is enough.
    any: bool,
}

#[derive(Clone, Debug)]
enum Term {
    /// A word or a phrase. Folded if `any_case`.
    Literal {
        text: String,
        any_case: bool,
    },
    Regex {
        regex: Box<Regex>,
        required: TextRequirement,
    },
}

/// A search that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchPatternError {
    /// The regular expression is wrong.
    #[error("{0}")]
    Regex(String),
    /// There is nothing in it.
    #[error("nothing to search for")]
    Empty,
}

impl SearchPattern {
    /// Words, phrases in double quotes and `file:PATH`, separated by spaces; and regular expressions, which are matched line by line.
    pub fn parse(text: &str, regexes: &[String]) -> Result<Self, SearchPatternError> {
        let mut pattern = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (term, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            };
            match term.strip_prefix("file:").filter(|path| !path.is_empty() && !rest.starts_with('"')) {
                Some(path) => pattern.files.push(path.trim_start_matches("./").to_owned()),
                None if term.is_empty() => {}
                None => pattern.terms.push(Term::literal(term)),
            }
            rest = after.trim_start();
        }
        for regex in regexes {
            pattern.terms.push(Term::regex(regex)?);
        }
        match pattern.terms.is_empty() && pattern.files.is_empty() {
            true => Err(SearchPatternError::Empty),
            false => Ok(pattern),
        }
    }

    /// Paths of files that a session must have touched, as they were given.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Whether only files are searched for, and no text.
    pub fn is_of_files(&self) -> bool {
        self.terms.is_empty()
    }

    /// The same, but one of the terms is enough.
    pub(super) fn any_term(&self) -> Self {
        Self { any: true, ..self.clone() }
    }

    /// What a text that matches contains, at least: for an index.
    pub fn required(&self) -> TextRequirement {
        let terms = self.terms.iter().map(|term| match term {
            Term::Literal { text, .. } => TextRequirement::contains(text),
            Term::Regex { required, .. } => required.clone(),
        });
        if self.any { TextRequirement::either(terms) } else { TextRequirement::all(terms) }
    }

    /// The words of the terms: a text that has them all as whole words comes before one that has only parts of words.
    pub fn whole_words(&self) -> BTreeSet<String> {
        if self.any {
            return BTreeSet::new();
        }
        let literals = self.terms.iter().filter_map(|term| match term {
            Term::Literal { text, .. } => Some(folded(text)),
            Term::Regex { .. } => None,
        });
        literals.flat_map(|text| words(&text).map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Whether these texts, which belong together, match: each term occurs in one of them.
    pub fn matches(&self, texts: &[Cow<'_, str>]) -> bool {
        let mut occur = self.occurring(texts);
        if self.any { occur.any(|occurs| occurs) } else { occur.all(|occurs| occurs) }
    }

    /// Which of the terms occur in these texts, in their order.
    pub(super) fn occurring<'a>(&'a self, texts: &'a [Cow<'_, str>]) -> impl Iterator<Item = bool> + 'a {
        let folded: Vec<Cow<'_, str>> = match self.terms.iter().any(Term::is_of_any_case) {
            true => texts.iter().map(|text| folded(text)).collect(),
            false => Vec::new(),
        };
        self.terms.iter().map(move |term| match term {
            Term::Literal { text, any_case: true } => folded.iter().any(|it| it.contains(text.as_str())),
            Term::Literal { text, any_case: false } => texts.iter().any(|it| it.contains(text.as_str())),
            Term::Regex { regex, .. } => texts.iter().any(|it| it.lines().any(|line| regex.is_match(line))),
        })
    }

    /// How many terms a line has, and where the first of them is, in bytes; `None` if it has none.
    pub fn in_line(&self, line: &str) -> Option<(usize, Range<usize>)> {
        let places: Vec<Range<usize>> = self.terms.iter().filter_map(|term| term.find(line)).collect();
        let first = places.iter().min_by_key(|range| range.start)?.clone();
        Some((places.len(), first))
    }

    /// How many terms there are.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }
}

impl Term {
    fn literal(text: &str) -> Self {
        match text.chars().any(char::is_uppercase) {
            true => Self::Literal { text: text.to_owned(), any_case: false },
            false => Self::Literal { text: folded(text).into_owned(), any_case: true },
        }
    }

    fn regex(pattern: &str) -> Result<Self, SearchPatternError> {
        let wrong = |error: String| SearchPatternError::Regex(error);
        let tree = regex_syntax::parse(pattern).map_err(|error| wrong(error.to_string()))?;
        let (required, has_capitals) = required(&tree);
        let regex = RegexBuilder::new(pattern).case_insensitive(!has_capitals).build();
        let regex = regex.map_err(|error| wrong(error.to_string()))?;
        Ok(Self::Regex { regex: Box::new(regex), required })
    }

    const fn is_of_any_case(&self) -> bool {
        matches!(self, Self::Literal { any_case: true, .. })
    }

    /// Where the term is in a line, in bytes.
    fn find(&self, line: &str) -> Option<Range<usize>> {
        match self {
            Self::Literal { text, any_case: false } => line.find(text.as_str()).map(|at| at..at + text.len()),
            Self::Literal { text, any_case: true } => {
                let lower = folded(line);
                let at = lower.find(text.as_str())?;
                if line.is_ascii() {
                    return Some(at..at + text.len());
                }
                // Folding keeps the number of characters, not of bytes.
                let before = lower.get(..at)?.chars().count();
                let mut places = line.char_indices().map(|(at, _)| at).chain([line.len()]).skip(before);
                let start = places.next()?;
                let end = match text.chars().count() {
                    0 => start,
                    count => places.nth(count - 1)?,
                };
                Some(start..end)
            }
            Self::Regex { regex, .. } => regex.find(line).map(|found| found.range()),
        }
    }
}

/// Whether a path is the one that was asked for: the whole path, its end from a `/` on, or, with a `/` at the end, a folder in it.
/// A path that was recorded on Windows has backslashes instead.
pub fn is_path(path: &str, asked: &str) -> bool {
    if path.contains('\\') || asked.contains('\\') {
        return is_path(&path.replace('\\', "/"), &asked.replace('\\', "/"));
    }
    if asked.ends_with('/') {
        return path.starts_with(asked) || path.contains(&format!("/{}", asked.trim_start_matches('/')));
    }
    path.strip_suffix(asked).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// A text as the index of substrings gets it.
pub fn indexed_text(text: &str) -> String {
    text.chars().map(|c| if c == '\0' { ' ' } else { folded_char(c) }).collect()
}

#[cfg(test)]
mod tests;
