//! Who wrote a line of a file, and why: the call, its turn, and the prompt that led to it.

mod delegated;
mod elsewhere;

pub use delegated::DelegatedBy;

use crate::SessionAt;
use crate::file_history::{ContentSource, FileHistory, KnownFile, LineCause, NamedTree};
use annals_core::event::InputEvent;
use annals_core::{CallId, Event, InputId, Seq, SessionId};
use annals_store::ReadError;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The files in the captures of a session. Paths are those of [`FileHistory`].
pub trait CapturedContents: Send + Sync {
    /// The text of a file in a Git tree; `None` if it is not in it, or not captured. Bytes that are not UTF-8 are
    /// replaced.
    ///
    /// # Errors
    /// In words, when the captures cannot be read.
    fn content(&self, tree: &str, path: &str) -> Result<Option<String>, String>;
}

/// A file of a session with what put each line there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blame {
    /// The session.
    pub session: SessionId,
    /// The file, below the directory of the session or absolute.
    pub path: String,
    /// The last event that is in view.
    pub at: Option<Seq>,
    /// Where the content is known from.
    pub knowledge: ContentSource,
    /// What is inferred.
    pub inferred: Vec<BlameInference>,
    /// The first command after the last fact about the file: it may have changed it.
    pub unsure_since: Option<Seq>,
    /// The lines that were asked for.
    pub lines: Vec<BlamedLine>,
}

/// Something that no fact says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlameInference {
    /// The event.
    pub seq: Seq,
    /// What is inferred.
    pub what: String,
}

/// A line, and what put it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlamedLine {
    /// Its number, from 1; `null` in a file that is known partly.
    pub line: Option<u64>,
    /// The line without its end.
    pub text: String,
    /// How it came there.
    pub cause: LineCause,
    /// The event of the call; for a line that no call wrote, the event that first shows it.
    pub seq: Seq,
    /// The id of the call.
    pub call: Option<CallId>,
    /// Its tool.
    pub tool: Option<String>,
    /// The turn: the number of the last prompt before the call, as in `--at turn:N`.
    pub turn: Option<u64>,
    /// The prompts that led to it, oldest first.
    pub prompts: Vec<BlamedPrompt>,
    /// The call of a sub-agent or of an earlier session that wrote it, where no call of this session did. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<WrittenElsewhere>,
    /// In the session of a sub-agent, the calls that gave it the work, the nearest first. Absent without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegated_by: Vec<DelegatedBy>,
}

/// A call in another session that wrote a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrittenElsewhere {
    /// The session.
    pub session: SessionId,
    /// Whether it is a sub-agent of the session that was asked about.
    pub sub_agent: bool,
    /// The event of the call.
    pub seq: Seq,
    /// The id of the call.
    pub call: Option<CallId>,
    /// Its tool.
    pub tool: Option<String>,
    /// The turn in that session.
    pub turn: Option<u64>,
    /// The prompts that led to it there, oldest first.
    pub prompts: Vec<BlamedPrompt>,
    /// If that is the session of a sub-agent, the calls that gave it the work, the nearest first, up to the session that was asked
    /// about. Absent without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegated_by: Vec<DelegatedBy>,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlamedPrompt {
    /// The event in which it joined.
    pub seq: Seq,
    /// Its number among the user messages; `null` if an undo removed it.
    pub turn: Option<u64>,
    /// Its text.
    pub text: String,
}

/// A line has no answer.
#[derive(Debug, thiserror::Error)]
pub enum BlameError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The captures cannot be read.
    #[error("the captured files cannot be read: {0}")]
    Captures(String),
    /// No call and no capture names the file.
    #[error("there is no file {path} in session {session}{}", similar(near))]
    NoFile {
        /// The session.
        session: SessionId,
        /// What was asked for.
        path: String,
        /// Files whose paths end alike.
        near: Vec<String>,
    },
    /// It was deleted.
    #[error("{path} was deleted before that event; --at EVENT shows it as it was")]
    Deleted {
        /// The file.
        path: String,
    },
    /// Only edits of it are known.
    #[error(
        "{path} was edited, but no call and no capture shows all of it, so its lines have no numbers; ask without :LINE"
    )]
    Partly {
        /// The file.
        path: String,
    },
    /// The file is shorter.
    #[error("{path} has {count} lines at that event; there is no line {line}")]
    NoLine {
        /// The file.
        path: String,
        /// What was asked for.
        line: u64,
        /// How many lines it has.
        count: u64,
    },
}

fn similar(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; it knows {}", near.join(", ")),
    }
}

