//! What is known of one file: its lines, and what put each there.

use super::call::EditedText;
use super::patch::PatchHunk;
use annals_core::Seq;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::time::{Duration, Instant};

/// How long two versions of a file are compared.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LineCause {
    /// A call wrote it: its input says so.
    Written,
    /// A command seems to have written it: the file differed after it, and nothing else of the session explains that.
    Command,
    /// It was there when the session first saw the file.
    Before,
    /// It appeared between two looks at the file without a call that explains it.
    Outside,
}

/// What put a line there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineWriter {
    /// The event of the call; for a line that was there before, or came from outside, the event that first shows it.
    pub seq: Seq,
    /// How.
    pub cause: LineCause,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLine {
    /// The line with its end.
    pub text: String,
    /// What put it there.
    pub writer: LineWriter,
}

/// Where the content of a file is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContentSource {
    /// It is not known as a whole: calls edited a file that no call showed.
    #[default]
    Partly,
    /// A call wrote it whole, or edited what was known.
    Written,
    /// The result of a call showed it whole.
    Shown,
    /// A capture has it.
    Captured,
}

/// Something about a file that no fact says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Inference {
    /// The content was read from a command line (a here-document).
    CommandLine,
    /// An edit did not match what was known of the file: it differed, and where is not known.
    UnmatchedEdit,
    /// An undo may have restored the file.
    Revert,
}

impl Inference {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::CommandLine => "the content is that of the command line",
            Self::UnmatchedEdit => "an edit did not match the known content, so the file differed",
            Self::Revert => "an undo may have restored the file",
        }
    }
}

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFile {
    /// Its lines; only the edited ones if it is known partly.
    pub lines: Vec<KnownLine>,
    /// Where the content is known from.
    pub knowledge: ContentSource,
    /// Whether it was there.
    pub exists: bool,
    /// What is inferred, with the event.
    pub inferred: Vec<(Seq, Inference)>,
    /// The last event that says something about it.
    pub last: Seq,
    pub(super) captured: Option<Seq>,
    known: bool,
}

impl KnownFile {
    /// The whole content, if it is known.
    pub fn text(&self) -> Option<String> {
        let known = self.exists && self.knowledge != ContentSource::Partly;
        known.then(|| self.lines.iter().map(|line| line.text.as_str()).collect())
    }

    /// Whether every line was there when the session first saw the file.
    pub fn was_there(&self) -> bool {
        self.exists && self.lines.iter().all(|line| line.writer.cause == LineCause::Before)
    }

    /// Whether no fact said anything about it so far.
    pub(super) fn is_unknown(&self) -> bool {
        !self.known
    }

    pub(super) fn infer(&mut self, seq: Seq, inference: Inference) {
        self.inferred.push((seq, inference));
    }

    fn touch(&mut self, seq: Seq, exists: bool) {
        (self.known, self.exists) = (true, exists);
        self.last = self.last.max(seq);
    }

    /// The whole content. Lines that were there keep their writers.
    pub(super) fn take(&mut self, content: &str, writer: LineWriter, seq: Seq, knowledge: ContentSource) {
        let whole = self.knowledge != ContentSource::Partly;
        let new: Vec<&str> = content.split_inclusive('\n').collect();
        let mut lines: Vec<KnownLine> = new.iter().map(|text| KnownLine { text: (*text).to_owned(), writer }).collect();
        if whole {
            let old: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
            let deadline = Instant::now().checked_add(PATIENCE);
            for op in capture_diff_slices_deadline(Algorithm::Patience, &old, &new, deadline) {
                if let DiffOp::Equal { old_index, new_index, len } = op {
                    for at in 0..len {
                        if let (Some(line), Some(former)) =
                            (lines.get_mut(new_index + at), self.lines.get(old_index + at))
                        {
                            line.writer = former.writer;
                        }
                    }
                }
            }
        } else {
            // Edits of a file that was not known as a whole: their lines are recognised by their texts.
            for line in &mut lines {
                let same = |former: &&KnownLine| former.text.trim_end_matches('\n') == line.text.trim_end_matches('\n');
                if let Some(former) = self.lines.iter().rev().find(same).filter(|_| !line.text.trim().is_empty()) {
                    line.writer = former.writer;
                }
            }
        }
        self.lines = lines;
        self.knowledge = knowledge;
        self.inferred.clear();
        self.touch(seq, true);
    }

    pub(super) fn remove(&mut self, seq: Seq) {
        self.lines.clear();
        self.knowledge = ContentSource::Written;
        self.touch(seq, false);
    }

    /// Replaces one text, or each occurrence of it.
    pub(super) fn replace(&mut self, edit: &EditedText, writer: LineWriter, seq: Seq) {
        let text: Option<String> = self.text();
        let found = text.filter(|text| edit.old.is_empty() == text.is_empty() && text.contains(&edit.old));
        match found {
            Some(text) => {
                let count = if edit.all { usize::MAX } else { 1 };
                let after = text.replacen(&edit.old, &edit.new, count);
                let (knowledge, inferred) = (self.knowledge, std::mem::take(&mut self.inferred));
                self.take(&after, writer, seq, knowledge.after_an_edit());
                self.inferred = inferred;
            }
            None if edit.old.is_empty() && !self.exists => {
                self.take(&edit.new, writer, seq, ContentSource::Written);
            }
            None => self.fragment(&edit.new, writer, seq),
        }
    }

    /// Applies hunks to lines that are known.
    pub(super) fn patch(&mut self, hunks: &[PatchHunk], writer: LineWriter, seq: Seq) {
        for hunk in hunks {
            let text = |line: &KnownLine| line.text.trim_end_matches('\n').trim_end().to_owned();
            let lines: Vec<String> = self.lines.iter().map(text).collect();
            let old: Vec<String> = hunk.old.iter().map(|line| line.trim_end().to_owned()).collect();
            let whole = self.text().is_some();
            let found = lines.windows(old.len().max(1)).position(|window| window == old).filter(|_| whole);
            let place = match old.is_empty() {
                true => Some(self.lines.len()).filter(|_| whole),
                false => found,
            };
            let Some(place) = place else {
                self.fragment(&hunk.new.join("\n"), writer, seq);
                continue;
            };
            let new: Vec<String> = hunk.new.iter().map(|line| format!("{line}\n")).collect();
            let mut after: Vec<String> = self.lines.iter().map(|line| line.text.clone()).collect();
            after.splice(place..place + old.len(), new);
            let knowledge = self.knowledge.after_an_edit();
            self.take(&after.concat(), writer, seq, knowledge);
        }
        self.touch(seq, true);
    }

    /// Lines of a file that is not known as a whole.
    fn fragment(&mut self, text: &str, writer: LineWriter, seq: Seq) {
        if self.text().is_some() {
            self.infer(seq, Inference::UnmatchedEdit);
        }
        self.knowledge = ContentSource::Partly;
        self.lines.extend(text.split_inclusive('\n').map(|line| KnownLine { text: line.to_owned(), writer }));
        self.touch(seq, true);
    }
}

impl ContentSource {
    fn after_an_edit(self) -> Self {
        match self {
            Self::Partly => Self::Partly,
            Self::Written | Self::Shown | Self::Captured => Self::Written,
        }
    }
}
