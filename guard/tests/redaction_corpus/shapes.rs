//! Secrets in containers that are written as data (`fixtures/redaction/containers.jsonl`), set by set. Each set was written and measured
//! before rules were changed because of it (`docs/redaction.md` lists the first results); a seed decides which half was used for that
//! first. In the containers of set 0 no name is next to the value: they are measured without a promise.

use crate::generated::{Seeded, styled};
use crate::labelled::is_gone;
use crate::{Tested, corpus, percent};
use annals_guard::redaction::Redactor;
use std::collections::{BTreeMap, BTreeSet};

/// Set, label, style of the name, template with `NAME` and `§`, and characters that a value cannot have there.
type Container = (u64, String, String, String, String);

/// Words of names: every second one is for the half that rules may be tuned on.
const NAMES: [&str; 48] = [
    "password",
    "passphrase",
    "api token",
    "auth token",
    "client secret",
    "api key",
    "db password",
    "smtp password",
    "refresh token",
    "access token",
    "secret key",
    "private key",
    "webhook secret",
    "jwt secret",
    "admin password",
    "root password",
    "deploy token",
    "bot token",
    "encryption key",
    "signing key",
    "personal access token",
    "github token",
    "db pass",
    "mail pass",
    "redis pwd",
    "admin passwd",
    "session secret",
    "cookie secret",
    "license key",
    "account key",
    "wifi password",
    "app password",
    "keystore password",
    "truststore password",
    "consumer secret",
    "shared secret",
    "hmac key",
    "master key",
    "bearer token",
    "security token",
    "oauth client secret",
    "stripe secret key",
    "database password",
    "user password",
    "vault token",
    "service token",
    "password prod",
    "token 2",
];

type Alphabet = (&'static str, fn(&mut Seeded) -> String);

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const BOTH: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MIXED: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const MARKS: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#$%&()*+,-./:;<=>?@[]^_{|}~";

/// Alphabets of values: every second one is for the half that rules may be tuned on.
const ALPHABETS: [Alphabet; 14] = [
    ("small letters", |seeded| drawn(seeded, LETTERS, 10)),
    ("capitals", |seeded| drawn(seeded, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 10)),
    ("both cases", |seeded| drawn(seeded, BOTH, 10)),
    ("small letters and digits", |seeded| drawn(seeded, "abcdefghijklmnopqrstuvwxyz0123456789", 9)),
    ("punctuation", |seeded| drawn(seeded, MARKS, 12)),
    ("one sign", |seeded| {
        format!(
            "{}{}{}",
            drawn(seeded, MIXED, 4),
            seeded.one(&["&", "#", "!", "%", "+", "=", "?", ";", "|", ":"]),
            drawn(seeded, MIXED, 5)
        )
    }),
    ("nine letters and digits", |seeded| seeded.text(MIXED, 9)),
    ("letters and digits", |seeded| drawn(seeded, MIXED, 12)),
    ("words with dashes", |seeded| format!("{}-{}-{}-{}", word(seeded), word(seeded), word(seeded), word(seeded))),
    ("word and year", |seeded| {
        format!("{}{}{}", capital(word(seeded)), 1960 + seeded.below(70), seeded.one(&["!", "!!", "#", ""]))
    }),
    ("digits", |seeded| drawn(seeded, "0123456789", 8)),
    ("hexadecimal", |seeded| seeded.text("0123456789abcdef", 32)),
    ("base64", |seeded| seeded.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 43) + "="),
    ("letters of other languages", |seeded| {
        format!("{}{}", drawn(seeded, "abcdeéfgüäöñßçиж", 9), seeded.below(90) + 10)
    }),
];

fn drawn(seeded: &mut Seeded, alphabet: &str, least: usize) -> String {
    let length = seeded.below(9) + least;
    seeded.text(alphabet, length)
}

fn word(seeded: &mut Seeded) -> &'static str {
    ["copper", "lantern", "meadow", "orbit", "pepper", "saddle", "timber", "violet", "walnut", "glacier"]
        [seeded.below(10)]
}

fn capital(word: &str) -> String {
    format!("{}{}", word[..1].to_uppercase(), &word[1..])
}

/// How many draws each container has.
const DRAWS: usize = 12;

/// One drawn text: the container, the text around the value, the alphabet and the value.
struct Shape {
    label: String,
    around: String,
    alphabet: &'static str,
    value: String,
}

