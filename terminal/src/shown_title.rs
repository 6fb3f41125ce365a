//! Titles of sessions as lists show them. Most are the first words of a prompt, which may contain a key.

use crate::layout::name;
use annals_guard::redaction::Redactor;
use std::borrow::Cow;
use std::sync::OnceLock;

/// A shorter word is not taken as a key.
const KEY: usize = 16;

/// A title in one line, in which keys are replaced.
pub fn shown_title(title: &str) -> String {
    name(&without_keys(title))
}

/// The same as it is, lines included.
pub fn without_keys(title: &str) -> Cow<'_, str> {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    if !title.split_whitespace().any(|word| word.len() >= KEY) {
        return Cow::Borrowed(title);
    }
    REDACTOR.get_or_init(Redactor::default).redact(title).text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_title_is_replaced_and_other_words_stay() {
        let key = format!("my key sk-ant-api03-{} please", "aB3".repeat(16));
        assert_eq!(shown_title(&key), "my key [redacted:anthropic-key] please");
        assert_eq!(shown_title("Implement internationalisation\nnow"), "Implement internationalisation␊now");
    }
}
