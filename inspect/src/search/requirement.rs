//! What a text must contain so that a search may match it, in a form that an index of substrings answers.

use super::folding::folded;
use regex_syntax::hir::{Hir, HirKind};

/// What a text contains that matches a search, at least. Substrings are folded and have three characters or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextRequirement {
    /// Any text may match.
    Any,
    /// The text contains this.
    Contains(String),
    /// All of these hold.
    All(Vec<TextRequirement>),
    /// One of these holds.
    Either(Vec<TextRequirement>),
}

/// Substrings with fewer characters are in no index.
const SHORTEST: usize = 3;

impl TextRequirement {
    /// The text contains `part` in any case.
    pub fn contains(part: &str) -> Self {
        match part.chars().count() >= SHORTEST {
            true => Self::Contains(folded(part).replace('\0', " ")),
            false => Self::Any,
        }
    }

    /// All of several requirements.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut parts: Vec<Self> = parts.into_iter().filter(|part| *part != Self::Any).collect();
        match parts.len() {
            0 => Self::Any,
            1 => parts.remove(0),
            _ => Self::All(parts),
        }
    }

    /// One of several requirements.
    pub fn either(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        match parts.contains(&Self::Any) || parts.is_empty() {
            true => Self::Any,
            false => Self::Either(parts),
        }
    }
}

/// What a match of a regular expression contains, and whether the expression has capital letters.
pub(super) fn required(tree: &Hir) -> (TextRequirement, bool) {
    let mut capitals = false;
    let found = of(tree, &mut capitals);
    (found, capitals)
}

fn of(tree: &Hir, capitals: &mut bool) -> TextRequirement {
    match tree.kind() {
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => {
                *capitals |= text.chars().any(char::is_uppercase);
                TextRequirement::contains(text)
            }
            Err(_) => TextRequirement::Any,
        },
        HirKind::Capture(capture) => of(&capture.sub, capitals),
        HirKind::Repetition(repeated) => match (of(&repeated.sub, capitals), repeated.min) {
            (_, 0) => TextRequirement::Any,
            (found, _) => found,
        },
        // The parser joins neighbouring literals.
        HirKind::Concat(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| of(part, capitals)).collect();
            TextRequirement::all(parts)
        }
        HirKind::Alternation(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| of(part, capitals)).collect();
            TextRequirement::either(parts)
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => TextRequirement::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(pattern: &str) -> TextRequirement {
        required(&regex_syntax::parse(pattern).unwrap()).0
    }

    fn contains(part: &str) -> TextRequirement {
        TextRequirement::Contains(part.to_owned())
    }

    #[test]
    fn literals_that_every_match_has_are_required() {
        assert_eq!(
            requirement("Error: .*timeout"),
            TextRequirement::All(vec![contains("error: "), contains("timeout")])
        );
        assert_eq!(requirement("(panic)+ed?"), contains("panic"));
        assert_eq!(requirement("alpha|beta"), TextRequirement::Either(vec![contains("alpha"), contains("beta")]));
        assert_eq!(requirement("alpha|b"), TextRequirement::Any);
        assert_eq!(requirement("(alpha)?x*"), TextRequirement::Any);
    }

    #[test]
    fn an_escape_with_a_capital_letter_is_no_capital_letter() {
        assert!(!required(&regex_syntax::parse(r"\S+ foo\W").unwrap()).1);
        assert!(required(&regex_syntax::parse(r"\S+ Foo").unwrap()).1);
    }
}