/// The name in a style.
fn named(words: &str, style: &str) -> String {
    match style {
        "spaced" => words.to_owned(),
        "title" => capital(words),
        style => styled(&words.split(' ').map(str::to_owned).collect::<Vec<_>>(), style),
    }
}

/// Whether rules may be tuned on a container: decided by its label.
fn is_tuned(label: &str) -> bool {
    let mut seeded = Seeded(label.bytes().fold(20_261_127, |hash: u64, byte| hash.wrapping_mul(31) + u64::from(byte)));
    seeded.below(2) == 0
}

fn shapes(containers: &[Container], set: u64, tuned: bool) -> Vec<Shape> {
    let (mut seeded, mut all) = (Seeded(set), Vec::new());
    for (_, label, style, template, excluded) in containers.iter().filter(|one| one.0 == set) {
        if is_tuned(label) != tuned {
            continue;
        }
        for _ in 0..DRAWS {
            let half = |count: usize, seeded: &mut Seeded| seeded.below(count / 2) * 2 + usize::from(!tuned);
            let name = named(NAMES[half(NAMES.len(), &mut seeded)], style);
            let (alphabet, draw) = ALPHABETS[half(ALPHABETS.len(), &mut seeded)];
            let mut value = draw(&mut seeded);
            value.retain(|c| !excluded.contains(c));
            // Without quotes a value does not begin with a sign, and in quotes not like a variable.
            let signs = |c: char| if excluded.is_empty() { "$<{[(%".contains(c) } else { !c.is_alphanumeric() };
            value = value.trim_start_matches(signs).to_owned();
            while value.chars().count() < 9 {
                value.push_str(&seeded.text(MIXED, 1));
            }
            all.push(Shape { label: label.clone(), around: template.replace("NAME", &name), alphabet, value });
        }
    }
    all
}

/// Prints the recall in one half of a set and what was missed; gives how many were found, and of how many.
fn measured(containers: &[Container], set: u64, tuned: bool) -> (usize, usize) {
    let redactor = Redactor::default();
    let all = shapes(containers, set, tuned);
    let different: BTreeSet<&str> = all.iter().map(|shape| shape.around.as_str()).collect();
    let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Shape { label, around, alphabet, value } in &all {
        let redacted = redactor.redact(&around.replace('§', value)).text.into_owned();
        if !is_gone(&redacted, value, around) {
            missed.entry(label).or_default().push(format!("{alphabet}: {value} in {redacted:?}"));
        }
    }
    let found = all.len() - missed.values().map(Vec::len).sum::<usize>();
    let half = if tuned { "first half" } else { "second half" };
    let recall = percent(found, all.len());
    println!(
        "set {set}, {half}: recall {recall:.1} % of {} in {} shapes; missed {missed:#?}",
        all.len(),
        different.len()
    );
    (found, all.len())
}

#[test]
fn of_every_set_of_containers_what_is_promised_is_found() -> Tested {
    let containers: Vec<Container> = corpus("containers.jsonl")?;
    let sets: BTreeSet<u64> = containers.iter().map(|container| container.0).collect();
    assert!(containers.len() > 1_000 && sets.len() > 6, "the sets are there");
    let (mut found, mut asked) = (0, 0);
    for set in sets {
        let (first, second) = (measured(&containers, set, true), measured(&containers, set, false));
        if set > 0 {
            let recall = percent(first.0 + second.0, first.1 + second.1);
            assert!(recall >= 95.0, "set {set}: recall {recall:.1} %");
            found += first.0 + second.0;
            asked += first.1 + second.1;
        }
    }
    let recall = percent(found, asked);
    println!("all sets: recall {recall:.1} % of {asked}");
    assert!(recall >= 97.0, "recall {recall:.1} %");
    Ok(())
}

/// What is written around each value is not redacted, and what was redacted is not redacted again.
#[test]
fn a_text_of_a_container_that_was_redacted_is_not_redacted_again() -> Tested {
    let redactor = Redactor::default();
    let containers: Vec<Container> = corpus("containers.jsonl")?;
    for set in 1..=7 {
        for Shape { label, around, value, .. } in shapes(&containers, set, true).into_iter().step_by(DRAWS) {
            let once = redactor.redact(&around.replace('§', &value)).text.into_owned();
            assert_eq!(redactor.redact(&once).text, once, "{label}");
        }
    }
    Ok(())
}
