//! Draws signatures, and what they sign.

use crate::Terminal;
use crate::style::{Emphasis, counted};
use annals_core::Time;
use annals_inspect::signing::{KnownSignature, ProvedBatch, SignedStore};
use std::io::{self, Write};

/// Draws a proof that holds; `what` contains what is proved.
pub fn proof(proved: &ProvedBatch, what: Option<&str>, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let style = &terminal.style;
    let ProvedBatch { session, first, last, digest, signed_seq, origin, size, signatures, named, .. } = proved;
    let events = if first == last { format!("event {first}") } else { format!("events {first} to {last}") };
    let mark = match signatures.is_empty() {
        true => style.paint(Emphasis::Warn, "?"),
        false => style.paint(Emphasis::Good, "✓"),
    };
    writeln!(out, "{mark} session {session}, {events}")?;
    writeln!(out, "  {}", style.paint(Emphasis::Strong, &digest.to_string()))?;
    writeln!(out, "  signed when the session ended with event {signed_seq}: checkpoint {size} of {origin}")?;
    names(signatures, terminal, out)?;
    if let Some(what) = what {
        writeln!(out, "  {what} contains these events")?;
    }
    if signatures.is_empty() {
        let names = named.join(", ");
        writeln!(out, "  {}", style.paint(Emphasis::Warn, &format!("not proved: signatures not verified: {names}")))?;
        terminal.remark("anyone can make a checkpoint: name the keys that you trust with --allowed-signers FILE");
    }
    Ok(())
}

fn names(signatures: &[KnownSignature], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    for KnownSignature { signer, key, witnessed_at } in signatures {
        match witnessed_at {
            None => writeln!(out, "  signed by {signer} ({key})")?,
            Some(seconds) => {
                let at = terminal.style.exact(Time(seconds.saturating_mul(1000)));
                writeln!(out, "  witnessed by {signer} at {at} ({key})")?;
            }
        }
    }
    Ok(())
}

/// Draws what `--signed` found.
pub fn signed(found: &SignedStore, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let style = &terminal.style;
    for problem in &found.problems {
        writeln!(out, "{} {}", style.paint(Emphasis::Bad, "✗"), style.paint(Emphasis::Bad, problem))?;
    }
    let continued = counted(found.sessions, "session");
    if found.problems.is_empty() {
        let verb = if found.sessions == 1 { "continues" } else { "continue" };
        writeln!(out, "{} {continued} {verb} what was signed", style.paint(Emphasis::Good, "✓"))?;
    }
    for tree in &found.trees {
        let checkpoints = counted(tree.checkpoints, "checkpoint");
        writeln!(out, "  {}: {checkpoints} over {}", tree.origin, counted(tree.heads, "head"))?;
        names(&tree.signatures, terminal, out)?;
    }
    if found.unsigned_events > 0 {
        let events = counted(found.unsigned_events, "event");
        let (grown, new) = (counted(found.grown_sessions, "session"), found.unsigned_sessions);
        writeln!(out, "  not signed yet: {events} ({grown} grown, {new} never signed)")?;
    }
    if !found.trusted {
        terminal.remark(
            "the keys are those that the store itself names: name those that you trust with --allowed-signers FILE",
        );
    }
    Ok(())
}
