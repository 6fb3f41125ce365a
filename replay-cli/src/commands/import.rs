//! `annals import`

use crate::bring::{bring, sources};
use crate::desk::Desk;
use crate::error::{CliError, Verdict};
use crate::import::{
    Follower, Form, Homes, ImportReport, Listed, Loss, Options, Outcome, Selection, SessionReport, Source, discover,
};
use crate::json;
use crate::layout::{columns, pad, plain, wrap};
use crate::look::{Look, Tone, counted, size, thousands};
use crate::progress::Bar;
use crate::reader::{Reader, short_ids};
use annals_core::Time;
use annals_runtime::redaction::{RedactingLog, Redactor};
use annals_store::{EventLog, OpenMode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Imports Sessions: what OpenCode, Codex CLI and Claude Code left on disk, or exports of annals.
///
/// Files are recognised by what is in them. Importing again adds nothing; a file that went on since adds what is new; one
/// that changed is told as diverged, and nothing is appended. With --discover, lists what those agents keep on this
/// machine; with --all, --since or --agent too, imports it. Makes the store if there is none.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Files, and folders with such files.
    #[arg(value_name = "FILE", required_unless_present = "discover")]
    files: Vec<PathBuf>,
    /// Looks where those agents keep their Sessions.
    #[arg(long)]
    discover: bool,
    /// Imports everything that was discovered.
    #[arg(long, requires = "discover")]
    all: bool,
    /// Imports what was discovered and changed within this time: 90m, 12h, 7d.
    #[arg(long, requires = "discover", value_name = "TIME", value_parser = ago)]
    since: Option<u64>,
    /// Imports what was discovered of this agent.
    #[arg(long, requires = "discover", value_name = "NAME", value_parser = ["opencode", "codex", "claude-code"])]
    agent: Option<String>,
    /// Keeps importing what is written there, until interrupted.
    #[arg(long, short = 'f')]
    follow: bool,
    /// Puts a Session whose file diverged beside the one that was imported before.
    #[arg(long)]
    as_new: bool,
    /// Keeps every record that could not be mapped whole.
    #[arg(long)]
    keep_originals: bool,
    /// Replaces keys and other secrets by placeholders such as [redacted:jwt], in all that is imported. Imported so, a
    /// Session differs from its source, and signatures in it prove nothing any more.
    #[arg(long)]
    redact: bool,
    /// Writes everything that could not be mapped to FILE, as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Milliseconds of `90m`, `12h`, `7d`.
fn ago(text: &str) -> Result<u64, String> {
    let unit = |text: &str| match text {
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(604_800_000),
        _ => None,
    };
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(at);
    number
        .parse::<u64>()
        .ok()
        .zip(unit(rest))
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| "expected a time such as 90m, 12h or 7d".to_owned())
}

/// How often a follower looks.
const ROUND: Duration = Duration::from_millis(1_000);

/// Runs the command.
///
/// # Errors
/// When a file is not recognised, or the store refuses. Damage in a file is an answer, not an error.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let selection = Selection {
        agent: args.agent.clone(),
        since: args.since.map(|ms| Time(desk.look.now.millis().saturating_sub(ms))),
    };
    let chosen = args.all || args.since.is_some() || args.agent.is_some();
    let mut wanted = Vec::new();
    for path in &args.files {
        wanted.extend(sources(path, |remark| desk.remark(remark))?);
    }
    if args.discover {
        let (listed, errors) = discover(&Homes::from_env());
        errors.iter().for_each(|error| desk.remark(&error.to_string()));
        if !chosen && !args.follow {
            list(&listed, desk, out)?;
            return Ok(Verdict::Fine);
        }
        wanted.extend(selection.sources(&listed));
    }
    let options = Options { as_new: args.as_new, keep_originals: args.keep_originals, ..Options::default() };
    let reader = desk.store(OpenMode::Create).await?;
    let redacting = if args.redact { Some(redacting(reader.log(), &wanted, desk)?) } else { None };
    let log: Arc<dyn EventLog> = redacting.clone().map_or_else(|| reader.log().clone(), |log| log as _);
    let bar = Bar::new(desk.shows_progress(), "importing");
    let mut report = ImportReport::default();
    for source in &wanted {
        report.extend(bring(&log, source, &options, &bar).await?);
    }
    save_views(&reader, &report).await?;
    bar.clear();
    if let Some(redacting) = &redacting {
        desk.remark(&replaced(&redacting.counts()));
    }
    if desk.look.json {
        json::object(out, &in_json(&report))?;
    } else if !(args.follow && wanted.is_empty()) {
        draw(&report, &desk.look, out)?;
    }
    if let Some(path) = &args.report {
        let at = |source| CliError::File { path: path.clone(), source };
        let mut file = std::fs::File::create(path).map_err(at)?;
        json::object(&mut file, &in_json(&report)).map_err(at)?;
    }
    if args.follow {
        out.flush()?;
        let homes = if args.discover { Homes::from_env() } else { Homes::default() };
        let files = wanted.iter().map(|source| source.path.clone()).collect();
        let mut follower = Follower::new(homes, files, selection, options);
        desk.remark("following; interrupt to end");
        loop {
            let report = follower.round(&log, &mut |_| {}).await?;
            if report.new_batches() > 0 || report.has_bad_news() {
                draw(&report, &desk.look, out)?;
                out.flush()?;
            }
            tokio::select! {
                () = tokio::time::sleep(ROUND) => {}
                _ = tokio::signal::ctrl_c() => break,
            }
        }
    }
    Ok(Verdict::bad_if(report.has_bad_news()))
}

