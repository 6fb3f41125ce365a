//! Texts as the sets of their trigrams, each as a token of five letters.
//!
//! FTS5 has a tokenizer for trigrams. It passes on each of them as often as it occurs, and its letters, of which FTS5 makes a hash of
//! few bits: most of the time of filling an index went into chains of its hash table. Here each text names each trigram once, by a
//! token whose letters are mixed well. Two trigrams rarely have the same token; then a text is a candidate in vain.

/// Bits of a token: five letters of [`LETTERS`].
const BITS: u32 = 25;
const LETTERS: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
const LETTERS_OF_A_TOKEN: u32 = 5;

/// Sets of trigrams, made one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextTrigrams {
    /// A bit for each token that the text has so far.
    seen: Vec<u64>,
    tokens: Vec<u32>,
    written: String,
}

impl TextTrigrams {
    /// The tokens of a text, each once, with spaces between them.
    pub fn of(&mut self, text: &str) -> &str {
        self.seen.resize(1 << (BITS - 6), 0);
        for token in tokens(text) {
            let (word, bit) = ((token >> 6) as usize, 1 << (token & 63));
            let Some(word) = self.seen.get_mut(word) else { continue };
            if *word & bit == 0 {
                *word |= bit;
                self.tokens.push(token);
            }
        }
        self.written.clear();
        for token in self.tokens.drain(..) {
            if let Some(word) = self.seen.get_mut((token >> 6) as usize) {
                *word = 0;
            }
            write(token, &mut self.written);
            self.written.push(' ');
        }
        &self.written
    }
}

/// The token of each trigram of a text, in order.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = u32> {
    let mut letters = text.chars().map(u64::from);
    let first = letters.next().zip(letters.next());
    let mut last = first.map_or(0, |(one, two)| one << 21 | two);
    letters.map(move |letter| {
        last = (last << 21 | letter) & ((1 << 63) - 1);
        mixed(last)
    })
}

/// The letters of a token.
pub(crate) fn write(token: u32, to: &mut String) {
    for letter in (0..LETTERS_OF_A_TOKEN).rev() {
        to.push(char::from(LETTERS[(token >> (5 * letter) & 31) as usize]));
    }
}

/// As many bits of three characters as a token has, each of which depends on all three.
const fn mixed(three: u64) -> u32 {
    let once = three.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let twice = (once ^ once >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (twice >> (64 - BITS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_text_names_each_of_its_trigrams_once() {
        let mut set = TextTrigrams::default();
        let named: Vec<String> = set.of("ababab").split_whitespace().map(str::to_owned).collect();
        assert_eq!(named.len(), 2);
        assert!(named.iter().all(|token| token.len() == 5));
        assert_eq!(set.of("ab"), "");
        assert_eq!(set.of("aba").trim(), named[0], "nothing of the text before is left");
    }

    #[test]
    fn what_a_text_contains_has_no_token_that_the_text_lacks() {
        let (text, part) = ("Grüße aus 北京 and elsewhere\n", "ße aus 北京 an");
        let all: BTreeSet<u32> = tokens(text).collect();
        assert!(tokens(part).all(|token| all.contains(&token)));
        assert!(tokens("nowhere else").any(|token| !all.contains(&token)));
    }
}
