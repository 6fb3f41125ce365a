//! `annals revert`

use super::fork::standing_user_messages;
use crate::desk::Desk;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{Sheet, plain};
use crate::look::{Tone, counted};
use crate::reader::Reader;
use crate::tale::{input_in_brief, one_line};
use annals_core::event::{RevertCleared, RevertCommitted, RevertStaged};
use annals_core::{Blobs, Event, InputId, Seq, SessionId};
use annals_projections::{Body, Content, Message, SessionView, Transcript};
use annals_store::{Draft, Head};
use std::io::Write;

/// Undoes a message and all that follows it: first staged, then committed or cleared.
///
/// Staging shows what goes and changes no view of the model. While it is staged, `--clear` drops it, `--to` moves it,
/// and `--commit`, or a new prompt, carries it out: the messages leave the history, the transcript keeps them, marked,
/// and usage stays. This command undoes the talk alone; files stay as they are, and it says why.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// The Session: its id, the beginning (or the end) of it, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Stages the undoing of the N-th user message, counted from 1 in the transcript, without what a committed revert
    /// removed.
    #[arg(long, value_name = "N", group = "what")]
    to: Option<u64>,
    /// Drops what is staged.
    #[arg(long, group = "what")]
    clear: bool,
    /// Carries out what is staged.
    #[arg(long, group = "what")]
    commit: bool,
}

/// What is changed: a Session as it was read, and everybody's view of it.
struct Place {
    reader: Reader,
    session: SessionId,
    head: Head,
    view: SessionView,
}

/// What an undo takes away.
struct Going {
    first_removed: Seq,
    /// The messages of the transcript.
    messages: Transcript,
    /// Inputs that wait.
    inputs: Vec<InputId>,
    /// Why files stay as they are.
    files: String,
}

/// Runs the command.
///
/// # Errors
/// When there is no such Session or message, the log refuses, or a staged undo restored files.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = desk.change(&args.session).await?;
    let head = reader.head(session).await?;
    let view = reader.view(session, head.next).await?;
    let place = Place { reader, session, head, view };
    match args.to {
        Some(to) => stage(to, &place, desk, out).await,
        None => end(args.commit, &place, desk, out).await,
    }
}

async fn stage(to: u64, place: &Place, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let Place { session, view, .. } = place;
    place.refuse_restored_files()?;
    let first_removed = view.transcript.user_message(to).ok_or_else(|| CliError::NoUserMessage {
        session: *session,
        wanted: to,
        count: standing_user_messages(&view.transcript),
    })?;
    let going = place.going(first_removed).await?;
    if !desk.look.json {
        place.draw(&going, desk, out).await?;
    }
    let staged = RevertStaged { first_removed, original: None, diff: None, files: Vec::new() };
    let seq = place.append(staged.into(), desk).await?;
    if desk.look.json {
        json::object(out, &place.in_json("staged", Some(seq), Some(&going)))?;
        return Ok(Verdict::Fine);
    }
    desk.remark(&format!("staged, at seq {seq}; `--commit` carries it out, `--clear` drops it"));
    Ok(Verdict::Fine)
}

async fn end(commit: bool, place: &Place, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let word = if commit { "committed" } else { "cleared" };
    let Some(staged) = &place.view.session.revert else {
        if desk.look.json {
            json::object(out, &place.in_json("nothing-staged", None, None))?;
        }
        desk.remark("nothing is staged in this Session");
        return Ok(Verdict::Fine);
    };
    let going = place.going(staged.first_removed).await?;
    let event: Event = match commit {
        true => RevertCommitted { first_removed: staged.first_removed }.into(),
        false => {
            place.refuse_restored_files()?;
            RevertCleared {}.into()
        }
    };
    let seq = place.append(event, desk).await?;
    if desk.look.json {
        json::object(out, &place.in_json(word, Some(seq), Some(&going)))?;
        return Ok(Verdict::Fine);
    }
    let messages = counted(going.messages.items.len() as u64, "message");
    let then = match commit {
        true => format!("{messages} left the Session; the transcript keeps them, marked"),
        false => format!("{messages} stay"),
    };
    desk.remark(&format!("{word}, at seq {seq}; {then}"));
    Ok(Verdict::Fine)
}

impl Place {
    /// A staged undo that restored files is moved or cleared by whoever can restore them.
    fn refuse_restored_files(&self) -> Result<(), CliError> {
        match &self.view.session.revert {
            Some(staged) if !staged.files.is_empty() => {
                Err(CliError::FilesRestored { session: self.session, files: staged.files.len() })
            }
            _ => Ok(()),
        }
    }

