//! `annals blame`

use super::files;
use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_core::SessionId;
use annals_host::project::ProjectFolder;
use annals_host::short;
use annals_inspect::SessionAt;
use annals_inspect::blame::{
    Blame, BlameError, BlamedLine, BlamedPrompt, CapturedContents, DelegatedBy, WrittenElsewhere, blame,
};
use annals_inspect::file_history::LineCause;
use annals_inspect::safety::with_subagents;
use annals_inspect::timeline::one_line;
use annals_projections::{Catalogue, CatalogueEntry};
use std::io::Write;
use std::path::Path;

/// Show who wrote a line of a file and why: call, turn, prompt.
///
/// Of each line, or of LINE, the call that put it there, the turn, and the prompt that led to it. Contents come from
/// captures (see `annals files`), otherwise from the calls that wrote, edited or showed the file; what is inferred is
/// said. Lines are numbered as they are at the end of the session, or with --at as they were at that event.
///
/// Without a session, the session of this project that touched the file last. Lines that no call of it wrote are looked up in the sessions
/// of its sub-agents and in earlier sessions of the project (--alone: only in that session). Of a line that a sub-agent wrote, the calls that
/// started it are shown with their prompts.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session (default: the last one that touched the file), then the file, with a line number or without.
    #[arg(value_name = "[SESSION] PATH[:LINE]", num_args = 1..=2, required = true)]
    session_and_path: Vec<String>,
    /// Show the file as it was right after EVENT: its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    at: Option<EventArg>,
    /// Do not look in other sessions.
    #[arg(long)]
    alone: bool,
}

/// How many sessions are looked at, the newest first.
const SESSIONS: usize = 200;

/// A path, and the line after the last colon.
fn place(text: &str) -> (&str, Option<u64>) {
    let split = text.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    split.map_or((text, None), |(path, line)| (path, Some(line)))
}

impl Args {
    /// The session that was named, if one was, and the place.
    fn named(&self) -> (Option<&str>, &str) {
        match self.session_and_path.as_slice() {
            [one, other] => {
                // Either order, where it is plain which of the two is the place.
                let swapped = place(one).1.is_some() && place(other).1.is_none() && !Path::new(one).exists();
                if swapped { (Some(other), one) } else { (Some(one), other) }
            }
            [path, ..] => (None, path),
            [] => (None, ""),
        }
    }
}

/// Who wrote the lines of a file as a session left it.
async fn blamed(found: &FoundSession, path: &str, line: Option<u64>, cli: &CommandContext) -> Result<Blame, CliError> {
    let contents = files::contents(found, cli).await?;
    let contents = contents.as_ref().map(|contents| contents as &dyn CapturedContents);
    Ok(blame(&SessionAt::from(found), path, line, contents).await?)
}

/// The sessions that are wanted, those that changed last first.
fn newest(catalogue: &Catalogue, wanted: impl Fn(&CatalogueEntry) -> bool) -> Vec<(SessionId, CatalogueEntry)> {
    let wanted = catalogue.sessions.iter().filter(|(_, entry)| !entry.forgotten && wanted(entry));
    let mut sessions: Vec<_> = wanted.map(|(id, entry)| (*id, entry.clone())).collect();
    sessions.sort_by_key(|(id, entry)| std::cmp::Reverse((entry.updated, *id)));
    sessions.truncate(SESSIONS);
    sessions
}

/// The session of the project that touched the file last.
async fn latest(at: Option<EventArg>, path: &str, cli: &CommandContext) -> Result<FoundSession, CliError> {
    let (reader, mut unknown) = (cli.reader().await?, None);
    let catalogue = reader.catalogue().await?;
    let scope = cli.project_scope(&catalogue, None);
    for (session, _) in newest(&catalogue, |entry| scope.takes(&entry.directory)) {
        let until = reader.until(session, None).await?;
        let found = FoundSession { reader: reader.clone(), session, until };
        match blamed(&found, path, None, cli).await {
            Err(CliError::Blame(error @ BlameError::NoFile { .. })) => unknown = unknown.or(Some(error)),
            Ok(_) | Err(CliError::Blame(_)) => {
                return cli.target(&Target { session: session.to_string(), at }).await;
            }
            Err(error) => return Err(error),
        }
    }
    match unknown {
        Some(error) => Err(error.into()),
        // No session at all: said as for any other command.
        None => cli.target(&Target { session: "@last".to_owned(), at }).await,
    }
}

