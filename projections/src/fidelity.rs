//! How much of what a compaction covered the model can still read: names, paths, numbers and instructions
//! (`docs/compaction.md#inspecting`). A pointer for a reader, not a proof.

mod saved;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use annals_core::Seq;
use serde::{Deserialize, Serialize};

/// How many of some things are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptCount {
    /// How many are in the summary or in a message that stays.
    pub kept: u64,
    /// How many there are.
    pub of: u64,
}

impl KeptCount {
    fn add(&mut self, kept: bool) {
        self.kept += u64::from(kept);
        self.of += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self { kept: self.kept + other.kept, of: self.of + other.of }
    }

    /// The share that is kept in percent, rounded down; 100 of nothing.
    pub fn percent(self) -> u64 {
        (self.kept * 100).checked_div(self.of).unwrap_or(100)
    }
}

/// A sentence of the user's that left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentenceFidelity {
    /// The message.
    pub message: Seq,
    /// The sentence.
    pub text: String,
    /// Its names, paths, numbers, and itself if it instructs.
    #[serde(flatten)]
    pub count: KeptCount,
}

/// What is kept of the texts that a compaction covered. Each name, path and number counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// All of it in percent, rounded down.
    pub percent: u64,
    /// Identifiers.
    pub names: KeptCount,
    /// Paths and names of files.
    pub paths: KeptCount,
    /// Numbers of two digits or more.
    pub numbers: KeptCount,
    /// Lines that instruct.
    pub instructions: KeptCount,
    /// The sentences of the user's that mention or instruct something, in order.
    #[serde(serialize_with = "saved::serialize", deserialize_with = "saved::deserialize")]
    pub sentences: Vec<SentenceFidelity>,
}

/// A text that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredText {
    /// Its message.
    pub message: Seq,
    /// Whether the user wrote it.
    pub user: bool,
    /// All of it.
    pub text: String,
}

impl Fidelity {
    /// Compares what left with everything that the model reads instead.
    pub fn of(covered: &[CoveredText], remaining: &str) -> Self {
        let lowered = remaining.to_lowercase();
        let mut fidelity = Self::default();
        let mut seen = BTreeSet::new();
        for text in covered {
            for line in text.text.lines() {
                for (kind, mention) in mentions(line) {
                    if seen.insert(mention.to_lowercase()) {
                        fidelity.count(kind).add(lowered.contains(&mention.to_lowercase()));
                    }
                }
                if is_instruction(line.trim()) && seen.insert(line.trim().to_lowercase()) {
                    fidelity.instructions.add(carries(&lowered, line));
                }
            }
            if text.user {
                let sentences = sentences(&text.text).map(|sentence| SentenceFidelity {
                    message: text.message,
                    text: sentence.to_string(),
                    count: of_sentence(sentence, &lowered),
                });
                fidelity.sentences.extend(sentences.filter(|sentence| sentence.count.of > 0));
            }
        }
        let Self { names, paths, numbers, instructions, .. } = fidelity;
        fidelity.percent = names.plus(paths).plus(numbers).plus(instructions).percent();
        fidelity
    }

    fn count(&mut self, kind: Mention) -> &mut KeptCount {
        match kind {
            Mention::Name => &mut self.names,
            Mention::Path => &mut self.paths,
            Mention::Number => &mut self.numbers,
        }
    }
}

fn of_sentence(sentence: &str, lowered: &str) -> KeptCount {
    let mut count = KeptCount::default();
    mentions(sentence).for_each(|(_, mention)| count.add(lowered.contains(&mention.to_lowercase())));
    if is_instruction(sentence) {
        count.add(carries(lowered, sentence));
    }
    count
}

#[derive(Clone, Copy)]
enum Mention {
    Name,
    Path,
    Number,
}

/// The names, paths and numbers in a text.
fn mentions(text: &str) -> impl Iterator<Item = (Mention, &str)> {
    words(text).filter_map(|word| {
        let kind = if is_path(word) {
            Mention::Path
        } else if is_name(word) {
            Mention::Name
        } else if is_number(word) {
            Mention::Number
        } else {
            return None;
        };
        Some((kind, word))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ',');
    let around = |c: char| matches!(c, '`' | '\'' | '.' | ':' | ';' | '!' | '?' | '*' | '<' | '>');
    text.split(between).map(move |word| word.trim_matches(around))
}

/// The sentences of a text: a line ends one, and so does a full stop, an exclamation or a question mark before a blank.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(of_line).map(str::trim).filter(|sentence| !sentence.is_empty())
}

