//! Draws what a verification found.

use crate::Terminal;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::Digest;
use annals_inspect::prove::{AgentProofs, RequestProofs};
use annals_inspect::verified::{ComparedPage, VerifiedCopies};
use annals_store::exchange::verify::{KeptDigest, KeptPlace};
use annals_store::exchange::{RevealOutcome, RevealedText, VerifyReport};
use std::io::{self, Write};
use std::path::Path;

/// How many anomalies are listed.
const ANOMALIES: usize = 3;

/// Draws whether a log is unaltered. `subject` is what was verified, or the path of the file; `head` a digest that was kept elsewhere.
pub fn report(
    report: &VerifyReport,
    subject: &str,
    head: Option<Digest>,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = &terminal.style;
    let facts = [(report.sessions.len() as u64, "session"), (report.events, "event"), (report.blobs, "blob")];
    let facts = facts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    let facts: Vec<String> = facts.collect();
    if report.is_sound() && facts.is_empty() {
        writeln!(out, "{}", terminal.fitted(&format!("{subject}: no sessions, nothing to verify")))?;
    } else if report.is_sound() {
        let line = terminal.fitted(&format!("✓ {subject}: {}, integrity verified", facts.join(", ")));
        writeln!(out, "{}{}", style.paint(Emphasis::Good, "✓"), line.trim_start_matches('✓'))?;
    } else {
        let count = report.damage.len() as u64 + report.more;
        let within = if facts.is_empty() { String::new() } else { format!(" in {}", facts.join(", ")) };
        let places = counted(count, "damaged place");
        let line = terminal.fitted(&format!("✗ {subject}: {places}{within}"));
        writeln!(out, "{}{}", style.paint(Emphasis::Bad, "✗"), line.trim_start_matches('✗'))?;
        for damage in &report.damage {
            let line = if Path::new(subject).is_file() { damage.in_file(subject) } else { damage.to_string() };
            writeln!(out, "{}", style.paint(Emphasis::Bad, &terminal.fitted(&format!("  {line}"))))?;
        }
        if report.more > 0 {
            writeln!(out, "  … and {} more", report.more)?;
        }
    }
    if let Some(texts) = report.withheld.filter(|_| report.is_sound()) {
        let line = format!("  {texts}; everything else and the order of all facts proved");
        writeln!(out, "{}", terminal.fitted(&line))?;
    }
    for erasure in report.erasures.iter().take(ANOMALIES) {
        writeln!(out, "{}", terminal.fitted(&format!("  {}", plain(&erasure.to_string()))))?;
    }
    if let more @ 1.. = report.erasures.len().saturating_sub(ANOMALIES) {
        writeln!(out, "  … and {more} more erasures")?;
    }
    for anomaly in report.anomalies.iter().take(ANOMALIES) {
        let line = terminal.fitted(&format!("  unusual, but not damaged: {anomaly}"));
        writeln!(out, "{}", style.paint(Emphasis::Warn, &line))?;
    }
    if let more @ 1.. = report.anomalies.len().saturating_sub(ANOMALIES) {
        writeln!(out, "  … and {more} more such events")?;
    }
    if report.sessions.len() <= 3 {
        for proven in &report.sessions {
            let digest = proven.digest.map_or("none".to_owned(), |digest| digest.to_string());
            writeln!(out, "  {} head ({})", proven.session, counted(proven.next.0, "event"))?;
            writeln!(out, "  {}", style.paint(Emphasis::Strong, &digest))?;
        }
    }
    let place =
        report.kept_in.map_or(String::new(), |KeptPlace { session, line }| format!(": session {session}, line {line}"));
    match (report.kept, head) {
        // What is damaged does not show where the session ended.
        (Some(KeptDigest::Head | KeptDigest::Before(_)), _) if !report.is_sound() => {
            let line = format!("  a batch has the digest that you kept{place}, but the log is damaged");
            writeln!(out, "{}", terminal.fitted(&line))?;
        }
        (Some(KeptDigest::Head), _) => {
            let line = terminal.fitted(&format!("  matches the digest that you kept{place}"));
            writeln!(out, "{}", style.paint(Emphasis::Good, &line))?;
        }
        (Some(KeptDigest::Before(seq)), _) => {
            let line = format!(
                "  the digest that you kept is the head before event {seq}{place}; the session has grown since"
            );
            writeln!(out, "{}", terminal.fitted(&line))?;
        }
        (Some(KeptDigest::Missing), _) => {
            writeln!(out, "  {}", style.paint(Emphasis::Bad, "does not match the digest that you kept"))?;
        }
        (None, _) if report.is_sound() && head.is_none() && report.sessions.len() == 1 => {
            terminal.remark(
                "keep the digest elsewhere; verifying with --head DIGEST then proves that nothing was rewritten",
            );
        }
        (None, _) => {}
    }
    Ok(())
}

