//! `annals revert`

mod draw;

use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::plain;
use crate::style::{Style, counted};
use annals_core::{Seq, SessionId};
use annals_host::editing::{self, refused};
use annals_inspect::reader::Reader;
use annals_inspect::reverts::{RevertPreview, UnrestoredFiles, unrestored_files};
use annals_projections::SessionView;
use annals_runtime::worktree::{FilesError, Plan};
use annals_runtime::{Extent, MessagePlace, Refusal, RevertFiles, SessionEditor};
use annals_store::Head;
use std::io::Write;

/// Undo a message and everything after it, files included.
///
/// --to stages an undo: it shows what will be removed and restores the files that the undone steps changed. --commit
/// applies it, and so does a new prompt: the model no longer sees the messages, and `annals transcript` marks them as
/// undone. --clear drops it and brings the files back. Usage is kept.
///
/// Files can be restored where this store captured them in a git worktree; otherwise, and with --talk, they stay as
/// they are, and the reason is shown.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Stage an undo of the message that contains EVENT, or of user message N (turn:N), and everything after it.
    #[arg(long, value_name = "EVENT|turn:N", group = "what", allow_negative_numbers = true)]
    to: Option<EventArg>,
    /// Drop the staged undo and bring the files back.
    #[arg(long, group = "what")]
    clear: bool,
    /// Apply the staged undo.
    #[arg(long, group = "what")]
    commit: bool,
    /// Undo the conversation only; do not restore files.
    #[arg(long, requires = "to")]
    talk: bool,
    /// Restore the files only; the conversation stays. A fork of the session records it.
    #[arg(long, requires = "to", conflicts_with = "talk")]
    files_only: bool,
}

/// What is changed: a session as it was read, and everybody's view of it.
struct RevertContext {
    reader: Reader,
    session: SessionId,
    head: Head,
    view: SessionView,
    /// Who undoes.
    undoing: SessionEditor,
}

/// What an undo does.
struct RevertEffect {
    preview: RevertPreview,
    files: FileEffect,
}

/// What happens to files.
enum FileEffect {
    /// They stay as they are, and why.
    Stay(String),
    /// These change.
    Change(Box<Plan>),
    /// Those that were put back when it was staged stay so.
    StayRestored(usize),
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, named) = cli.change(&args.session).await?;
    let session = editing::local_fork(&reader, named).await?.unwrap_or(named);
    let files = editing::captured_files(reader.folder().clone());
    let editor = editing::editor(cli, &reader, session, files).await?;
    let mut place = RevertContext::of(reader, editor).await?;
    let changes = match args.to {
        Some(to) => place.can_undo(to, args.talk, &cli.style).await?,
        None => place.view.session.revert.is_some(),
    };
    if changes && args.files_only {
        let fork = place.undoing.fork(None).await.map_err(refused(place.session))?;
        place = RevertContext::of(place.reader, fork).await?;
    } else if changes && place.view.session.origin.is_some() {
        let local = editing::local(&place.undoing).await?;
        place = RevertContext::of(place.reader, local.session).await?;
    }
    if changes && args.files_only && !cli.style.json {
        cli.remark(&format!("the conversation of {named} stays; recorded in a fork: {}", place.session));
    } else if changes && place.session != named && !cli.style.json {
        cli.remark(&format!("in a fork: {} (an imported session is never changed)", place.session));
    }
    match args.to {
        Some(to) => stage(to, args.talk, &place, cli, out).await,
        None => end(args.commit, &place, cli, out).await,
    }
}

async fn stage(
    to: EventArg,
    talk: bool,
    place: &RevertContext,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let RevertContext { session, view, undoing, .. } = place;
    let first_removed = to.message(&place.reader, *session, view, &cli.style).await?;
    let extent = if talk { Extent::Conversation } else { Extent::ConversationAndFiles };
    let plan = undoing.plan_revert(MessagePlace::Seq(first_removed), extent).await;
    let plan = plan.map_err(|refusal| place.refused(refusal))?;
    let files = place.files(&plan.files, plan.first_removed).await?;
    let effect = place.effect(plan.first_removed, files);
    if !cli.style.json {
        place.draw(&effect, cli, out).await?;
    }
    let seq = undoing.stage(&plan).await.map_err(refused(*session))?;
    if cli.style.json {
        json::object(out, &place.in_json("staged", Some(seq), Some(&effect)))?;
        return Ok(Verdict::Fine);
    }
    cli.remark(&format!("undo staged (event {seq}); --commit applies it, --clear drops it"));
    Ok(Verdict::Fine)
}

async fn end(
    commit: bool,
    place: &RevertContext,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let word = if commit { "committed" } else { "cleared" };
    let Some(staged) = &place.view.session.revert else { return nothing_staged(place, cli, out) };
    let undoing = &place.undoing;
    let files = match commit {
        true => FileEffect::StayRestored(staged.files.len()),
        false => match undoing.plan_clear().await.map_err(|refusal| place.refused(refusal))? {
            Some(plan) => FileEffect::Change(Box::new(plan)),
            None => FileEffect::StayRestored(0),
        },
    };
    let effect = place.effect(staged.first_removed, files);
    if let (FileEffect::Change(plan), false) = (&effect.files, cli.style.json) {
        draw::files(&effect.files, plan, &cli.style, out)?;
    }
    let ended = if commit { undoing.commit_revert().await } else { undoing.clear_revert().await };
    let Some(seq) = ended.map_err(|refusal| place.refused(refusal))? else { return nothing_staged(place, cli, out) };
    if cli.style.json {
        json::object(out, &place.in_json(word, Some(seq), Some(&effect)))?;
        return Ok(Verdict::Fine);
    }
    let messages = counted(effect.preview.messages.items.len() as u64, "message");
    let then = match commit {
        true => format!("{messages} undone; annals transcript still shows them"),
        false => format!("{messages} kept"),
    };
    cli.remark(&format!("{word} (event {seq}); {then}"));
    Ok(Verdict::Fine)
}

