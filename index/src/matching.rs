//! What a search requires, as a query of FTS5.

use crate::trigrams::{self, tokens};
use annals_inspect::search::TextRequirement;
use std::collections::BTreeSet;

/// The query of the index of substrings; `None` when any text may match.
pub(crate) fn substrings(required: &TextRequirement) -> Option<String> {
    match required {
        TextRequirement::Any => None,
        TextRequirement::Contains(text) => {
            let tokens: BTreeSet<u32> = tokens(text).collect();
            Some(joined(tokens.into_iter().map(written), " AND "))
        }
        TextRequirement::All(parts) => Some(joined(parts.iter().filter_map(substrings), " AND ")),
        TextRequirement::Either(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(substrings).collect();
            Some(joined(parts?, " OR "))
        }
    }
}

/// The query of the index of words; `None` without words.
pub(crate) fn all_words(words: &BTreeSet<String>) -> Option<String> {
    (!words.is_empty()).then(|| joined(words.iter().map(|word| quoted(word)), " AND "))
}

fn joined(parts: impl IntoIterator<Item = String>, with: &str) -> String {
    format!("({})", parts.into_iter().collect::<Vec<_>>().join(with))
}

fn written(token: u32) -> String {
    let mut letters = String::new();
    trigrams::write(token, &mut letters);
    quoted(&letters)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_are_required_by_their_trigrams() {
        let contains = |text: &str| TextRequirement::Contains(text.to_owned());
        let count = |required: &TextRequirement, what: &str| substrings(required).unwrap().matches(what).count();
        assert_eq!((count(&contains("spare"), " AND "), count(&contains("spare"), "\"")), (2, 6));
        assert_eq!(count(&contains("aaaaa"), " AND "), 0, "each is required once");
        let either = TextRequirement::Either(vec![contains("abc"), contains("xyz")]);
        assert_eq!((count(&either, " OR "), count(&either, " AND ")), (1, 0));
        assert_eq!(substrings(&TextRequirement::Any), None);
    }
}