/// Draws whether the page of a report is the one that its export gives.
pub fn page(page: &ComparedPage, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let (emphasis, mark, line) = match page {
        ComparedPage::Same => (Emphasis::Good, "✓", "the page shows what this export gives, byte for byte".to_owned()),
        ComparedPage::Differs => {
            let version = env!("CARGO_PKG_VERSION");
            let line = format!("the page was changed: it is not the one that annals {version} makes of this export");
            (Emphasis::Bad, "✗", line)
        }
        ComparedPage::TooLarge => (Emphasis::Warn, "?", "page not compared: the export in it is too large".to_owned()),
        ComparedPage::MadeBy(program) if program.is_empty() => {
            (Emphasis::Warn, "?", "page not compared: it does not say which version made it".to_owned())
        }
        ComparedPage::MadeBy(program) => {
            (Emphasis::Warn, "?", format!("page not compared: made by {}", plain(program)))
        }
    };
    let line = terminal.fitted(&format!("{mark} {line}"));
    writeln!(out, "{}{}", terminal.style.paint(emphasis, mark), line.trim_start_matches(mark))
}

/// Draws damage in one of the two copies: the answer holds when the other one serves.
pub fn copies(copies: &VerifiedCopies, sound: bool, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if copies.damaged > 0 && sound {
        let places = counted(copies.damaged, "place");
        let line =
            terminal.fitted(&format!("  integrity verified, but one copy is damaged in {places}: annals doctor"));
        writeln!(out, "{}", terminal.style.paint(Emphasis::Warn, &line))?;
    }
    if let Some(reason) = &copies.second_copy_unchecked {
        terminal.remark(&format!("the second copy (sled) was not checked: {reason}"));
    }
    Ok(())
}

/// Draws what rebuilding the requests gave; with `wire` also what became of their bodies. `None`: the log is damaged.
pub fn requests(
    proofs: Option<&RequestProofs>,
    wire: bool,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = &terminal.style;
    let Some(proofs) = proofs else {
        terminal.remark("requests were not verified, as the log is damaged");
        return Ok(());
    };
    if proofs.count == 0 {
        let mark = style.paint(Emphasis::Bad, "✗");
        writeln!(out, "{mark} no request is recorded, so none can be verified")?;
        terminal.remark("most agents do not record their requests; what they do not record, an import does not have");
    } else if proofs.flaws.is_empty() {
        if proofs.provable() > 0 {
            let (mark, count) = (style.paint(Emphasis::Good, "✓"), counted(proofs.provable(), "request"));
            writeln!(out, "{mark} {count} rebuilt from the log, digests verified")?;
        }
    } else {
        let count = counted(proofs.count, "request");
        writeln!(out, "{} {} of {count} not verified", style.paint(Emphasis::Bad, "✗"), proofs.flaws.len())?;
        for flaw in &proofs.flaws {
            writeln!(out, "{}", style.paint(Emphasis::Bad, &terminal.fitted(&format!("  {flaw}"))))?;
        }
    }
    if !proofs.withheld.is_empty() {
        let requests = counted(proofs.withheld.len() as u64, "request");
        let mark = style.paint(Emphasis::Warn, "?");
        writeln!(out, "{mark} {requests} cannot be verified: parts are withheld")?;
        for request in &proofs.withheld {
            writeln!(out, "  {request}")?;
        }
    }
    for (agent, of_agent) in &proofs.agents {
        self::agent(agent, of_agent, terminal, out)?;
    }
    if wire {
        bodies(proofs, terminal, out)?;
    }
    if proofs.agreeing > 0 {
        let agreeing = counted(proofs.agreeing, "recorded body");
        writeln!(out, "{} the view matches {agreeing}", style.paint(Emphasis::Good, "✓"))?;
    }
    if !proofs.differing.is_empty() {
        let differing = counted(proofs.differing.len() as u64, "recorded body");
        writeln!(out, "{} {differing} with parts that no event explains:", style.paint(Emphasis::Warn, "?"))?;
        for difference in &proofs.differing {
            writeln!(out, "{}", style.paint(Emphasis::Warn, &terminal.fitted(&format!("  {difference}"))))?;
        }
    }
    Ok(())
}

