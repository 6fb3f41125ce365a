//! `annals diff`

mod folded;

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::style::{Emphasis, counted};
use annals_core::Seq;
use annals_inspect::SessionAt;
use annals_inspect::reader::FindError;
use annals_inspect::recordings::{recordings, transcript_of};
use annals_inspect::view_diff::changes;
use std::io::Write;

/// Compare two events of a session, two sessions, or two requests.
///
/// `diff SESSION FROM [TO]` compares every view right after event FROM with the same view right after event TO. `diff
/// A B` compares two sessions turn by turn, side by side from the first difference. `diff A [B] --steps M N` compares
/// request M of A with request N of B (or of A). `diff SESSION --transcript` compares a recording with the imported
/// transcript of the same session: what the transcript left out. With --fold the views are those that a program prints
/// for the events (see `annals fold`), which follows as a line for the shell or after `--`. With --files the files of
/// the project are compared, between events (`--files SESSION FROM [TO]`) or sessions (`--files A B`). Exit status 1 if
/// anything differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The earlier event, or the other session.
    #[arg(value_name = "FROM|OTHER", required_unless_present_any = ["steps", "transcript", "fold"], allow_negative_numbers = true)]
    other: Option<String>,
    /// The later event (default: the last one).
    #[arg(value_name = "TO", conflicts_with = "steps", allow_negative_numbers = true)]
    to: Option<EventArg>,
    /// Compare these two requests, numbered as in `annals cache`.
    #[arg(long, num_args = 2, value_names = ["M", "N"])]
    steps: Option<Vec<u64>>,
    /// Compare a recording with the transcript that its agent kept, which must be imported.
    #[arg(long, conflicts_with_all = ["other", "to", "steps", "fold", "files"])]
    transcript: bool,
    /// Compare the files of the project (see `annals files`): at two events, or at the ends of two sessions.
    #[arg(long, conflicts_with_all = ["steps", "fold", "stat"])]
    files: bool,
    /// Compare what a program prints; CMD is a line for the shell instead of a command after `--`.
    #[arg(long, value_name = "CMD", num_args = 0..=1, default_missing_value = "", conflicts_with = "steps")]
    fold: Option<String>,
    /// The program of --fold.
    #[arg(last = true, value_name = "COMMAND", requires = "fold")]
    command: Vec<String>,
    /// Show only how much differs.
    #[arg(long)]
    stat: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if args.files {
        return files(args, cli, out).await;
    }
    if args.fold.is_some() {
        return folded::run(args, cli, out).await;
    }
    if let Some([m, n]) = args.steps.as_deref() {
        let one = past(&args.session, cli).await?;
        let other = match &args.other {
            Some(other) => past(other, cli).await?,
            None => one.clone(),
        };
        let found = annals_inspect::diff::requests((&one, *m), (&other, *n)).await?;
        if cli.style.json {
            json::object(out, &found)?;
        } else {
            crate::draw::diff::draw_requests(&found, args.stat, &cli.style, out)?;
        }
        return Ok(Verdict::bad_if(found.first.is_some()));
    }
    if args.transcript {
        return transcript(args, cli, out).await;
    }
    let other = args.other.as_deref().unwrap_or_default();
    match (other.parse::<EventArg>(), args.to) {
        (Ok(from), to) => cuts(&args.session, from, to, args.stat, cli, out).await,
        (Err(_), Some(_)) => Err(CliError::NotASeq { text: other.to_owned() }),
        (Err(_), None) => {
            let (one, other) = (past(&args.session, cli).await?, past(other, cli).await?);
            let found = annals_inspect::diff::sessions(&one, &other).await?;
            if cli.style.json {
                json::object(out, &found)?;
            } else {
                crate::draw::diff::draw_sessions(&found, args.stat, &cli.style, out)?;
            }
            Ok(Verdict::bad_if(found.first.is_some()))
        }
    }
}

/// `diff --files SESSION FROM [TO]`, `diff --files A B` of sessions, or of events of the last session.
async fn files(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let other = args.other.as_deref().unwrap_or_default();
    let target = |session: &str, at| {
        let target = Target { session: session.to_owned(), at };
        async move { cli.target(&target).await }
    };
    let (from, to) = match (args.session.parse::<EventArg>(), other.parse::<EventArg>()) {
        (Ok(from), Ok(to)) if args.to.is_none() => {
            (target("@last", Some(from)).await?, target("@last", Some(to)).await?)
        }
        (_, Ok(from)) => (target(&args.session, Some(from)).await?, target(&args.session, args.to).await?),
        (_, Err(_)) if args.to.is_some() => return Err(CliError::NotASeq { text: other.to_owned() }),
        (_, Err(_)) => (target(&args.session, None).await?, target(other, None).await?),
    };
    super::files::compare(&from, &to, cli, out).await
}

async fn past(session: &str, cli: &CommandContext) -> Result<SessionAt, CliError> {
    Ok(SessionAt::from(&cli.target(&Target { session: session.to_owned(), at: None }).await?))
}

async fn transcript(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&Target { session: args.session.clone(), at: None }).await?;
    let (reader, session) = (&found.reader, found.session);
    let catalogue = reader.catalogue().await?;
    let pair = match recordings(&catalogue).get(&session) {
        Some(recording) => Some((*recording, session)),
        None => transcript_of(&catalogue, session).map(|transcript| (session, transcript)),
    };
    let Some((recording, transcript)) = pair else { return Err(FindError::NoTranscript(session).into()) };
    let recording = reader.session_at(recording, reader.head(recording).await?.next);
    let transcript = reader.session_at(transcript, reader.head(transcript).await?.next);
    let found = annals_inspect::diff::transcript(&recording, &transcript).await?;
    if cli.style.json {
        json::object(out, &found)?;
    } else {
        crate::draw::transcript_diff::draw(&found, args.stat, &cli.style, out)?;
    }
    Ok(Verdict::bad_if(!found.is_same()))
}

async fn cuts(
    session: &str,
    from: EventArg,
    to: Option<EventArg>,
    stat: bool,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let (reader, session) = cli.find(session).await?;
    let first = from.seq(&reader, session, &cli.style).await?;
    let from = reader.until(session, Some(first)).await?;
    let last = match to {
        Some(to) => Some(to.seq(&reader, session, &cli.style).await?),
        None => None,
    };
    let to = reader.until(session, last).await?;
    let found = if from <= to {
        reader.session_at(session, to).diff_views(from).await?
    } else {
        changes(&reader.view(session, from).await?, &reader.view(session, to).await?, reader.blobs())
    };
    if cli.style.json {
        json::object(out, &found)?;
    } else if stat {
        let mut views: Vec<(&str, u64)> = Vec::new();
        for change in &found {
            match views.last_mut() {
                Some((view, count)) if *view == change.view => *count += 1,
                _ => views.push((change.view, 1)),
            }
        }
        for (view, count) in views {
            writeln!(out, "{:<11} {}", cli.style.paint(Emphasis::Strong, view), counted(count, "change"))?;
        }
    } else {
        crate::draw::changes::draw(&found, &cli.style, out)?;
    }
    if from == to {
        let last = last.unwrap_or(Seq(to.0.saturating_sub(1)));
        cli.remark(&format!("events {first} and {last} were written together; nothing to compare"));
    }
    Ok(Verdict::bad_if(!found.is_empty()))
}
