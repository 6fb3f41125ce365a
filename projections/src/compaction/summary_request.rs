//! The message of a summary request, and what it does without where it is too large
//! (`docs/reference/compaction.md#the-summary-request`).

use super::entries::{EntryClass, SummaryEntry};
use super::{CompactionPlan, TokenRate};
use crate::shorten::{SHORTENED_ENDS, without_middle};
use crate::size::text_chars;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::ModelProfile;

/// What takes the place of an output that is left out.
const LEFT_OUT: &str = "[... output left out]";
/// The most that a model is expected to answer, in tokens.
const LARGEST_ANSWER: u64 = 4_096;
/// The JSON of a request with an empty message: `{"messages":[{"role":"user","text":""}],"system":[],"tools":[]}`.
const EMPTY: u64 = 63;
/// A blank line in JSON.
const BLANK_LINE: u64 = 4;

/// What shapes a summary request besides the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryRequest<'a> {
    /// The largest request in tokens; `None` where the window is not known.
    pub limit: Option<u64>,
    /// What its estimate is multiplied by.
    pub rate: TokenRate,
    /// The system text, if it has one.
    pub system: Option<&'a str>,
    /// The longest summary that is asked for, in tokens.
    pub summary: u64,
    /// What a caller adds to the conversation.
    pub added: Option<&'a str>,
    /// What replaces the usual instructions.
    pub instructions: Option<&'a str>,
}

impl SummaryRequest<'_> {
    /// A request to `model` for a summary of at most `summary` tokens.
    pub fn to(model: &ModelProfile, summary: u64) -> Self {
        let output = if model.output == 0 { LARGEST_ANSWER } else { model.output };
        let answer = output.min(LARGEST_ANSWER).min(model.context / 2);
        let limit = (model.context > 0).then(|| model.context.saturating_sub(answer));
        Self { limit, rate: TokenRate::UNREPORTED, system: None, summary, added: None, instructions: None }
    }

    /// The one message of the request. Where it is too large the conversation gives up one thing after another: outputs,
    /// the middle of inputs, calls, what the assistant said, the middle of the newest entry, its call, the rest; the oldest
    /// first, and never the newest entry. If that is not enough it is too large.
    pub fn prompt(&self, plan: &CompactionPlan) -> String {
        let frame = |conversation: &str| self.framed(plan.prior_summary.as_deref(), conversation);
        let mut conversation = Conversation::new(&plan.entries);
        if let Some(limit) = self.limit {
            let system = self.system.map_or(0, |text| 2 + text_chars(text));
            conversation.reduce(EMPTY + system + text_chars(&frame("")), self.rate, limit);
        }
        frame(&conversation.text())
    }

    fn framed(&self, prior: Option<&str>, conversation: &str) -> String {
        let mut prompt = alloc::format!("<conversation>\n{conversation}\n</conversation>\n\n");
        if let Some(added) = self.added {
            prompt.push_str(&alloc::format!("<additional-context>\n{added}\n</additional-context>\n\n"));
        }
        if let Some(prior) = prior {
            prompt.push_str(&alloc::format!("<prior-summary>\n{prior}\n</prior-summary>\n\n{MERGE}\n\n"));
        }
        match self.instructions {
            Some(instructions) => prompt.push_str(instructions),
            None => prompt.push_str(&instructions(self.summary)),
        }
        prompt
    }
}

/// The entries that remain.
struct Conversation<'a> {
    entries: Vec<Option<ConversationLine<'a>>>,
    /// How many were left out.
    left_out: u64,
    /// Characters of JSON, without the line about what was left out.
    chars: u64,
}

struct ConversationLine<'a> {
    entry: &'a SummaryEntry,
    /// Set where the text is another one than that of the entry.
    text: Option<String>,
    /// Characters of JSON.
    chars: u64,
}

impl ConversationLine<'_> {
    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.entry.text)
    }
}

impl<'a> Conversation<'a> {
    fn new(entries: &'a [SummaryEntry]) -> Self {
        let line = |entry: &'a SummaryEntry| ConversationLine { entry, text: None, chars: text_chars(&entry.text) };
        let entries: Vec<Option<ConversationLine<'a>>> = entries.iter().map(line).map(Some).collect();
        let texts: u64 = entries.iter().flatten().map(|line| line.chars).sum();
        let chars = texts + (entries.len() as u64).saturating_sub(1) * BLANK_LINE;
        Self { entries, left_out: 0, chars }
    }

    fn text(&self) -> String {
        let head = self.head();
        let lines = self.entries.iter().flatten().map(ConversationLine::text);
        let lines: Vec<&str> = head.as_deref().into_iter().chain(lines).collect();
        lines.join("\n\n")
    }

    fn head(&self) -> Option<String> {
        (self.left_out > 0).then(|| alloc::format!("[... {} earlier entries left out]", self.left_out))
    }

