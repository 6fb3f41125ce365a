//! What `annals erase` and `annals retention` ask and show (`docs/reference/erasure.md`).

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::layout::plain;
use crate::style::counted;
use annals_core::SessionId;
use annals_host::ClusterErasure;
use annals_host::erasing::{EarlierErasure, FinishedErasure};
use annals_store::erasure::ErasurePlan;
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};

/// Says what is about to be erased, and what that reaches.
pub fn remark_reach(plan: &ErasurePlan, cli: &CommandContext) {
    let (texts, chars) = (counted(plan.texts, "text"), counted(plan.chars, "character"));
    let of = counted(plan.what.len() as u64, "session");
    cli.remark(&format!("to erase: {texts} ({chars}) of {of}; this cannot be undone"));
    if plan.hashes > 0 {
        let digests = counted(plan.hashes, "digest");
        let requests = plan.requests.len() as u64;
        let unproved = match requests {
            0 => String::new(),
            _ => format!("; {} cannot be proved any more", counted(requests, "request")),
        };
        cli.remark(&format!("with them {digests} of these texts{unproved}"));
    }
    for ancestor in &plan.ancestors {
        cli.remark(&format!("session {ancestor} wrote some of them, and every fork of it loses them"));
    }
    for (agent, id) in &plan.sources {
        cli.remark(&plain(&format!("it was imported from {agent} ({id}), whose own files still hold these texts")));
    }
    for child in &plan.children {
        cli.remark(&format!("its sub-agent {child} may hold the same words: erase them there as well"));
    }
}

/// Checks that an erasure can be confirmed; `yes`: it is confirmed already.
///
/// # Errors
/// [`CliError::NotConfirmed`] when there is no terminal to ask on and `--yes` is missing.
pub fn check_confirmable(yes: bool, cli: &CommandContext) -> Result<(), CliError> {
    let person = std::io::stdin().is_terminal() && cli.shows_progress();
    if yes || person { Ok(()) } else { Err(CliError::NotConfirmed) }
}

/// Asks, unless it is confirmed already.
///
/// # Errors
/// When the terminal cannot be used.
pub fn confirmed(yes: bool, question: &str) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    let mut stderr = std::io::stderr();
    let asked = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut line = String::new();
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
    read.map_err(CliError::Output)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Says that an erasure of an earlier process was finished.
pub fn remark_earlier(earlier: &EarlierErasure, cli: &CommandContext) {
    for session in &earlier.sessions {
        cli.remark(&format!("an earlier erasure in session {session} was finished"));
    }
    remark_pending(&earlier.unconfirmed, cli);
}

/// Says which servers have not confirmed.
fn remark_pending(unconfirmed: &BTreeSet<String>, cli: &CommandContext) {
    if !unconfirmed.is_empty() {
        let servers: Vec<&str> = unconfirmed.iter().map(String::as_str).collect();
        let servers = plain(&servers.join(", "));
        cli.remark(&format!("erasure pending: not confirmed by {servers}; to confirm it later: annals verify"));
    }
}

/// Shows how far an erasure in a cluster is: in JSON as remarks, since it is about the store and not about what was verified.
pub fn show_pending(pending: &ClusterErasure, cli: &CommandContext, out: &mut dyn Write) -> std::io::Result<()> {
    let sessions: Vec<String> = pending.sessions.iter().map(ToString::to_string).collect();
    let sessions = sessions.join(", ");
    let state = match (pending.unfinished.is_empty(), pending.unconfirmed.is_empty()) {
        (true, true) => format!("erasure confirmed by all servers: session {sessions}"),
        (true, false) => {
            let servers: Vec<&str> = pending.unconfirmed.iter().map(String::as_str).collect();
            format!("erasure pending: session {sessions}, not confirmed by {}", plain(&servers.join(", ")))
        }
        (false, _) => format!("erasure pending: session {sessions}; to finish it, erase again: annals erase"),
    };
    match cli.style.json {
        true => cli.remark(&state),
        false => writeln!(out, "{state}")?,
    }
    Ok(())
}

/// Answers that what was asked for was done by finishing an earlier erasure.
pub fn show_earlier(
    earlier: &EarlierErasure,
    session: SessionId,
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<Verdict, CliError> {
    let pending = !earlier.unconfirmed.is_empty();
    let state = if pending { "erasure pending" } else { "erased" };
    match cli.style.json {
        true => {
            let answer = serde_json::json!({"session": session, "state": state, "unconfirmed": earlier.unconfirmed});
            crate::json::object(out, &answer)?;
        }
        false => writeln!(out, "{state}: session {session}, integrity unchanged").map_err(CliError::Output)?,
    }
    Ok(Verdict::bad_if(pending))
}

/// Shows which copies were removed, and which stay.
pub fn show(erased: &FinishedErasure, cli: &CommandContext, out: &mut dyn Write) -> std::io::Result<()> {
    let FinishedErasure { copies, files, originals, answers, unconfirmed, .. } = erased;
    if !unconfirmed.is_empty() {
        writeln!(out, "erasure pending")?;
    }
    remark_pending(unconfirmed, cli);
    let counts = [
        ("blobs", copies.blobs),
        ("tool output files", files.outputs),
        ("repositories of captured files", files.captures),
        ("lines of the chat history", files.lines),
        ("files of diagnostics", files.diagnostics),
        ("originals of imported records", *originals),
        ("cassette files", *answers),
        ("files that were set aside", copies.set_aside),
    ];
    for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "{what} removed: {count}")?;
    }
    for session in copies.shared.values().flatten() {
        cli.remark(&format!("session {session} holds the same text, which stays there; --everywhere erases it"));
    }
    for directory in &files.unknown {
        let place = plain(directory);
        cli.remark(&format!(
            "{place} does not exist: files captured there, if any, are still in the store's worktrees"
        ));
    }
    Ok(())
}