fn nothing_staged(
    place: &RevertContext,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    if cli.style.json {
        json::object(out, &place.in_json("nothing-staged", None, None))?;
    }
    cli.remark("no undo is staged in this session");
    Ok(Verdict::Fine)
}

impl RevertContext {
    /// A session as it is now.
    async fn of(reader: Reader, undoing: SessionEditor) -> Result<Self, CliError> {
        let session = undoing.id();
        let head = reader.head(session).await?;
        let view = reader.view(session, head.next).await?;
        Ok(Self { reader, session, head, view, undoing })
    }

    /// Whether a message can be undone: yes, or the reason as an error.
    async fn can_undo(&self, to: EventArg, talk: bool, style: &Style) -> Result<bool, CliError> {
        let first_removed = to.message(&self.reader, self.session, &self.view, style).await?;
        let extent = if talk { Extent::Conversation } else { Extent::ConversationAndFiles };
        let planned = self.undoing.plan_revert(MessagePlace::Seq(first_removed), extent).await;
        planned.map(|_| true).map_err(|refusal| self.refused(refusal))
    }

    /// A staged undo that restored files is moved or cleared where they can be put back.
    fn refused(&self, refusal: Refusal) -> CliError {
        let staged = self.view.session.revert.as_ref().map_or(0, |staged| staged.files.len());
        match &refusal {
            Refusal::Files(error) if staged > 0 && matches!(**error, FilesError::ConversationOnly { .. }) => {
                EditError::FilesRestored { session: self.session, files: staged, why: error.to_string() }.into()
            }
            _ => EditError::Refused { session: self.session, refusal }.into(),
        }
    }

    /// What an undo does to files, in words where it does nothing.
    async fn files(&self, planned: &RevertFiles, first_removed: Seq) -> Result<FileEffect, CliError> {
        let why = match planned {
            RevertFiles::Restored(plan) if !plan.restores.is_empty() || !plan.left.is_empty() => {
                return Ok(FileEffect::Change(plan.clone()));
            }
            RevertFiles::Untouched => return Ok(FileEffect::Stay("not changed (--talk)".to_owned())),
            RevertFiles::Restored(_) => None,
            RevertFiles::ConversationOnly { why } => Some(why),
        };
        let unrestored = unrestored_files(&self.reader, self.session, &self.view, first_removed).await?;
        Ok(FileEffect::Stay(match (unrestored, why) {
            (UnrestoredFiles::Imported(agent), _) => format!(
                "not changed: {} recorded this session, and files of an imported session cannot be restored",
                plain(&agent)
            ),
            (UnrestoredFiles::NotCaptured, _) => "not changed: the undone steps captured none".to_owned(),
            (UnrestoredFiles::Captured, Some(why)) => format!("not changed: {}", plain(why)),
            (UnrestoredFiles::Captured, None) => "not changed: the undone steps changed none".to_owned(),
        }))
    }

    fn effect(&self, first_removed: Seq, files: FileEffect) -> RevertEffect {
        RevertEffect { preview: RevertPreview::of(&self.view, first_removed), files }
    }

    fn in_json(&self, what: &str, seq: Option<Seq>, effect: Option<&RevertEffect>) -> serde_json::Value {
        let messages =
            |effect: &RevertEffect| effect.preview.messages.items.iter().map(|item| item.seq).collect::<Vec<_>>();
        serde_json::json!({
            "session": self.session, "revert": what, "seq": seq,
            "first_removed": effect.map(|effect| effect.preview.first_removed),
            "messages": effect.map(messages), "inputs": effect.map(|effect| &effect.preview.inputs),
            "files": effect.map(|effect| effect.files.in_json()),
        })
    }
}

impl FileEffect {
    /// In words.
    fn shown(&self) -> String {
        match self {
            Self::Stay(why) => why.clone(),
            Self::Change(plan) => match plan.restores.len() {
                1 => "1 file restored".to_owned(),
                count => format!("{count} files restored"),
            },
            Self::StayRestored(0) => "not changed".to_owned(),
            Self::StayRestored(files) => format!("{} restored", counted(*files as u64, "file")),
        }
    }

    fn in_json(&self) -> serde_json::Value {
        let (changes, left) = match self {
            Self::Change(plan) => {
                let left = plan.left.iter();
                let left = left.map(|left| serde_json::json!({"path": left.path, "why": left.why.to_string()}));
                (plan.now.files.clone(), left.collect())
            }
            Self::Stay(_) | Self::StayRestored(_) => (Vec::new(), Vec::new()),
        };
        serde_json::json!({"outcome": self.shown(), "changes": changes, "left": left})
    }
}