/// What put the lines of a file there, as of a cut; one line, or all of them.
pub async fn blame(
    past: &SessionAt,
    path: &str,
    line: Option<u64>,
    captures: Option<&dyn CapturedContents>,
) -> Result<Blame, BlameError> {
    let first = FileHistory::before(past, past.until).await?;
    let path = named(past, &first, path, captures.is_some())?;
    let history = match captures {
        Some(captures) => with_captures(past, &path, captures).await?,
        None => first,
    };
    let file = history.files.get(&path);
    let file =
        file.ok_or_else(|| BlameError::NoFile { session: past.session, path: path.clone(), near: Vec::new() })?;
    if !file.exists {
        return Err(BlameError::Deleted { path });
    }
    let partly = file.knowledge == ContentSource::Partly;
    let count = file.lines.len() as u64;
    match line {
        Some(_) if partly => return Err(BlameError::Partly { path }),
        Some(line) if line == 0 || line > count => return Err(BlameError::NoLine { path, line, count }),
        _ => {}
    }
    let prompts = prompts(past, &history, file).await?;
    let numbered = file.lines.iter().zip(1_u64..).filter(|(_, number)| line.is_none_or(|line| line == *number));
    let lines = numbered.map(|(known, number)| {
        let call = history.calls.get(&known.writer.seq).filter(|_| known.writer.cause != LineCause::Before);
        let prompts: Vec<BlamedPrompt> =
            call.iter().flat_map(|call| &call.prompts).filter_map(|seq| prompts.get(seq).cloned()).collect();
        BlamedLine {
            line: (!partly).then_some(number),
            text: known.text.trim_end_matches(['\n', '\r']).to_owned(),
            cause: known.writer.cause,
            seq: known.writer.seq,
            call: call.map(|call| call.call.clone()),
            tool: call.map(|call| call.tool.clone()),
            turn: prompts.last().and_then(|prompt| prompt.turn),
            prompts,
            elsewhere: None,
            delegated_by: Vec::new(),
        }
    });
    let inferred = file.inferred.iter().map(|(seq, what)| BlameInference { seq: *seq, what: what.words().to_owned() });
    Ok(Blame {
        session: past.session,
        at: past.until.0.checked_sub(1).map(Seq),
        knowledge: file.knowledge,
        inferred: inferred.collect(),
        unsure_since: history.unsure(file),
        lines: lines.collect(),
        path,
    })
}

/// The file that is meant: by its path, or by the end of it.
fn named(past: &SessionAt, history: &FileHistory, path: &str, captured: bool) -> Result<String, BlameError> {
    let whole = history.resolved(path);
    if history.files.contains_key(&whole) {
        return Ok(whole);
    }
    let end = format!("/{}", path.trim_start_matches("./"));
    let near: Vec<String> = history.files.keys().filter(|known| known.ends_with(&end)).cloned().collect();
    match near.as_slice() {
        [one] => Ok(one.clone()),
        _ if captured => Ok(whole),
        _ => Err(BlameError::NoFile { session: past.session, path: path.to_owned(), near }),
    }
}

async fn with_captures(
    past: &SessionAt,
    path: &str,
    captures: &dyn CapturedContents,
) -> Result<FileHistory, BlameError> {
    let (mut history, mut failed, mut seen) = (FileHistory::default(), None, false);
    // The newest capture without the file: what appears after it was not there before.
    let mut absent = None;
    past.each(Seq::ZERO, past.until, |record| {
        let Some(NamedTree { seq, tree }) = history.apply(record, past.blobs()) else { return };
        match captures.content(&tree, path) {
            Ok(None) if !seen && !history.files.contains_key(path) => absent = Some(seq),
            Ok(content) => {
                seen = true;
                if let Some(absent) = absent.take().filter(|_| !history.files.contains_key(path)) {
                    history.capture(path, absent, None);
                }
                history.capture(path, seq, content.as_deref());
            }
            Err(error) => failed = Some(error),
        }
    })
    .await?;
    match failed {
        // A capture that is gone: what the others and the calls say is still worth knowing, unless there is nothing.
        Some(error) if !seen => Err(BlameError::Captures(error)),
        _ => Ok(history),
    }
}

/// The prompts that lines of a file lead to, with their texts and numbers.
async fn prompts(
    past: &SessionAt,
    history: &FileHistory,
    file: &KnownFile,
) -> Result<BTreeMap<Seq, BlamedPrompt>, BlameError> {
    let calls = file.lines.iter().filter_map(|line| history.calls.get(&line.writer.seq));
    let wanted: BTreeSet<Seq> = calls.flat_map(|call| call.prompts.iter().copied()).collect();
    prompts_at(past, &wanted, |input| history.admitted(input)).await
}

/// The prompts that joined at these events, with their texts and numbers. `admitted` gives the event that admitted an input.
async fn prompts_at(
    past: &SessionAt,
    wanted: &BTreeSet<Seq>,
    admitted: impl Fn(&InputId) -> Option<Seq>,
) -> Result<BTreeMap<Seq, BlamedPrompt>, BlameError> {
    if wanted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut inputs: BTreeMap<Seq, InputId> = BTreeMap::new();
    past.at(wanted, |record| {
        if let Event::Input(InputEvent::Promoted(promoted)) = record.event {
            inputs.insert(record.seq, promoted.input.clone());
        }
    })
    .await?;
    let admitted: BTreeSet<Seq> = inputs.values().filter_map(admitted).collect();
    let mut texts: BTreeMap<InputId, String> = BTreeMap::new();
    past.at(&admitted, |record| {
        if let Event::Input(InputEvent::Admitted(input)) = record.event {
            texts.insert(input.input.clone(), input.text.resolve(past.blobs()).into_owned());
        }
    })
    .await?;
    let transcript = past.view(past.until).await?.transcript;
    let users: Vec<Seq> = transcript
        .items
        .iter()
        .filter(|item| item.user && !transcript.is_removed(item.seq))
        .map(|item| item.seq)
        .collect();
    let turn = |seq: &Seq| users.iter().position(|user| user == seq).map(|at| at as u64 + 1);
    let prompt = |(seq, input): (Seq, InputId)| {
        (seq, BlamedPrompt { seq, turn: turn(&seq), text: texts.remove(&input).unwrap_or_default() })
    };
    Ok(inputs.into_iter().map(prompt).collect())
}
