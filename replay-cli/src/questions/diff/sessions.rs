//! Two Sessions aligned by turns: where they part, and what each turn says on either side.

use super::Lines;
use crate::questions::{AskError, Past};
use annals_core::{Blobs, Seq, SessionId};
use annals_projections::{Body, Content, Message, Messages, Projection, Transcript};
use serde::Serialize;

/// How two Sessions differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sessions {
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
pub struct Pair {
    /// Its number, from 1; 0 for what stands before the first user message.
    pub turn: u64,
    /// In the first Session; `None` when it has fewer turns.
    pub a: Option<Turn>,
    /// In the second Session.
    pub b: Option<Turn>,
    /// How many entries are the same from its beginning.
    pub same: u64,
    /// Lines that differ in all of it.
    pub lines: Lines,
}

/// What was said and done from one user message to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// In order.
    pub entries: Vec<Entry>,
}

/// One thing that was said or done. Seq, ids and times are no part of what is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its event.
    pub seq: Seq,
    /// Who or what: `user`, `text`, `thought`, `call`, `result`, ...
    pub label: &'static str,
    /// What.
    pub text: String,
}

impl Entry {
    /// Whether both say the same.
    pub fn says(&self, other: &Self) -> bool {
        (self.label, &self.text) == (other.label, &other.text)
    }
}

/// Compares what two Sessions show, without what committed reverts removed.
///
/// # Errors
/// When a log cannot be read.
pub async fn sessions(a: &Past, b: &Past) -> Result<Sessions, AskError> {
    let (before, after) = (turns(a).await?, turns(b).await?);
    let mut answer = Sessions {
        a: a.session,
        b: b.session,
        inherited: inherited(a, b).await?,
        first: None,
        same: 0,
        turns: Vec::new(),
    };
    for at in 0..before.len().max(after.len()) {
        let (a, b) = (before.get(at), after.get(at));
        let entries = |turn: Option<&Turn>| turn.map(|turn| turn.entries.clone()).unwrap_or_default();
        let (old, new) = (entries(a), entries(b));
        let same = old.iter().zip(&new).take_while(|(a, b)| a.says(b)).count();
        if same == old.len() && same == new.len() && a.is_some() == b.is_some() {
            answer.same += u64::from(at > 0);
            continue;
        }
        answer.first = answer.first.or(Some(at as u64));
        answer.turns.push(Pair {
            turn: at as u64,
            a: a.cloned(),
            b: b.cloned(),
            same: same as u64,
            lines: Lines::between(&whole(&old), &whole(&new)),
        });
    }
    Ok(answer)
}

fn whole(entries: &[Entry]) -> String {
    entries.iter().map(|entry| format!("{}: {}\n", entry.label, entry.text)).collect()
}

/// How many events both read from the same log: up to there nothing can differ.
async fn inherited(a: &Past, b: &Past) -> Result<u64, AskError> {
    let (mut shared, most) = (Seq::ZERO, a.until.min(b.until));
    while shared < most {
        let (one, other) = (a.log().read(a.session, shared, 64).await?, b.log().read(b.session, shared, 64).await?);
        let same = |(one, other): &(&annals_store::Slice, &annals_store::Slice)| one.batch.digest == other.batch.digest;
        let alike: Vec<_> = one.iter().zip(&other).take_while(same).collect();
        let Some((one_last, other_last)) = alike.last() else { break };
        let end = one_last.until.min(other_last.until);
        let all = alike.len() == one.len().min(other.len()) && one_last.until == other_last.until && end > shared;
        shared = end.max(shared);
        if !all {
            break;
        }
    }
    Ok(shared.min(most).0)
}

/// The turns of a Session; the first is what stands before the first user message.
async fn turns(past: &Past) -> Result<Vec<Turn>, AskError> {
    let (mut messages, mut transcript) = (Messages::default(), Transcript::default());
    past.each(Seq::ZERO, past.until, |record| {
        messages.apply(record);
        transcript.apply(record);
    })
    .await?;
    let mut turns = vec![Turn::default()];
    for message in Transcript::shown(&messages).filter(|message| !transcript.is_removed(message.seq)) {
        if matches!(message.body, Body::User { .. }) {
            turns.push(Turn::default());
        }
        if let Some(turn) = turns.last_mut() {
            entries(message, past.blobs(), &mut turn.entries);
        }
    }
    Ok(turns)
}

fn entries(message: &Message, blobs: &dyn Blobs, out: &mut Vec<Entry>) {
    let mut push = |seq: Seq, label, text: String| out.push(Entry { seq, label, text });
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
