//! Words of names, and whether letters read like words.

/// Of each letter the letters that often follow it in English and in the names of programs, one bit each: 260 pairs, which are
/// 94 % of the pairs in 7,600 words and identifiers and 38 % of all pairs.
const FOLLOWS: [u32; 26] = [
    0x13ebd4e, 0x0164911, 0x01e4d95, 0x0164919, 0x1fff97f, 0x01e4939, 0x0166191, 0x01a4111, 0x2aef87f, 0x0000000,
    0x0040110, 0x11c4919, 0x014d113, 0x03ced7d, 0x07efd6f, 0x01ec991, 0x0100000, 0x13efd7d, 0x11ccd95, 0x11ef9b5,
    0x00eb937, 0x0004111, 0x0026111, 0x0088110, 0x004a000, 0x0000010,
];

/// Whether the letters of a text follow each other as in words and in names of programs, and not as if they were drawn. Of drawn
/// texts of eight letters or more 96 % do not, of words 4 %.
pub(super) fn is_word_like(text: &str) -> bool {
    let (mut pairs, mut rare, mut hump) = (0, 0, 1);
    for (a, b) in text.bytes().zip(text.bytes().skip(1)) {
        let (Some(first), Some(second)) = (letter(a), letter(b)) else {
            hump = 1;
            continue;
        };
        if a.is_ascii_lowercase() && b.is_ascii_uppercase() {
            // `accessToken`: the parts of names are longer than two letters.
            pairs += usize::from(hump < 3);
            rare += usize::from(hump < 3);
            hump = 1;
            continue;
        }
        hump += 1;
        pairs += 1;
        rare += usize::from(FOLLOWS.get(first).is_none_or(|follows| follows >> second & 1 == 0));
    }
    rare * 4 <= pairs
}

fn letter(byte: u8) -> Option<usize> {
    byte.is_ascii_alphabetic().then(|| usize::from(byte.to_ascii_lowercase() - b'a'))
}

/// Whether a list of words, separated by spaces, has a word.
pub(super) fn has_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|one| one == word)
}

/// The words of a name, in capitals: by underscores, dashes, dots, spaces and humps.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_small = false;
    let mut chars = name.chars();
    let mut before_is_capital = false;
    while let Some(c) = chars.next() {
        let separates = matches!(c, '_' | '-' | '.' | ' ' | ':' | '/');
        // `DBSecret` has two words, `IDs` has one.
        let begins = before_is_capital && chars.clone().take(2).filter(|next| next.is_lowercase()).count() == 2;
        if separates || c.is_uppercase() && (before_is_small || begins) {
            words.push(String::new());
        }
        if !separates && let Some(word) = words.last_mut() {
            word.extend(c.to_uppercase());
        }
        before_is_capital = c.is_uppercase();
        // `s3Key` has two words.
        before_is_small = c.is_lowercase() || before_is_small && c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::is_word_like;

    #[test]
    fn words_and_names_read_like_words_and_drawn_letters_do_not() {
        for word in
            ["dragonfly", "CancellationToken", "passwordSchema", "inherit", "HTTPServer", "TokenProvider", "CONNECTION"]
        {
            assert!(is_word_like(word), "{word}");
        }
        for drawn in ["zdLUueZoBUEqWpcH", "QBRZATIKCOILNEIS", "PpegJCYWFpeZFdXJ", "qwkzjvbxmp"] {
            assert!(!is_word_like(drawn), "{drawn}");
        }
    }
}
