//! Secrets by a grammar: names, styles, containers and alphabets, combined by a seed. Every list has two halves. The rules
//! were tuned on the first halves only; the second halves measure what they find in shapes that no rule was made for
//! (`docs/redaction.md`).

mod containers;

use crate::generated::{Seeded, styled};
use crate::labelled::is_gone;
use crate::percent;
use annals_guard::redaction::Redactor;
use containers::{Container, HELD_OUT_CONTAINERS, TUNED_CONTAINERS};
use std::collections::BTreeMap;

/// Words of names, without a style.
const TUNED_NAMES: [&str; 20] = [
    "password",
    "passwd",
    "token",
    "api key",
    "client secret",
    "access token",
    "private key",
    "db password",
    "datasource password",
    "smtp pass",
    "auth token",
    "credential",
    "session secret",
    "mail user password",
    "github token",
    "secret access key",
    "ldap bind password",
    "stripe api key",
    "password prod",
    "token v2",
];

const HELD_OUT_NAMES: [&str; 20] = [
    "passphrase",
    "pwd",
    "secret",
    "access key",
    "secret key",
    "refresh token",
    "bearer token",
    "encryption key",
    "redis password",
    "signing secret",
    "webhook secret",
    "master key",
    "storage account key",
    "admin pwd",
    "jwt secret",
    "app secret",
    "keystore passphrase",
    "root passwd",
    "secret staging",
    "password 2",
];

type Alphabet = (&'static str, fn(&mut Seeded) -> String);

const TUNED_ALPHABETS: [Alphabet; 7] = [
    ("small letters", |seeded| drawn(seeded, "abcdefghijklmnopqrstuvwxyz")),
    ("both cases", |seeded| drawn(seeded, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    ("digits", |seeded| drawn(seeded, "0123456789")),
    ("letters and digits", |seeded| drawn(seeded, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")),
    ("punctuation", |seeded| drawn(seeded, "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#*+=^~@%?-_")),
    ("words with dashes", |seeded| format!("{}-{}-{}", word(seeded), word(seeded), word(seeded))),
    ("hexadecimal", |seeded| drawn(seeded, "0123456789abcdef")),
];

const HELD_OUT_ALPHABETS: [Alphabet; 7] = [
    ("capitals", |seeded| drawn(seeded, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    ("base32", |seeded| drawn(seeded, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    ("base64", |seeded| {
        drawn(seeded, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") + seeded.one(&["", "=", "=="])
    }),
    ("small letters and digits", |seeded| drawn(seeded, "abcdefghijklmnopqrstuvwxyz0123456789")),
    ("word, number, mark", |seeded| {
        let word = word(seeded);
        format!(
            "{}{}{}{}",
            word[..1].to_uppercase(),
            &word[1..],
            seeded.below(9000) + 100,
            seeded.one(&["!", "#", "*"])
        )
    }),
    ("letters of other languages", |seeded| format!("{}{}", drawn(seeded, "abcdeéfgüäöñßçиж"), seeded.below(90) + 10)),
    ("groups", |seeded| {
        let group = |seeded: &mut Seeded| seeded.text("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", 5);
        format!("{}-{}-{}", group(seeded), group(seeded), group(seeded))
    }),
];

fn drawn(seeded: &mut Seeded, alphabet: &str) -> String {
    let length = seeded.below(13) + 10;
    seeded.text(alphabet, length)
}

fn word(seeded: &mut Seeded) -> &'static str {
    const WORDS: [&str; 12] = [
        "copper", "lantern", "meadow", "orbit", "pepper", "saddle", "timber", "violet", "walnut", "anchor", "glacier",
        "kettle",
    ];
    WORDS[seeded.below(WORDS.len())]
}

/// One half of the grammar.
struct Half {
    names: &'static [&'static str],
    alphabets: &'static [Alphabet],
    containers: &'static [Container],
}

const TUNED: Half = Half { names: &TUNED_NAMES, alphabets: &TUNED_ALPHABETS, containers: &TUNED_CONTAINERS };
const HELD_OUT: Half =
    Half { names: &HELD_OUT_NAMES, alphabets: &HELD_OUT_ALPHABETS, containers: &HELD_OUT_CONTAINERS };

impl Half {
    /// Every container with every name and every alphabet that it can hold: its label, the text around the value, the alphabet and
    /// the value.
    fn all(&self, seed: u64) -> Vec<(&'static str, String, &'static str, String)> {
        let (mut seeded, mut all) = (Seeded(seed), Vec::new());
        for (label, style, template, excluded) in self.containers {
            for name in self.names {
                let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
                let around = template.replace("NAME", &styled(&words, style));
                for (alphabet, draw) in self.alphabets {
                    let mut value = draw(&mut seeded);
                    value.retain(|c| !excluded.contains(c));
                    all.push((*label, around.clone(), *alphabet, value));
                }
            }
        }
        all
    }

    fn texts(&self, seed: u64) -> Vec<(&'static str, String)> {
        let all = self.all(seed).into_iter();
        all.map(|(label, around, _, value)| (label, around.replace('§', &value))).collect()
    }

    fn finds_what_is_promised(&self, which: &str) {
        let redactor = Redactor::default();
        for seed in [1, 2] {
            let all = self.all(seed);
            let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (label, around, alphabet, value) in &all {
                let text = around.replace('§', value);
                if !is_gone(&redactor.redact(&text).text, value, around) {
                    missed.entry(label).or_default().push(format!("{alphabet}: {text:?}"));
                }
            }
            let recall = percent(all.len() - missed.values().map(Vec::len).sum::<usize>(), all.len());
            println!("{which}, seed {seed}: recall {recall:.1} % of {}; missed {missed:#?}", all.len());
            assert!(recall >= 97.0, "{which}, seed {seed}: recall {recall:.1} %");
        }
    }

    /// Every text, alone and in what programs write around it.
    fn is_redacted_once(&self) {
        let redactor = Redactor::default();
        for (label, text) in self.texts(3) {
            let around = [
                text.clone(),
                format!("$ mysql -p{text}"),
                serde_json::json!({"output": text, "password": text}).to_string(),
                format!("    1\t{}", text.replace('\n', "\n    2\t")),
            ];
            for text in around {
                let once = redactor.redact(&text).text.into_owned();
                assert_eq!(redactor.redact(&once).text, once, "{label}: {text:?}");
                assert!(!once.contains("[redacted:[redacted:"), "{label}: {once:?}");
            }
        }
    }
}

#[test]
fn a_text_of_the_tuned_half_that_was_redacted_is_not_redacted_again() {
    TUNED.is_redacted_once();
}

#[test]
fn a_text_of_the_held_out_half_that_was_redacted_is_not_redacted_again() {
    HELD_OUT.is_redacted_once();
}

#[test]
fn the_half_of_the_grammar_that_rules_were_tuned_on_is_found() {
    TUNED.finds_what_is_promised("tuned half");
}

#[test]
fn the_half_of_the_grammar_that_no_rule_was_tuned_on_is_found() {
    HELD_OUT.finds_what_is_promised("held-out half");
}