    /// Who recorded it, or what it inherits, if that was imported.
    async fn origin(&self) -> Result<Option<String>, CliError> {
        if let Some(origin) = &self.view.session.origin {
            return Ok(Some(origin.agent.clone()));
        }
        let first = self.reader.log().read(self.session, Seq::ZERO, 1).await?;
        Ok(first.first().and_then(|slice| match slice.batch.events.first()? {
            Event::SessionCreated(created) => created.origin.as_ref().map(|origin| origin.agent.clone()),
            _ => None,
        }))
    }

    async fn going(&self, first_removed: Seq) -> Result<Going, CliError> {
        let mut messages = self.view.transcript.clone();
        messages.items.retain(|item| item.seq >= first_removed && !self.view.transcript.is_removed(item.seq));
        let pending = self.view.inbox.pending.iter().filter(|pending| pending.seq > first_removed);
        let inputs = pending.map(|pending| pending.input.clone()).collect();
        let mut captured = false;
        let visit = |record: &annals_core::Record<'_>| match record.event {
            Event::StepStarted(started) => captured |= started.files.is_some(),
            Event::StepEnded(ended) => captured |= ended.files.is_some() || !ended.changed.is_empty(),
            _ => {}
        };
        self.reader.each(self.session, first_removed, self.head.next, visit).await?;
        let files = match (self.origin().await?, captured) {
            (Some(agent), _) => format!(
                "stay as they are: {} recorded this Session, and files of an imported Session cannot be restored",
                plain(&agent)
            ),
            (None, true) => {
                "stay as they are: this command undoes the talk alone; the host that ran the Session can restore them"
                    .to_owned()
            }
            (None, false) => "stay as they are: no step that goes captured any".to_owned(),
        };
        Ok(Going { first_removed, messages, inputs, files })
    }

    async fn draw(&self, going: &Going, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
        let count = counted(going.messages.items.len() as u64, "message");
        writeln!(out, "what goes: {count}, from seq {} on", going.first_removed)?;
        let blobs = self.reader.blobs();
        let mut sheet = Sheet::new(out, &desk.look);
        let draw = |messages: &annals_projections::Messages, wanted: &[Seq]| {
            for message in wanted.iter().filter_map(|seq| messages.get(*seq)) {
                in_brief(message, &mut sheet, blobs)?;
            }
            Ok(())
        };
        self.reader.transcript(self.session, self.head.next, &going.messages, draw).await?;
        let mut sheet = Sheet::new(out, &desk.look);
        for input in &going.inputs {
            let line = format!("waits: {}", plain(input.as_str()));
            sheet.row(None, ("input", Tone::User), (&line, Tone::Plain), ("", Tone::Dim))?;
        }
        sheet.row(None, ("files", Tone::Warn), (&going.files, Tone::Plain), ("", Tone::Dim))?;
        Ok(())
    }

    fn in_json(&self, what: &str, seq: Option<Seq>, going: Option<&Going>) -> serde_json::Value {
        let messages = |going: &Going| going.messages.items.iter().map(|item| item.seq).collect::<Vec<_>>();
        serde_json::json!({
            "session": self.session, "revert": what, "seq": seq,
            "first_removed": going.map(|going| going.first_removed),
            "messages": going.map(messages), "inputs": going.map(|going| &going.inputs),
            "files": going.map(|going| &going.files),
        })
    }

    async fn append(&self, event: Event, desk: &Desk) -> Result<Seq, CliError> {
        let at = desk.look.now.max(self.head.at);
        let draft = Draft { session: self.session, expected: self.head.next, at, events: vec![event], digest: None };
        Ok(self.reader.log().append(draft).await?.batch.first)
    }
}

/// A message in one row.
fn in_brief(message: &Message, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> Result<(), CliError> {
    let line = |text: &annals_core::Text| one_line(&text.resolve(blobs));
    let (label, tone, text) = match &message.body {
        Body::User { text, .. } => ("user", Tone::User, line(text)),
        Body::Assistant(answer) => {
            let said = answer.content.iter().map(|content| match content {
                Content::Text { text, .. } => line(text),
                Content::Reasoning { .. } => String::new(),
                Content::Tool(call) => format!("{} {}", call.name, input_in_brief(&call.input, "", blobs)),
            });
            let said: Vec<String> = said.filter(|said| !said.is_empty()).collect();
            ("assistant", Tone::Model, said.join(" · "))
        }
        Body::System { text, .. } => ("system", Tone::Context, line(text)),
        Body::Synthetic { text } => ("runtime", Tone::Warn, line(text)),
        Body::Shell { command, .. } => ("shell", Tone::User, format!("$ {}", line(command))),
        Body::Compaction { .. } => ("compact", Tone::Context, "a summary of what came before it".to_owned()),
        Body::AgentSwitched { agent } => ("agent", Tone::Strong, agent.to_string()),
        Body::ModelSwitched { model } => ("model", Tone::Strong, model.to_string()),
    };
    Ok(sheet.row_brief(Some(message.seq), (label, tone), (&plain(&text), Tone::Plain), 1)?)
}