/// The sub-agent of a session that touched the file last, where the session itself knows nothing of it.
async fn in_subagent(
    found: &FoundSession,
    (path, line): (&str, Option<u64>),
    cli: &CommandContext,
) -> Result<Option<(FoundSession, Blame)>, CliError> {
    let catalogue = found.reader.catalogue().await?;
    let children = with_subagents(&catalogue, found.session);
    for (session, _) in newest(&catalogue, |_| true) {
        if session == found.session || !children.contains(&session) {
            continue;
        }
        let until = found.reader.until(session, None).await?;
        let child = FoundSession { reader: found.reader.clone(), session, until };
        match blamed(&child, path, line, cli).await {
            Err(CliError::Blame(BlameError::NoFile { .. })) => {}
            Ok(blame) => return Ok(Some((child, blame))),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Looks up lines that no call of the session wrote: in the sessions of its sub-agents, then in earlier sessions of the project.
async fn complete(
    found: &FoundSession,
    blame: &mut Blame,
    catalogue: &Catalogue,
    cli: &CommandContext,
) -> Result<(), CliError> {
    let Some(this) = catalogue.sessions.get(&found.session) else { return Ok(()) };
    let project = ProjectFolder::around(Path::new(&this.directory));
    let is_earlier = |entry: &CatalogueEntry| entry.created < this.created && project.contains(&entry.directory);
    let children = with_subagents(catalogue, found.session);
    let others = newest(catalogue, |_| true).into_iter().filter(|(id, _)| *id != found.session);
    let (children, others): (Vec<_>, Vec<_>) = others.partition(|(id, _)| children.contains(id));
    let earlier = others.into_iter().filter(|(_, entry)| is_earlier(entry)).map(|(id, _)| (id, false));
    for (session, sub_agent) in children.into_iter().map(|(id, _)| (id, true)).chain(earlier) {
        if !blame.is_open() {
            break;
        }
        let until = found.reader.until(session, None).await?;
        let other = FoundSession { reader: found.reader.clone(), session, until };
        match blamed(&other, &blame.path, None, cli).await {
            Ok(other) => blame.complete_from(&other, sub_agent),
            // It knows nothing of the file, or not enough.
            Err(CliError::Blame(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (session, path) = args.named();
    let (path, line) = place(path);
    let session = match session {
        Some(session) => cli.target(&Target { session: session.to_owned(), at: args.at }).await?,
        None => latest(args.at, path, cli).await?,
    };
    let (session, mut found) = match blamed(&session, path, line, cli).await {
        Ok(found) => (session, found),
        Err(CliError::Blame(error @ BlameError::NoFile { .. })) if !args.alone => {
            in_subagent(&session, (path, line), cli).await?.ok_or(error)?
        }
        Err(error) => return Err(error),
    };
    let catalogue = session.reader.catalogue().await?;
    if !args.alone && found.is_open() {
        complete(&session, &mut found, &catalogue, cli).await?;
    }
    found.name_delegations(&SessionAt::from(&session), &catalogue).await?;
    if cli.style.json {
        json::object(out, &found)?;
        return Ok(Verdict::Fine);
    }
    match (line, found.lines.as_slice()) {
        (Some(_), [one]) => draw_one(&found, one, &cli.style, out)?,
        (_, lines) => draw_all(lines, &cli.style, out)?,
    }
    for inference in &found.inferred {
        cli.remark(&format!("inferred at event {}: {}", inference.seq, inference.what));
    }
    if let Some(command) = found.unsure_since {
        cli.remark(&format!(
            "commands ran after the last fact about the file, first at event {command}; what they changed is not recorded"
        ));
    }
    Ok(Verdict::Fine)
}

fn cause(line: &BlamedLine) -> String {
    let tool = line.tool.as_deref().map(plain).unwrap_or_default();
    match line.cause {
        LineCause::Written => format!("written by {tool}, event {}", line.seq),
        LineCause::Command if line.tool.is_none() => {
            format!("inferred: it appeared after a command of the user, event {}", line.seq)
        }
        LineCause::Command => format!("inferred: it appeared after {tool} ran, event {}", line.seq),
        LineCause::Before => format!("there before; first seen at event {}", line.seq),
        LineCause::Outside => format!("changed outside of the calls of this session; first seen at event {}", line.seq),
    }
}

/// One line with everything that led to it.
fn draw_one(found: &Blame, line: &BlamedLine, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let place = format!("{}:{}", plain(&found.path), line.line.unwrap_or_default());
    writeln!(out, "{}  {}", style.paint(Emphasis::Strong, &place), plain(&line.text))?;
    writeln!(out, "  {}", style.paint(Emphasis::Tool, &cause(line)))?;
    draw_prompts(&line.prompts, style, out)?;
    draw_delegations(&line.delegated_by, style, out)?;
    if let Some(elsewhere) = &line.elsewhere {
        writeln!(out, "  {}", style.paint(Emphasis::Tool, &written_elsewhere(elsewhere)))?;
        draw_prompts(&elsewhere.prompts, style, out)?;
        draw_delegations(&elsewhere.delegated_by, style, out)?;
    }
    Ok(())
}

/// The calls that gave a sub-agent its work.
fn draw_delegations(calls: &[DelegatedBy], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for by in calls {
        let call = format!("started by {} in session {}, event {}", plain(&by.tool), short(by.session), by.seq);
        writeln!(out, "  {}", style.paint(Emphasis::Tool, &call))?;
        draw_prompts(&by.prompts, style, out)?;
    }
    Ok(())
}

fn written_elsewhere(found: &WrittenElsewhere) -> String {
    let of = if found.sub_agent { "sub-agent" } else { "earlier session" };
    let tool = found.tool.as_deref().map(plain).unwrap_or_default();
    format!("written by {tool} in {of} {}, event {}", short(found.session), found.seq)
}

fn draw_prompts(prompts: &[BlamedPrompt], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for prompt in prompts {
        let turn = prompt.turn.map_or("undone".to_owned(), |turn| format!("turn {turn}"));
        writeln!(out, "  {}", style.paint(Emphasis::User, &format!("{turn}, prompt at event {}", prompt.seq)))?;
        for text in wrap(&plain(prompt.text.trim_end()), style.width.saturating_sub(4)) {
            writeln!(out, "{}", format!("  {} {text}", style.paint(Emphasis::Dim, "│")).trim_end())?;
        }
    }
    Ok(())
}

/// All lines, each after what wrote it.
fn draw_all(lines: &[BlamedLine], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let head = |line: &BlamedLine| {
        let what = match line.cause {
            LineCause::Written => line.tool.as_deref().map(plain).unwrap_or_default(),
            LineCause::Command if line.tool.is_none() => {
                format!("inferred: it appeared after a command of the user, event {}", line.seq)
            }
            LineCause::Command => format!("{}?", line.tool.as_deref().map(plain).unwrap_or_default()),
            LineCause::Before => "before".to_owned(),
            LineCause::Outside => "outside".to_owned(),
        };
        if let Some(elsewhere) = &line.elsewhere {
            let tool = elsewhere.tool.as_deref().map(plain).unwrap_or_default();
            let turn = elsewhere.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
            let prompt = elsewhere.prompts.last().map(|prompt| one_line(&plain(&prompt.text))).unwrap_or_default();
            return (elsewhere.seq.to_string(), format!("{tool} in {}", short(elsewhere.session)), turn, prompt);
        }
        let turn = line.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
        let prompt = line.prompts.last().map(|prompt| one_line(&plain(&prompt.text))).unwrap_or_default();
        (line.seq.to_string(), what, turn, prompt)
    };
    let heads: Vec<_> = lines.iter().map(head).collect();
    let (mut seq, mut what, mut turn, mut prompt) = (0, 0, 0, 0);
    for it in &heads {
        (seq, what) = (seq.max(it.0.len()), what.max(columns(&it.1)));
        (turn, prompt) = (turn.max(it.2.len()), prompt.max(columns(&it.3)));
    }
    let prompt = prompt.min(style.width / 4);
    let number = lines.len().to_string().len();
    for (line, it) in lines.iter().zip(&heads) {
        let mut start: String = it.3.chars().take(prompt).collect();
        if start.len() < it.3.len() && start.pop().is_some() {
            start.push('…');
        }
        let pad = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))));
        let origin = format!("{:>seq$} {} {} {}", it.0, pad(&it.1, what), pad(&it.2, turn), pad(&start, prompt));
        let place = line.line.map(|line| line.to_string()).unwrap_or_default();
        let shown = format!("{} {place:>number$}  {}", style.paint(Emphasis::Dim, &origin), plain(&line.text));
        writeln!(out, "{}", shown.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_line_is_the_number_after_the_last_colon() {
        assert_eq!(place("src/main.rs:40"), ("src/main.rs", Some(40)));
        assert_eq!(place("src/main.rs"), ("src/main.rs", None));
        assert_eq!(place("C:/a.rs"), ("C:/a.rs", None));
    }
}
