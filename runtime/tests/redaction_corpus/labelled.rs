//! The labelled corpus: how many of its secrets are found, and how many of its look-alikes stay (`docs/redaction.md`).

use crate::{Tested, corpus, percent};
use annals_runtime::redaction::Redactor;
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

/// Whether nothing is left of a secret but what is too short to be of use.
fn is_gone(redacted: &str, secret: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    let length = chars.len().div_ceil(2).max(4);
    !chars.windows(length).any(|part| redacted.contains(&part.iter().collect::<String>()))
}

#[test]
fn the_labelled_corpus_gives_the_promised_recall_and_precision() -> Tested {
    let redactor = Redactor::default();
    let secrets: Vec<LabelledSecret> = corpus("corpus-secrets.jsonl")?;
    let texts: Vec<LabelledText> = corpus("corpus-look-alikes.jsonl")?;
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for LabelledSecret { r#where, before, secret, after, file } in &secrets {
        let secret = secret.concat();
        let text = format!("{before}{secret}{after}");
        let redacted = redactor.redact_file(file.as_deref().unwrap_or("output"), &text);
        if !is_gone(&redacted.text, &secret) {
            missed.entry(r#where.clone()).or_default().push(redacted.text.into_owned());
        }
    }
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for LabelledText { what, text } in &texts {
        let redacted = redactor.redact(text);
        if redacted.text != *text {
            wrong.entry(what).or_default().push(format!("{text} -> {}", redacted.text));
        }
    }
    let found = secrets.len() - missed.values().map(Vec::len).sum::<usize>();
    let taken = wrong.values().map(Vec::len).sum::<usize>();
    let (recall, precision) = (percent(found, secrets.len()), percent(found, found + taken));
    println!(
        "labelled corpus: recall {recall:.1} % of {} secrets, precision {precision:.1} % with {} look-alikes",
        secrets.len(),
        texts.len()
    );
    println!("missed {missed:#?}\ntaken for secrets {wrong:#?}");
    assert!(secrets.len() >= 300 && texts.len() >= 300, "the corpus is there");
    assert!(recall >= 97.0, "recall {recall:.1} %");
    assert!(precision >= 99.0, "precision {precision:.1} %");
    Ok(())
}
