//! Passwords of several words, and sentences that only speak of one.

use crate::redaction::words::has_word;

/// Words of sentences and labels.
const OF_SENTENCES: &str = "a again an and are at be by can cannot character characters choose contain correct digit digits do does empty \
    enter error failed for forgot from has have here if in incorrect invalid is it its least length letter letters \
    long longer match matches maximum minimum missing most must no not of on or our please required set short should \
    than that the this to too type weak when will with wrong you your";

/// Words of which a label of a password has one.
const OF_LABELS: &str = "code confirm credential credentials key kennwort login passe passphrase passwd password passwords passwort \
    secret token username";

/// Whether a text in quotes is a password of several words. Without the name of a variable, it has digits or at least four
/// small words, since labels are assigned to the same names.
pub(super) fn is_phrase(value: &str, variable: bool) -> bool {
    let value = value.trim_end_matches(' ');
    let marks = value.contains(['{', '}', '<', '>', '$', '%', '\t', '\\', '=', '/', ',', '"', '`']);
    let words: Vec<String> = value.split(' ').map(str::to_ascii_lowercase).collect();
    let plain = words.iter().all(|word| !word.is_empty() && word.len() <= 24);
    let about = |list| words.iter().any(|word| has_word(list, word.trim_matches(|c: char| !c.is_alphanumeric())));
    if marks
        || !plain
        || words.len() > 8
        || value.len() < 8
        || value.ends_with(['.', ':', '?', '…'])
        || about(OF_LABELS)
    {
        return false;
    }
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    if variable {
        return true;
    }
    // "correct horse battery staple" is a word of this list and a password of many examples.
    let known = value.starts_with("correct horse");
    let small = value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b' ');
    (digits || small && words.len() >= 4) && (known || !about(OF_SENTENCES))
}

/// Whether a text is a password of at least four small words, joined by dashes, and no term such as `first-come-first-served`.
pub(super) fn is_joined_phrase(value: &str) -> bool {
    let words = || value.split('-');
    let word = |word: &str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    value.starts_with("correct-horse-")
        || words().count() >= 4
            && words().all(|one| word(one) && !has_word(OF_SENTENCES, one) && !has_word(OF_LABELS, one))
}

#[cfg(test)]
mod tests {
    use super::is_phrase;

    #[test]
    fn words_are_a_password_and_sentences_are_none() {
        for (text, variable) in [
            ("correct horse battery staple", false),
            ("Heim Netz 2024", false),
            ("my dog has fleas", true),
            ("abcd efgh ijkl mnop", true),
        ] {
            assert!(is_phrase(text, variable), "{text}");
        }
        for (text, variable) in [
            ("must have at least 12 characters", false),
            ("Nouveau mot de passe", false),
            ("Strong and long", false),
            ("Enter your password", true),
            ("the password of the database", false),
            ("$(pass show db)", true),
        ] {
            assert!(!is_phrase(text, variable), "{text}");
        }
    }
}