/// Sessions of no fewer events than this are worth a saved view.
const LONG: u64 = 2_000;

/// Saves views of long sessions for those who only look, who save nothing.
async fn save_views(reader: &Reader, report: &ImportReport) -> Result<(), CliError> {
    for one in report.sessions.iter().filter(|one| one.new > 0) {
        let Some(head) = reader.log().head(one.session).await? else { continue };
        if head.next.0 >= LONG {
            reader.look(one.session, head.next).await?;
        }
    }
    Ok(())
}

/// A log that redacts what is appended to it.
fn redacting(log: &Arc<dyn EventLog>, sources: &[Source], desk: &Desk) -> Result<Arc<RedactingLog>, CliError> {
    // Its Batches prove each other as they are.
    if let Some(own) = sources.iter().find(|source| source.form == Form::Annals) {
        return Err(CliError::Unredactable { path: own.path.clone() });
    }
    let environment = &desk.environment;
    let configured = environment.config(&environment.directory)?.redactor();
    let redactor = configured.unwrap_or_else(|| Arc::new(Redactor::default()));
    Ok(Arc::new(RedactingLog::over(log.clone(), redactor)))
}

fn replaced(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "no secrets were found".to_owned();
    }
    let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} ({})", thousands(*count))).collect();
    format!("secrets were replaced: {}", kinds.join(", "))
}

fn list(listed: &[Listed], desk: &Desk, out: &mut dyn Write) -> Result<(), CliError> {
    let look = &desk.look;
    if look.json {
        let mut items = json::List::begin(out)?;
        for one in listed {
            items.item(&json!({
                "agent": one.agent, "id": one.foreign, "title": one.title, "created": one.created,
                "updated": one.updated, "bytes": one.bytes, "rows": one.rows, "file": one.source.path,
            }))?;
        }
        items.end()?;
        return Ok(());
    }
    let mut sorted: Vec<&Listed> = listed.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.updated));
    for one in &sorted {
        let much = match (one.rows, one.bytes) {
            (Some(rows), _) => format!("{} events", thousands(rows)),
            (None, Some(bytes)) => size(bytes),
            (None, None) => String::new(),
        };
        let title = plain(one.title.as_deref().unwrap_or("(no title)"));
        let head = format!("{:<11}  {:<15}  {much:>13}  ", one.agent, look.age(one.updated));
        writeln!(out, "{}{title}", look.paint(Tone::Dim, &head))?;
    }
    match sorted.len() {
        0 => desk.remark("no Session of OpenCode, Codex CLI or Claude Code was found; name a file to import it"),
        _ => desk.remark(&format!(
            "{}; import them with --all, or some with --since 7d or --agent NAME",
            counted(sorted.len() as u64, "Session")
        )),
    }
    Ok(())
}

fn draw(report: &ImportReport, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let ids = short_ids(&report.sessions.iter().map(|session| session.session).collect::<Vec<_>>());
    for session in &report.sessions {
        let id = ids.get(&session.session).cloned().unwrap_or_default();
        one(session, &id, look, out)?;
    }
    for ((path, what), loss) in &report.damage {
        writeln!(out, "{}", look.paint(Tone::Bad, &format!("{}{}: {what}", path.display(), places(loss))))?;
    }
    let sessions = counted(report.sessions.len() as u64, "Session");
    let new = match report.new_batches() {
        0 => "nothing new".to_owned(),
        new => format!("{} new Batches", thousands(new)),
    };
    let lost: u64 = report.sessions.iter().flat_map(|session| session.losses.values()).map(|loss| loss.count).sum();
    let lost = match lost {
        0 => String::new(),
        lost => format!("; {} had no event to become (--report FILE says which)", counted(lost, "field")),
    };
    writeln!(out, "{}", look.paint(Tone::Strong, &format!("{sessions}, {new}{lost}")))?;
    Ok(())
}

