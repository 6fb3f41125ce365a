//! Names and values in sentences: `the password for the database is ...`, `Mot de passe : ...`, `use ... as the token`.

use super::NAME;
use super::context::line_before;
use super::cursor::Cursor;
use super::languages::key_around;
use super::name::{Class, class};
use crate::redaction::words::has_word;
use std::ops::Range;

/// What may follow a word for password and belongs to it: Italian.
const CONTINUED: [&str; 2] = [" d'ordine", " chiave"];

/// Words before `key` in sentences and labels: `API key: ...`.
const SPOKEN_KEYS: &str = "api secret private encryption signing license account master hmac deploy webhook subscription storage jwt \
    cipher decryption recovery client shared ssh integration";

/// Verbs between a name and its value.
const VERBS: &str = "is was now wurde lautet ist war heißt est était es still be remains equals bleibt era é è jest är er je là adalah to olarak είναι ito sono";

/// Words that introduce a name of which the value follows: `with password ...`.
const GIVEN: &str = "with using and mit und avec et con y com e met en z i с и";

/// What says of which kind a password is, behind its name.
const KINDS: &str = "prod production staging stage test testing dev live local sandbox";

/// Verbs in scripts without spaces between words, and particles that say what a sentence is about.
const JOINED: [&str; 10] = ["是", "为", "為", "は", "는 ", "은 ", "이 ", "가 ", "설정은 ", "设置为"];

/// Dashes between a name and its value.
const DASHES: [&str; 2] = ["— ", "– "];

/// Words that begin what says whose secret it is: `password for the database`.
const OF: &str = "for of on to from für des der zum zur vom von pour du de del della dello dell di do da dos das para van voor dla od \
    для от к до за till för av til fürs per pro på i na an should will must";

/// What may follow a verb.
const PARTICLES: [&str; 12] = [
    "auf ",
    "ab heute ",
    "ab sofort ",
    "now ",
    "still ",
    "currently ",
    "jetzt ",
    "set to ",
    "changed to ",
    "reset to ",
    "simply ",
    "just ",
];

/// Verbs that make `to` part of what they say: `changed the password to ...`.
const SETTING: [&str; 8] = ["set ", "change", "reset ", "updat", "rotated ", "змін", "asło", "switched "];

/// The most words between a name and its verb, and the longest of them.
const WORDS: usize = 7;
const WORD: usize = 100;

/// A name with what belongs to it across a space: `API key`, `parola d'ordine`, `clé secrète`.
pub(super) fn spoken_name(text: &str, name: Range<usize>) -> Range<usize> {
    let (before, rest) = (text.get(..name.start).unwrap_or_default(), text.get(name.end..).unwrap_or_default());
    let named = text.get(name.clone()).unwrap_or_default();
    if named.eq_ignore_ascii_case("key")
        && let Some(before) = before.strip_suffix(' ')
    {
        let length = before.bytes().rev().take(NAME).take_while(u8::is_ascii_alphabetic).count();
        let start = before.len() - length;
        let word = before.get(start..).unwrap_or_default().to_ascii_lowercase();
        // An access key alone may be one of the keyboard.
        let is_secret_access = word == "access" && before.get(..start).is_some_and(|line| line.ends_with("ecret "));
        if is_secret_access || has_word(SPOKEN_KEYS, &word) {
            return start..name.end;
        }
    }
    // `Mail pass`
    let word = before.strip_suffix(' ').map(|before| before.rsplit(|c: char| !c.is_ascii_alphabetic()).next());
    let word = word.flatten().filter(|word| named.eq_ignore_ascii_case("pass") && word.len() < NAME);
    if let Some(word) = word.filter(|word| class(&format!("{word} pass")) == Some(Class::Password)) {
        return name.start - 1 - word.len()..name.end;
    }
    if let Some(around) = key_around(before, named, rest) {
        return name.start - around.0..name.end + around.1;
    }
    let kind = rest.strip_prefix(' ').unwrap_or_default();
    let kind = kind.get(..kind.bytes().take_while(u8::is_ascii_alphabetic).count()).unwrap_or_default();
    if has_word(KINDS, &kind.to_ascii_lowercase()) {
        return name.start..name.end + 1 + kind.len();
    }
    // `Token 2: ...`
    if let [b' ', b'1'..=b'9', next, ..] = rest.as_bytes()
        && matches!(next, b':' | b'`' | b'*' | b' ' | b'=')
    {
        return name.start..name.end + 2;
    }
    let continued = CONTINUED.iter().find(|continued| rest.starts_with(**continued));
    match continued.filter(|_| named.to_ascii_lowercase().ends_with("parola")) {
        Some(continued) => name.start..name.end + continued.len(),
        None => name,
    }
}

