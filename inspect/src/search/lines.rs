//! The matching lines of an event, and its author.

use super::folding::{folded, words};
use super::{SearchPattern, TextAuthor, authored_texts, is_path};
use crate::touched_files::touched_files;
use annals_core::{Blobs, Event};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Reads what of an event matches.
pub(super) struct EventMatcher<'a> {
    pub pattern: &'a SearchPattern,
    /// The words that ranking looks for.
    pub words: &'a BTreeSet<String>,
    /// Texts of these authors only; of all if it is empty.
    pub authors: &'a [TextAuthor],
    pub blobs: &'a dyn Blobs,
}

/// A line that matches, with the lines around it.
pub(super) struct MatchedLine {
    pub line: String,
    pub range: Range<usize>,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl EventMatcher<'_> {
    /// The authors whose texts in an event match, and whether these have every word as a whole word.
    pub fn authors_of(&self, event: &Event) -> Vec<(TextAuthor, bool)> {
        let found = TextAuthor::ALL.into_iter().filter_map(|by| {
            let texts = self.texts(event, by);
            (!texts.is_empty() && self.matches(&texts)).then(|| (by, self.has_words(&texts)))
        });
        found.collect()
    }

    /// The lines of an author's texts that match; none if the texts do not match. `context`: how many lines around each.
    pub fn lines(&self, event: &Event, by: TextAuthor, context: usize) -> Vec<MatchedLine> {
        let texts = self.texts(event, by);
        if texts.is_empty() || !self.matches(&texts) {
            return Vec::new();
        }
        if self.pattern.is_of_files() {
            let whole = |text: Cow<'_, str>| MatchedLine {
                range: 0..0,
                line: text.into_owned(),
                before: Vec::new(),
                after: Vec::new(),
            };
            return texts.into_iter().map(whole).collect();
        }
        let mut found: Vec<(usize, MatchedLine)> = Vec::new();
        for text in &texts {
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some((terms, range)) = self.pattern.in_line(line) else { continue };
                let around = |range: Range<usize>| -> Vec<String> {
                    lines.get(range).unwrap_or_default().iter().map(|line| (*line).to_owned()).collect()
                };
                let before = around(at.saturating_sub(context)..at);
                let after = around(at + 1..(at + 1 + context).min(lines.len()));
                found.push((terms, MatchedLine { line: (*line).to_owned(), range, before, after }));
            }
        }
        // A line with all terms says more than one with some of them.
        let all = self.pattern.terms();
        if found.iter().any(|(terms, _)| *terms == all) {
            found.retain(|(terms, _)| *terms == all);
        }
        found.into_iter().map(|(_, line)| line).collect()
    }

    fn matches(&self, texts: &[Cow<'_, str>]) -> bool {
        self.pattern.is_of_files() || self.pattern.matches(texts)
    }

    /// Which terms occur in the texts of an author in an event.
    pub fn occurring(&self, event: &Event, by: TextAuthor) -> Vec<bool> {
        self.pattern.occurring(&self.texts(event, by)).collect()
    }

    /// The texts of an author in an event; of a search for files alone, the files.
    fn texts<'e>(&self, event: &'e Event, by: TextAuthor) -> Vec<Cow<'e, str>> {
        if !self.authors.is_empty() && !self.authors.contains(&by) {
            return Vec::new();
        }
        if self.pattern.is_of_files() {
            if by != TextAuthor::Model {
                return Vec::new();
            }
            return self.files(event).into_iter().map(Cow::Owned).collect();
        }
        let texts = authored_texts(event).into_iter().filter(|(author, _)| *author == by);
        texts.map(|(_, text)| Cow::Owned(text.resolve(self.blobs).into_owned())).collect()
    }

    /// The files of an event that were asked for, each with what was done; none unless all were asked for in one session.
    pub fn files(&self, event: &Event) -> Vec<String> {
        let asked = self.pattern.files();
        let touched = touched_files(event, self.blobs);
        let wanted = touched.into_iter().filter(|file| asked.iter().any(|asked| is_path(&file.path, asked)));
        wanted.map(|file| format!("{}: {}", file.action.name(), file.path)).collect()
    }

    fn has_words(&self, texts: &[Cow<'_, str>]) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let mut left: BTreeSet<&str> = self.words.iter().map(String::as_str).collect();
        for text in texts {
            for word in words(&folded(text)) {
                left.remove(word);
            }
        }
        left.is_empty()
    }
}