    /// Gives up one thing after another until a request with `frame` characters around it has at most `limit` tokens.
    fn reduce(&mut self, frame: u64, rate: TokenRate, limit: u64) {
        let fits = |this: &Self| {
            let head = this.head().map_or(0, |head| text_chars(&head) + BLANK_LINE);
            rate.tokens(frame + this.chars + head) <= limit
        };
        let newest = self.entries.len().saturating_sub(1);
        let steps: [fn(&mut Self, usize, usize); 7] = [
            |this, at, newest| this.leave_output_out(at, newest),
            |this, at, _| this.shorten_input(at),
            |this, at, newest| this.drop_call(at, newest),
            |this, at, newest| this.drop_of(EntryClass::Said, at, newest),
            |this, at, newest| this.shorten_newest(at, newest),
            |this, at, newest| this.drop_call_of_newest(at, newest),
            |this, at, newest| this.drop_of(EntryClass::Other, at, newest),
        ];
        for step in steps {
            for at in 0..=newest {
                if fits(self) {
                    return;
                }
                step(self, at, newest);
            }
        }
    }

    fn replace(&mut self, at: usize, text: String) {
        if let Some(Some(line)) = self.entries.get_mut(at) {
            let chars = text_chars(&text);
            self.chars = (self.chars + chars).saturating_sub(line.chars);
            (line.text, line.chars) = (Some(text), chars);
        }
    }

    fn remove(&mut self, at: usize) {
        if let Some(line) = self.entries.get_mut(at).and_then(Option::take) {
            self.chars = self.chars.saturating_sub(line.chars + BLANK_LINE);
            self.left_out += 1;
        }
    }

    fn entry(&self, at: usize) -> Option<&'a SummaryEntry> {
        self.entries.get(at)?.as_ref().map(|line| line.entry)
    }

    fn leave_output_out(&mut self, at: usize, newest: usize) {
        let Some(entry) = self.entry(at).filter(|_| at != newest) else { return };
        let Some((head, output)) = entry.output.and_then(|begin| entry.text.split_at_checked(begin)) else { return };
        if LEFT_OUT.len() < output.chars().count() {
            self.replace(at, alloc::format!("{head}{LEFT_OUT}"));
        }
    }

    /// A call leaves with its result: with all entries that share its number.
    fn drop_call(&mut self, at: usize, newest: usize) {
        let Some(class @ EntryClass::Call(_)) = self.entry(at).map(|entry| entry.class) else { return };
        // Where there is no end, the newest entry is one of them.
        let end = (at..=newest).find(|at| self.entry(*at).is_none_or(|entry| entry.class != class));
        (at..end.unwrap_or(at)).for_each(|at| self.remove(at));
    }

    fn drop_of(&mut self, class: EntryClass, at: usize, newest: usize) {
        if at != newest && self.entry(at).is_some_and(|entry| entry.class == class) {
            self.remove(at);
        }
    }

    fn shorten_input(&mut self, at: usize) {
        if let Some(short) = self.entry(at).and_then(SummaryEntry::with_short_input) {
            self.replace(at, short);
        }
    }

    /// The call whose result is the newest entry leaves, and its result stays.
    fn drop_call_of_newest(&mut self, at: usize, newest: usize) {
        let is_of_newest =
            |class| matches!(class, EntryClass::Call(_)) && self.entry(newest).is_some_and(|it| it.class == class);
        if at != newest && self.entry(at).is_some_and(|entry| is_of_newest(entry.class)) {
            self.remove(at);
        }
    }

    fn shorten_newest(&mut self, at: usize, newest: usize) {
        let Some(entry) = self.entry(at).filter(|entry| at == newest && !entry.shortened) else { return };
        if let Some(short) = without_middle(&entry.text, SHORTENED_ENDS) {
            self.replace(at, short);
        }
    }
}

/// What a summary request asks for when an earlier summary exists.
const MERGE: &str = "Merge the prior summary into the new one. Where they differ, the conversation is right. Carry every \
instruction of the user forward unless it was withdrawn; drop only what is finished and needed no more.";

/// What a summary request asks for, in few words: small windows have to hold it.
fn instructions(tokens: u64) -> String {
    alloc::format!(
        "Write a summary of this session, of at most {tokens} tokens, from which the work can go on without the \
         conversation. Short bullets; exact paths, commands, identifiers and error messages; no word about summarising. \
         Use these sections, in this order, \"(none)\" where one is empty:\n## Goal\n## Instructions (as the user gave \
         them)\n## Discoveries\n## Completed\n## In progress\n## Blocked\n## Next step\n## Relevant files"
    )
}

#[cfg(test)]
pub(super) fn usual(tokens: u64, prior: bool) -> String {
    if prior { alloc::format!("{MERGE}\n\n{}", instructions(tokens)) } else { instructions(tokens) }
}
