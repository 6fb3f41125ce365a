//! Two sessions aligned by turns: where they part, and what each turn says on either side.

use super::{Lines, said};
use crate::{AskError, SessionAt};
use annals_core::{Blobs, Seq, SessionId};
use annals_projections::{Body, Content, Message, Messages};
use serde::Serialize;

/// How two sessions differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionDiff {
    /// The first.
    pub a: SessionId,
    /// The second.
    pub b: SessionId,
    /// How many events they share from their beginning: one continues the other, or both continue a third.
    pub inherited: u64,
    /// The first turn that is not the same in both; `None` when they say the same.
    pub first: Option<u64>,
    /// How many turns say the same.
    pub same: u64,
    /// Every turn that is not the same, in order.
    pub turns: Vec<Pair>,
}

/// A turn in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Its number, from 1; 0 for everything before the first user message.
    pub turn: u64,
    /// In the first session; `None` when it has fewer turns.
    pub a: Option<Turn>,
    /// In the second session.
    pub b: Option<Turn>,
    /// How many entries are the same from its beginning.
    pub same: u64,
    /// Lines that differ in all of it.
    pub lines: Lines,
}

/// What was said and done from one user message to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// In order.
    pub entries: Vec<TurnEntry>,
}

/// One thing that was said or done. Seq, ids and times are not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnEntry {
    /// Its event.
    pub seq: Seq,
    /// Who or what: `user`, `text`, `thought`, `call`, `result`, ...
    pub label: &'static str,
    /// The text.
    pub text: String,
}

impl TurnEntry {
    /// Whether both say the same.
    pub fn same_text(&self, other: &Self) -> bool {
        (self.label, &self.text) == (other.label, &other.text)
    }
}

/// Compares what two sessions show, without what committed reverts removed. An index says which turns say the same;
/// only the others are read.
pub async fn sessions(a: &SessionAt, b: &SessionAt) -> Result<SessionDiff, AskError> {
    let (before, after) = (said::turns(a).await?, said::turns(b).await?);
    let mut answer = SessionDiff {
        a: a.session,
        b: b.session,
        inherited: inherited(a, b).await?,
        first: None,
        same: 0,
        turns: Vec::new(),
    };
    for at in 0..before.len().max(after.len()) {
        let (left, right) = (before.get(at), after.get(at));
        let alike = matches!((left, right), (Some(left), Some(right)) if said::say_the_same(left, right));
        let (old, new) = if alike { (None, None) } else { (read(a, left).await?, read(b, right).await?) };
        let entries = |turn: &Option<Turn>| turn.as_ref().map(|turn| turn.entries.clone()).unwrap_or_default();
        let (lines, other) = (entries(&old), entries(&new));
        let same = lines.iter().zip(&other).take_while(|(a, b)| a.same_text(b)).count();
        // Messages that differ may hold the same entries, cut otherwise.
        if alike || (same == lines.len() && same == other.len() && old.is_some() == new.is_some()) {
            answer.same += u64::from(at > 0);
            continue;
        }
        answer.first = answer.first.or(Some(at as u64));
        let lines = Lines::between(&whole(&lines), &whole(&other));
        answer.turns.push(Pair { turn: at as u64, a: old, b: new, same: same as u64, lines });
    }
    Ok(answer)
}

fn whole(entries: &[TurnEntry]) -> String {
    entries.iter().map(|entry| format!("{}: {}\n", entry.label, entry.text)).collect()
}

/// How many events both read from the same log: up to there nothing can differ. Digests are chained, so that the first
/// batch that is not the same is found by bisection.
async fn inherited(a: &SessionAt, b: &SessionAt) -> Result<u64, AskError> {
    let (mut shared, mut differs) = (Seq::ZERO, a.until.min(b.until));
    while shared < differs {
        let middle = Seq(shared.0 + (differs.0 - shared.0) / 2);
        let (one, other) = (a.log().batch_at(a.session, middle).await?, b.log().batch_at(b.session, middle).await?);
        match (one, other) {
            (Some(one), Some(other)) if one.batch.digest == other.batch.digest => {
                // A fork's cut may lie inside the batch.
                shared = one.until.min(other.until).min(differs).max(middle.plus(1));
            }
            _ => differs = middle,
        }
    }
    Ok(shared.0)
}

/// What was said and done in a turn.
async fn read(past: &SessionAt, turn: Option<&said::IndexedTurn>) -> Result<Option<Turn>, AskError> {
    let Some(items) = turn else { return Ok(None) };
    let mut read = Turn::default();
    let (Some(from), Some(until)) =
        (items.iter().map(|item| item.first).min(), items.iter().map(|item| item.last.plus(1)).max())
    else {
        return Ok(Some(read));
    };
    let mut messages = Messages::default();
    past.each(from, until, |record| {
        messages.apply(record);
    })
    .await?;
    for message in items.iter().filter_map(|item| messages.get(item.seq)) {
        entries(message, past.blobs(), &mut read.entries);
    }
    Ok(Some(read))
}

/// What a message says, entry by entry.
pub(super) fn entries(message: &Message, blobs: &dyn Blobs, out: &mut Vec<TurnEntry>) {
    let mut push = |seq: Seq, label, text: String| out.push(TurnEntry { seq, label, text });
    let seq = message.seq;
    match &message.body {
        Body::User { text, .. } => push(seq, "user", text.resolve(blobs).into_owned()),
        Body::System { text, .. } => push(seq, "system", text.resolve(blobs).into_owned()),
        Body::Synthetic { text } => push(seq, "runtime", text.resolve(blobs).into_owned()),
        Body::Shell { command, output, .. } => {
            push(seq, "shell", format!("$ {}\n{}", command.resolve(blobs), output.resolve(blobs)));
        }
        Body::Compaction { summary, .. } => push(seq, "compact", summary.resolve(blobs).into_owned()),
        Body::AgentSwitched { agent } => push(seq, "agent", agent.to_string()),
        Body::ModelSwitched { model } => push(seq, "model", model.to_string()),
        Body::Assistant(assistant) => {
            for content in &assistant.content {
                match content {
                    Content::Text { seq, text, .. } => push(*seq, "text", text.resolve(blobs).into_owned()),
                    Content::Reasoning { seq, text, .. } => push(*seq, "thought", text.resolve(blobs).into_owned()),
                    Content::Tool(tool) => {
                        push(tool.seq, "call", format!("{} {}", tool.name, tool.input.0.resolve(blobs)));
                        let settled = tool.settled.map_or(tool.seq, |(seq, _)| seq);
                        match &tool.error {
                            Some(error) => push(settled, "error", error.resolve(blobs).into_owned()),
                            None => push(settled, "result", tool.output.resolve(blobs).into_owned()),
                        }
                    }
                }
            }
            if let Some(error) = &assistant.error {
                push(seq, "failed", format!("{}: {}", error.kind, error.message.resolve(blobs)));
            }
        }
    }
}
