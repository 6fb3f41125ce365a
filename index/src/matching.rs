//! What a search requires, as a query of FTS5.

use annals_inspect::search::TextRequirement;
use std::collections::BTreeSet;

/// The query of the index of substrings; `None` when any text may match.
pub(crate) fn trigrams(required: &TextRequirement) -> Option<String> {
    match required {
        TextRequirement::Any => None,
        TextRequirement::Contains(text) => {
            let chars: Vec<char> = text.chars().collect();
            let parts: BTreeSet<String> =
                chars.windows(3).map(|three| quoted(&three.iter().collect::<String>())).collect();
            Some(joined(parts, " AND "))
        }
        TextRequirement::All(parts) => Some(joined(parts.iter().filter_map(trigrams), " AND ")),
        TextRequirement::Either(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(trigrams).collect();
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

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_are_required_by_their_trigrams() {
        let contains = |text: &str| TextRequirement::Contains(text.to_owned());
        assert_eq!(trigrams(&contains("spare")).as_deref(), Some("(\"are\" AND \"par\" AND \"spa\")"));
        assert_eq!(trigrams(&contains("a\"b")).as_deref(), Some("(\"a\"\"b\")"));
        let either = TextRequirement::Either(vec![contains("abc"), contains("xyz")]);
        assert_eq!(trigrams(&either).as_deref(), Some("((\"abc\") OR (\"xyz\"))"));
        assert_eq!(trigrams(&TextRequirement::Any), None);
    }
}