fn agent(name: &str, proofs: &AgentProofs, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let style = &terminal.style;
    let name = plain(if name == "claude-code" { "Claude Code" } else { name });
    if proofs.proved > 0 {
        let count = counted(proofs.proved, "request");
        let line = format!("{count} proved against the hashes that {name} recorded in its session files");
        writeln!(out, "{} {}", style.paint(Emphasis::Good, "✓"), terminal.fitted(&line))?;
        let options = match (proofs.whole, proofs.whole_differs) {
            (whole, 0) if whole == proofs.proved => "each whole, with options and marks for the cache".to_owned(),
            (whole, 0) => format!("{whole} of them whole, the others by system prompt, tools and messages"),
            (whole, _) => format!("{whole} of them whole; the others by system prompt, tools and messages alone"),
        };
        writeln!(out, "  {}", terminal.fitted(&options))?;
    }
    let mark = style.paint(Emphasis::Warn, "?");
    if let lacking @ 1.. = proofs.lacking.len() {
        let count = counted(lacking as u64, "request");
        let line = format!("{count} not proved: the session file does not have all of their parts");
        writeln!(out, "{mark} {}", terminal.fitted(&line))?;
        for request in proofs.lacking.iter().take(ANOMALIES) {
            writeln!(out, "  {}", terminal.fitted(request))?;
        }
        if let more @ 1.. = lacking.saturating_sub(ANOMALIES) {
            writeln!(out, "  … and {more} more")?;
        }
    }
    Ok(())
}

fn bodies(proofs: &RequestProofs, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let style = &terminal.style;
    if proofs.recorded > 0 {
        let recorded = counted(proofs.recorded, "request");
        writeln!(out, "{} {recorded} proved byte for byte", style.paint(Emphasis::Good, "✓"))?;
    }
    if let encoded @ 1.. = proofs.bodies - proofs.recorded {
        let bodies = counted(encoded, "body");
        let mark = style.paint(Emphasis::Good, "✓");
        writeln!(out, "{mark} {}", terminal.fitted(&format!("{bodies} encoded again, identical to what was sent")))?;
    }
    if proofs.redacted > 0 {
        let (mark, redacted) = (style.paint(Emphasis::Warn, "?"), counted(proofs.redacted, "request"));
        let line = format!("{redacted} recorded redacted: secrets were replaced, and what was sent is not proved");
        writeln!(out, "{mark} {}", terminal.fitted(&line))?;
    }
    if !proofs.of_another_build.is_empty() {
        let bodies = counted(proofs.of_another_build.len() as u64, "body");
        writeln!(out, "{} {bodies} cannot be verified by this build", style.paint(Emphasis::Bad, "?"))?;
        for why in &proofs.of_another_build {
            writeln!(out, "{}", style.paint(Emphasis::Bad, &terminal.fitted(&format!("  {why}"))))?;
        }
    }
    if proofs.without_body > 0 {
        let without = counted(proofs.without_body, "request");
        terminal.remark(&format!("{without} without a recorded body"));
    }
    Ok(())
}

/// Draws texts that were given later, compared with what an export withholds. `None`: the export is damaged.
pub fn revealed(
    texts: Option<&Vec<(RevealedText, RevealOutcome)>>,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if texts.is_none() {
        terminal.remark("the revealed texts were not compared, as the export is damaged");
    }
    for (RevealedText { seq, place, .. }, outcome) in texts.into_iter().flatten() {
        let (emphasis, mark, what) = match outcome {
            RevealOutcome::Proved => (Emphasis::Good, "✓", "proved, this text is what the file withholds"),
            RevealOutcome::Differs => (Emphasis::Bad, "✗", "not proved, the file withholds another text"),
            RevealOutcome::NotWithheld => (Emphasis::Bad, "✗", "not proved, the file does not withhold it"),
            RevealOutcome::NoEvent => (Emphasis::Bad, "✗", "not proved, the file has no such event"),
        };
        writeln!(out, "{} event {seq} {place}: {what}", terminal.style.paint(emphasis, mark))?;
    }
    Ok(())
}