fn one(session: &SessionReport, id: &str, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let (mark, tone) = match session.outcome {
        Outcome::Imported if session.damage.is_empty() => ("✓", Tone::Good),
        Outcome::Imported => ("!", Tone::Warn),
        Outcome::Diverged { .. } | Outcome::Failed { .. } => ("✗", Tone::Bad),
    };
    let much = match (session.new, session.known) {
        (0, _) => "nothing new".to_owned(),
        (new, 0) => format!("{} Batches", thousands(new)),
        (new, _) => format!("{} new Batches", thousands(new)),
    };
    let head = format!("{id}  {}  ", pad(&much, 16));
    let title = plain(session.title.as_deref().unwrap_or(&session.foreign));
    for (at, line) in wrap(&title, look.width.saturating_sub(columns(&head) + 2)).iter().enumerate() {
        match at {
            0 => {
                let (id, much) = head.split_at(id.len());
                let (id, much) = (look.paint(Tone::Context, id), look.paint(Tone::Dim, much));
                writeln!(out, "{} {id}{much}{line}", look.paint(tone, mark))?;
            }
            _ => writeln!(out, "{:width$}{line}", "", width = columns(&head) + 2)?,
        }
    }
    match &session.outcome {
        Outcome::Imported => {}
        Outcome::Diverged { line, other_form } => {
            let other = other_form.as_ref().map(|form| format!(" (it was imported from {form} before)"));
            let told = format!(
                "  diverged at line {line}{}: nothing was appended; --as-new puts it beside the former one",
                other.unwrap_or_default()
            );
            writeln!(out, "{}", look.paint(Tone::Bad, &told))?;
        }
        Outcome::Failed { line, reason } => {
            writeln!(out, "{}", look.paint(Tone::Bad, &format!("  stopped at line {line}: {reason}")))?;
        }
    }
    for (what, loss) in &session.damage {
        writeln!(out, "{}", look.paint(Tone::Warn, &format!("  {what}{}", places(loss))))?;
    }
    Ok(())
}

fn places(loss: &Loss) -> String {
    let lines: Vec<String> = loss.lines.iter().filter(|line| **line > 0).map(u64::to_string).collect();
    match (lines.len() as u64, loss.count) {
        (0, 1) => String::new(),
        (0, count) => format!(" ({count} times)"),
        (shown, count) if shown < count => format!(" (lines {} and {} more)", lines.join(", "), count - shown),
        (1, _) => format!(" (line {})", lines.join("")),
        _ => format!(" (lines {})", lines.join(", ")),
    }
}

fn in_json(report: &ImportReport) -> Value {
    let losses = |losses: &std::collections::BTreeMap<String, Loss>| -> Value {
        losses.iter().map(|(what, loss)| (what.clone(), loss_json(loss))).collect::<serde_json::Map<_, _>>().into()
    };
    let sessions: Vec<Value> = report
        .sessions
        .iter()
        .map(|session| {
            let outcome = match &session.outcome {
                Outcome::Imported => json!({"outcome": "imported"}),
                Outcome::Diverged { line, other_form } => {
                    json!({"outcome": "diverged", "line": line, "other_form": other_form})
                }
                Outcome::Failed { line, reason } => json!({"outcome": "failed", "line": line, "reason": reason}),
            };
            json!({
                "session": session.session, "agent": session.agent, "id": session.foreign, "form": session.form,
                "title": session.title, "new": session.new, "known": session.known, "result": outcome,
                "losses": losses(&session.losses), "damage": losses(&session.damage),
            })
        })
        .collect();
    let damage: Vec<Value> = report
        .damage
        .iter()
        .map(|((path, what), loss)| json!({"file": path, "what": what, "where": loss_json(loss)}))
        .collect();
    json!({"sessions": sessions, "damage": damage})
}

fn loss_json(loss: &Loss) -> Value {
    json!({"count": loss.count, "lines": loss.lines, "originals": loss.originals})
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!([ago("90m"), ago("12h"), ago("7d")], [Ok(5_400_000), Ok(43_200_000), Ok(604_800_000)]);
        assert!(ago("7").is_err() && ago("d").is_err() && ago("99999999999999999999d").is_err());
    }
}
