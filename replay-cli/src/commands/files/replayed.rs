//! Files of a session without captures, replayed from its calls.

use super::is_below;
use super::written::{self, WrittenFile, WrittenKind};
use crate::command_context::{CommandContext, FoundSession};
use crate::error::{CliError, FilesQuestionError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::counted;
use annals_core::Seq;
use annals_inspect::SessionAt;
use annals_inspect::file_history::{FileHistory, KnownFile, ReplayedDiff, ReplayedFile};
use std::io::Write;
use std::path::Path;

pub(super) async fn run(
    found: &FoundSession,
    path: Option<&str>,
    since: Option<Seq>,
    to: Option<&Path>,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let past = SessionAt::from(found);
    if let Some(since) = since {
        let until = found.reader.until(found.session, Some(since)).await?;
        let reader = found.reader.clone();
        let from = FoundSession { reader, session: found.session, until };
        return compare(&from, found, path, cli, out).await;
    }
    let history = FileHistory::before(&past, past.until).await?;
    let there = |path: Option<&str>| {
        let files = history.files.iter().filter(|(_, file)| file.exists);
        let path = path.map(|path| history.resolved(path));
        let listed: Vec<(&String, &KnownFile)> =
            files.filter(|(file, _)| is_below(file, path.as_deref().filter(|path| *path != "/"))).collect();
        listed
    };
    let listed = there(path.filter(|path| !path.is_empty()));
    if listed.is_empty() {
        return Err(match path {
            Some(path) => {
                FilesQuestionError::NoFile { path: path.to_owned(), seq: Seq(past.until.0.saturating_sub(1)) }
            }
            None => FilesQuestionError::NoFacts,
        }
        .into());
    }
    if let Some(dir) = to {
        let file = |(path, file): &(&String, &KnownFile)| {
            let (path, content) = ((*path).clone(), file.text().map(String::into_bytes));
            WrittenFile { path, kind: WrittenKind::File, content }
        };
        remark(&history, &listed, cli);
        return written::write(dir, listed.iter().map(file).collect(), cli, out);
    }
    let named = path.map(|path| history.resolved(path));
    if let Some(name) = named.as_ref()
        && let Some(file) = history.files.get(name)
    {
        remark(&history, &[(name, file)], cli);
        if cli.style.json {
            json::object(out, &ReplayedFile::of(name, file, &history, true))?;
            return Ok(Verdict::Fine);
        }
        let text = file.text().ok_or_else(|| FilesQuestionError::Partly(name.clone()))?;
        out.write_all(text.as_bytes())?;
        return Ok(Verdict::Fine);
    }
    if cli.style.json {
        let files: Vec<ReplayedFile> =
            listed.iter().map(|(path, file)| ReplayedFile::of(path, file, &history, false)).collect();
        let seq = past.until.0.checked_sub(1);
        json::object(out, &serde_json::json!({"seq": seq, "tree": null, "files": files}))?;
        return Ok(Verdict::Fine);
    }
    for (path, file) in &listed {
        let notes = notes(&history, file);
        let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join("; ")) };
        writeln!(out, "{}", cli.fitted(&format!("{}{notes}", plain(path))))?;
    }
    let count = counted(listed.len() as u64, "file");
    cli.remark(&format!("{count}, replayed from the calls that wrote, edited or showed them (no captures)"));
    Ok(Verdict::Fine)
}

/// What a reader must know of a file besides its content.
fn notes(history: &FileHistory, file: &KnownFile) -> Vec<String> {
    let mut notes = Vec::new();
    if file.text().is_none() {
        notes.push("known partly: edited, never shown whole".to_owned());
    }
    notes.extend(file.inferred.iter().map(|(seq, what)| format!("inferred at event {seq}: {}", what.words())));
    if let Some(command) = history.unsure(file) {
        notes.push(format!("commands ran since, first at event {command}; what they changed is not recorded"));
    }
    notes
}

fn remark(history: &FileHistory, files: &[(&String, &KnownFile)], cli: &CommandContext) {
    for (path, file) in files {
        let notes = notes(history, file);
        if !notes.is_empty() {
            cli.remark(&format!("{}: {}", plain(path), notes.join("; ")));
        }
    }
}

/// Compares replayed files.
pub(super) async fn compare(
    from: &FoundSession,
    to: &FoundSession,
    path: Option<&str>,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let history = |found: &FoundSession| {
        let past = SessionAt::from(found);
        async move { FileHistory::before(&past, past.until).await }
    };
    let (one, other) = (history(from).await?, history(to).await?);
    let path = path.map(|path| other.resolved(path));
    let diff = ReplayedDiff::between(&one, &other, |file| is_below(file, path.as_deref()));
    let verdict = Verdict::bad_if(!diff.files.is_empty());
    let at = |found: &FoundSession| found.until.0.saturating_sub(1);
    if cli.style.json {
        let side = |found: &FoundSession| serde_json::json!({"seq": at(found), "tree": null});
        json::object(
            out,
            &serde_json::json!({"from": side(from), "to": side(to), "files": diff.files, "diff": diff.diff}),
        )?;
        return Ok(verdict);
    }
    for file in &diff.files {
        writeln!(out, "{:<8} {}  +{} -{}", file.status, plain(&file.path), file.additions, file.deletions)?;
    }
    if !diff.files.is_empty() {
        write!(out, "\n{}", diff.diff)?;
    }
    cli.remark(&format!("from event {} to event {}, replayed from the calls (no captures)", at(from), at(to)));
    Ok(verdict)
}