fn of_line(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = line;
    while let Some(end) = end_of_sentence(rest) {
        let (sentence, after) = rest.split_at(end);
        sentences.push(sentence);
        rest = after;
    }
    sentences.push(rest);
    sentences
}

fn end_of_sentence(line: &str) -> Option<usize> {
    let pairs = line.char_indices().zip(line.chars().skip(1));
    let mut ends = pairs.filter(|((_, stop), next)| matches!(stop, '.' | '!' | '?') && next.is_whitespace());
    ends.next().map(|((at, stop), _)| at + stop.len_utf8())
}

fn is_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 2 && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '-' | '%' | '_'))
}

/// A path or a name of a file.
fn is_path(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
    let path = word.contains('/') && !word.contains("//");
    let file = word.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.chars().any(char::is_alphabetic) && (1..=5).contains(&end.len()) && end.chars().all(char::is_alphanumeric)
    });
    letters >= 3 && (path || file)
}

/// A path, a file name, or an identifier with an inner `_`, `::` or capital.
fn is_name(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let identifier = word.contains("::") || word.contains('_') && word.contains(char::is_alphabetic) || inner_capital;
    is_path(word) || letters >= 3 && identifier
}

/// What a covered text mentions and a summary does not: names in it (paths, identifiers, quoted words), and lines that read
/// like an instruction: each is quoted unchanged, in order, once.
pub fn unmentioned(covered: &str, summary: &str) -> (Vec<String>, Vec<String>) {
    let lowered = summary.to_lowercase();
    let mut names: Vec<String> = Vec::new();
    let mut instructions: Vec<String> = Vec::new();
    for line in covered.lines() {
        for name in words(line) {
            if is_name(name) && !lowered.contains(&name.to_lowercase()) && !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        let line = line.trim();
        if is_instruction(line) && !carries(&lowered, line) && !instructions.iter().any(|known| known == line) {
            instructions.push(line.to_string());
        }
    }
    (names, instructions)
}

fn is_instruction(line: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "always",
        "never",
        "must",
        "do not",
        "don't",
        "only ",
        "prefer",
        "should",
        "make sure",
        "avoid",
        "required",
        "use ",
    ];
    let lower = line.to_lowercase();
    (8..=400).contains(&line.len()) && SIGNS.iter().any(|sign| lower.contains(sign))
}

/// Whether the summary contains most of the important words of a line.
fn carries(lowered: &str, line: &str) -> bool {
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 4)
        .map(str::to_lowercase)
        .collect();
    let found = words.iter().filter(|word| lowered.contains(word.as_str())).count();
    words.is_empty() || found * 3 >= words.len() * 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn left(text: &str) -> CoveredText {
        CoveredText { message: Seq(3), user: true, text: text.into() }
    }

    fn counts(fidelity: &Fidelity) -> [(u64, u64); 4] {
        let Fidelity { names, paths, numbers, instructions, .. } = fidelity;
        [names, paths, numbers, instructions].map(|count| (count.kept, count.of))
    }

    #[test]
    fn what_is_kept_is_counted_by_kind_and_once() {
        let text =
            "Never touch src/main.rs, port 8080 is taken. Use parse_line and parse_line, not readAll.\nTwo words.";
        let none = Fidelity::of(&[left(text)], "");
        assert_eq!(counts(&none), [(0, 2), (0, 1), (0, 1), (0, 1)]);
        assert_eq!(none.percent, 0);
        let some = Fidelity::of(&[left(text)], "SRC/main.rs and PARSE_LINE stay; 8080");
        assert_eq!(counts(&some), [(1, 2), (1, 1), (1, 1), (0, 1)]);
        assert_eq!(some.percent, 60);
        let all = Fidelity::of(&[left(text)], text);
        assert_eq!((counts(&all), all.percent), ([(2, 2), (1, 1), (1, 1), (1, 1)], 100));
        assert_eq!(Fidelity::of(&[left("nothing of that kind")], "").percent, 100);
    }

    #[test]
    fn each_sentence_of_the_users_has_a_number() {
        let model = CoveredText { user: false, ..left("I read lib.rs.") };
        let texts = vec![left("Look at src/lib.rs! Then stop.\nAlways use 4711."), model];
        let fidelity = Fidelity::of(&texts, "src/lib.rs");
        let sentences: Vec<_> =
            fidelity.sentences.iter().map(|it| (it.text.as_str(), it.count.kept, it.count.of)).collect();
        assert_eq!(sentences, [("Look at src/lib.rs!", 1, 1), ("Always use 4711.", 0, 2)]);
        assert_eq!(counts(&fidelity), [(0, 0), (2, 2), (0, 1), (0, 1)]);
    }
}
