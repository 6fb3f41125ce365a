//! The labelled corpus: how many of its secrets are found, and how many of its look-alikes stay (`docs/redaction.md`).

use crate::generated::{look_alikes, secrets};
use crate::{Tested, corpus, percent};
use annals_guard::redaction::Redactor;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A secret where people and programs write them.
#[derive(Deserialize)]
struct LabelledSecret {
    /// The language or the program.
    r#where: String,
    before: String,
    /// In parts, so that no scanner takes the corpus for a leak.
    secret: Vec<String>,
    after: String,
    /// The file that a tool shows, if the secret is one because of it.
    file: Option<String>,
}

/// A text that is to stay as it is.
#[derive(Deserialize)]
struct LabelledText {
    what: String,
    text: String,
}

/// Whether nothing is left of a secret but what is too short to be of use, or stands around it as well.
pub fn is_gone(redacted: &str, secret: &str, around: &str) -> bool {
    let shown: String =
        redacted.split("[redacted:").map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let chars: Vec<char> = secret.chars().collect();
    let length = chars.len().div_ceil(2).max(4);
    let mut parts = chars.windows(length).map(|part| part.iter().collect::<String>());
    !parts.any(|part| shown.contains(&part) && !around.contains(&part))
}

/// What a list of secrets and one of look-alikes give: missed, and taken for secrets, by where they stand.
struct Measured {
    secrets: usize,
    texts: usize,
    missed: BTreeMap<String, Vec<String>>,
    wrong: BTreeMap<String, Vec<String>>,
}

impl Measured {
    fn of(secrets: &str, look_alikes: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let redactor = Redactor::default();
        let secrets: Vec<LabelledSecret> = corpus(secrets)?;
        let texts: Vec<LabelledText> = corpus(look_alikes)?;
        let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for LabelledSecret { r#where, before, secret, after, file } in &secrets {
            let secret = secret.concat();
            let text = format!("{before}{secret}{after}");
            let redacted = redactor.redact_file(file.as_deref().unwrap_or("output"), &text);
            if !is_gone(&redacted.text, &secret, &format!("{before}\n{after}")) {
                missed.entry(r#where.clone()).or_default().push(redacted.text.into_owned());
            }
        }
        let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for LabelledText { what, text } in &texts {
            let redacted = redactor.redact(text);
            if redacted.text != *text {
                wrong.entry(what.clone()).or_default().push(format!("{text} -> {}", redacted.text));
            }
        }
        Ok(Self { secrets: secrets.len(), texts: texts.len(), missed, wrong })
    }

    /// Prints recall and precision, and requires those that are promised.
    fn keeps_the_promise(&self, name: &str) {
        let Self { secrets, texts, missed, wrong } = self;
        let found = secrets - missed.values().map(Vec::len).sum::<usize>();
        let taken = wrong.values().map(Vec::len).sum::<usize>();
        let (recall, precision) = (percent(found, *secrets), percent(found, found + taken));
        println!(
            "{name}: recall {recall:.1} % of {secrets} secrets, precision {precision:.1} % with {texts} look-alikes"
        );
        println!("missed {missed:#?}\ntaken for secrets {wrong:#?}");
        assert!(*secrets >= 300 && *texts >= 300, "the corpus is there");
        assert!(recall >= 97.0, "recall {recall:.1} %");
        assert!(precision >= 99.0, "precision {precision:.1} %");
    }
}

#[test]
fn the_labelled_corpus_gives_the_promised_recall_and_precision() -> Tested {
    Measured::of("corpus-secrets.jsonl", "corpus-look-alikes.jsonl")?.keeps_the_promise("labelled corpus");
    Ok(())
}

#[test]
fn samples_that_were_written_without_knowing_the_rules_give_the_same() -> Tested {
    Measured::of("unseen-secrets.jsonl", "unseen-look-alikes.jsonl")?.keeps_the_promise("second corpus");
    Ok(())
}

#[test]
fn values_of_every_alphabet_are_found_in_shapes_that_were_once_missed() -> Tested {
    let redactor = Redactor::default();
    let shapes: Vec<LabelledSecret> = corpus("shapes-secrets.jsonl")?;
    assert!(shapes.len() > 100, "the list is there");
    let missed = |LabelledSecret { r#where: place, before, secret, after, .. }: &LabelledSecret| {
        let secret = secret.concat();
        let redacted = redactor.redact(&format!("{before}{secret}{after}")).text.into_owned();
        let gone = is_gone(&redacted, &secret, &format!("{before}\n{after}"));
        (!gone).then(|| format!("{place}: {redacted:?}"))
    };
    let missed: Vec<String> = shapes.iter().filter_map(missed).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    Ok(())
}

/// `ANNALS_REDACTION_SEED` draws other ones.
#[test]
fn samples_that_are_drawn_from_a_seed_give_the_same() {
    let redactor = Redactor::default();
    let other = std::env::var("ANNALS_REDACTION_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in [1, 2, 3].into_iter().chain(other) {
        let (drawn, texts) = (secrets(seed, 1_000), look_alikes(seed, 1_000));
        let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for one in &drawn {
            let text = format!("{}{}{}", one.before, one.secret, one.after);
            let redacted = redactor.redact(&text);
            if !is_gone(&redacted.text, &one.secret, &format!("{}\n{}", one.before, one.after)) {
                missed.entry(one.form).or_default().push(text);
            }
        }
        let wrong: Vec<&String> = texts.iter().filter(|text| redactor.redact(text).text != **text).collect();
        let found = drawn.len() - missed.values().map(Vec::len).sum::<usize>();
        let (recall, precision) = (percent(found, drawn.len()), percent(found, found + wrong.len()));
        println!(
            "drawn from seed {seed}: recall {recall:.1} % of {} secrets, precision {precision:.1} % with {} look-alikes",
            drawn.len(),
            texts.len()
        );
        println!("missed {missed:#?}\ntaken for secrets {wrong:#?}");
        assert!(recall >= 97.0, "seed {seed}: recall {recall:.1} %");
        assert!(precision >= 99.0, "seed {seed}: precision {precision:.1} %");
    }
}