/// The value before a name: `use ... as the password`.
pub(super) fn value_before(before: &str, rest: &str) -> Option<Range<usize>> {
    const AS: [&str; 4] = [" as ", " als ", " como ", " come "];
    // `the password hash`, `the token type`.
    if rest.trim_start_matches([' ', '`', '*']).starts_with(|c: char| c.is_alphabetic()) && !rest.starts_with(" for ") {
        return None;
    }
    let line = line_before(before);
    let (end, word) = AS.iter().find_map(|word| line.rfind(word).map(|at| (at, word)))?;
    if !is_few_words(line.get(end + word.len()..)?) {
        return None;
    }
    let stated = before.get(..before.len() - line.len() + end)?;
    let quote = stated.chars().next_back().filter(|c| matches!(c, '`' | '"' | '\''));
    let stated = quote.map_or(stated, |quote| stated.strip_suffix(quote).unwrap_or(stated));
    let length = stated.bytes().rev().take(NAME).take_while(|byte| !byte.is_ascii_whitespace()).count();
    let start = stated.len() - length;
    let start = start + stated.get(start..)?.chars().next().filter(|c| Some(*c) == quote).map_or(0, char::len_utf8);
    Some(start..stated.len())
}

/// Whether a text is at most three words, each with the space behind it.
fn is_few_words(text: &str) -> bool {
    let words = || text.split_terminator(' ');
    (text.is_empty() || text.ends_with(' '))
        && words().count() <= 3
        && words().all(|word| !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || c == '-'))
}

/// Whether a word introduces the name that this text of its line precedes, with a few words between: `with the client `.
pub(super) fn is_given(line: &str) -> bool {
    let mut words = line.split(' ').rev().skip(1).take(3);
    line.ends_with(' ') && words.any(|word| has_word(GIVEN, word))
}

impl Cursor<'_> {
    /// Skips to the value that a sentence gives, behind the name and its space: a verb or a colon, before which a few words may say
    /// whose secret it is.
    pub(super) fn skip_to_statement(&mut self, before: &str, spaces: usize, spoken: bool) -> bool {
        if JOINED.iter().any(|verb| self.takes(verb.as_bytes())) {
            self.spaces();
            return true;
        }
        if spaces == 0 {
            return false;
        }
        if spoken && DASHES.iter().any(|dash| self.takes(dash.as_bytes())) {
            return true;
        }
        let from = self.at;
        for at in 0..WORDS {
            let word = self.until(|byte| byte.is_ascii_whitespace() || b",;!?(){}<>=".contains(&byte), WORD);
            let Some(text) = self.bytes.get(word.clone()).and_then(|word| std::str::from_utf8(word).ok()) else {
                break;
            };
            let bare = text.trim_end_matches(':');
            let (small, colon) = (bare.to_lowercase(), bare.len() < text.len());
            self.at = word.end;
            let sets = small != "to" || colon || SETTING.iter().any(|verb| before.contains(verb));
            if has_word(VERBS, &small) && sets || at > 0 && colon {
                let behind = self.spaces() > 0;
                let _ = behind && self.takes(b": ");
                let _ = behind && PARTICLES.iter().any(|particle| self.takes(particle.as_bytes()));
                self.at = if behind { self.at } else { from };
                return behind;
            }
            if bare.is_empty() || !spoken || at == 0 && !has_word(OF, &small) || self.spaces() == 0 {
                break;
            }
        }
        self.at = from;
        false
    }
}
