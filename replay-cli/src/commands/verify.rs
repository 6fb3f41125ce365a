//! `annals verify`

mod revealed;

use super::signed::{self, SignedArgs};
use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::progress::Bar;
use crate::style::{Emphasis, counted};
use annals_core::Digest;
use annals_import::TextFile;
use annals_inspect::prove::RequestProofs;
use annals_inspect::reader::Reader;
use annals_inspect::verified::{ProvedRequests, VerifiedCopies, VerifiedLog};
use annals_store::exchange::verify::{DamagePlace, KeptDigest};
use annals_store::exchange::{Damage, Flaw, VerifyReport, verify_file, verify_session, verify_sessions, verify_store};
use revealed::RevealCheck;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many anomalies are listed.
const ANOMALIES: usize = 3;

/// Verify that nothing was altered: digests, chain, blobs.
///
/// Without WHAT, verifies the whole store, or with --project the sessions of a project. Someone who can rewrite the log can also compute new digests: to exclude
/// that, compare with a head digest that you kept elsewhere (--head).
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A session, or an exported file (default: the whole store).
    #[arg(value_name = "WHAT")]
    what: Option<String>,
    /// Only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".", conflicts_with_all = ["what", "signed"])]
    project: Option<String>,
    /// A digest that you kept elsewhere; fail if the log does not contain it.
    #[arg(long, value_name = "DIGEST", requires = "what")]
    head: Option<Digest>,
    /// Also rebuild every request and compare its digest; fail if there is none.
    #[arg(long)]
    requests: bool,
    /// Also encode every request again and compare the bytes that were sent.
    #[arg(long, requires = "requests")]
    wire: bool,
    /// Prove that the texts in this file are what the export withholds (see annals export --reveal).
    #[arg(long, value_name = "FILE", requires = "what", conflicts_with = "requests")]
    reveal: Option<PathBuf>,
    #[command(flatten)]
    signatures: SignedArgs,
}

/// Runs the command.
///
/// # Errors
/// When there is no such session or file, or the store refuses. Damage is an answer, not an error.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(proof) = args.signatures.proof() {
        return args.signatures.verify_proof(proof, args.what.as_deref(), cli, out).await;
    }
    let bar = Bar::new(cli.shows_progress(), "verifying");
    let mut tell = |progress: annals_store::exchange::Progress| bar.tell(progress.done, progress.total);
    let mut requests = RequestCheck::default();
    let mut revealed = RevealCheck::default();
    let (report, subject, signed) = match &args.what {
        None if args.project.is_some() => {
            let reader = cli.reader().await?;
            let (scope, catalogue) = (cli.named_project(args.project.as_deref()), reader.catalogue().await?);
            // A session that cannot be read has no entry; it is verified with the whole store.
            let directory = |session| catalogue.sessions.get(&session).map(|entry| entry.directory.as_str());
            let takes = |session| directory(session).is_some_and(|directory| scope.takes(directory));
            let report = verify_sessions(&**reader.log(), &takes, &mut tell).await?;
            requests.prove(args, &reader, &report).await?;
            (report, "the project".to_owned(), None)
        }
        None => {
            let reader = cli.reader().await?;
            let report = verify_store(&**reader.log(), &mut tell).await?;
            requests.prove(args, &reader, &report).await?;
            let signed = args.signatures.compare(cli, &reader, None).await?;
            (report, "the store".to_owned(), signed)
        }
        Some(what) if cli.file.is_none() && Path::new(what).is_file() => {
            let path = Path::new(what);
            if args.signatures.signed {
                return Err(EditError::OnlyInTheStore { file: path.to_owned() }.into());
            }
            let at = |source| CliError::File { path: path.to_owned(), source };
            let mut file = TextFile::open(path).map_err(at)?;
            let report = match verify_file(&mut file, args.head, &mut tell) {
                Err(error) if file.is_report() && error.kind() == io::ErrorKind::InvalidData => damaged_report(&error),
                verified => verified.map_err(at)?,
            };
            if let Some(texts) = &args.reveal {
                revealed = RevealCheck::compare(path, texts, report.is_sound())?;
            }
            if args.requests {
                let reader = cli.read_file(path).await?;
                requests.prove(args, &reader, &report).await?;
            }
            (report, what.clone(), None)
        }
        Some(_) if args.reveal.is_some() => return Err(CliError::RevealNeedsFile),
        Some(what) => {
            let (reader, session) = cli.find(what).await?;
            let report = verify_session(&**reader.log(), session, args.head, &mut tell).await?;
            requests.prove(args, &reader, &report).await?;
            let signed = args.signatures.compare(cli, &reader, Some(session)).await?;
            (report, format!("session {session}"), signed)
        }
    };
    let copies = if args.what.is_none() && args.project.is_none() {
        compared_copies(cli).await?
    } else {
        VerifiedCopies { damaged: cli.damage_met() as u64, second_copy_unchecked: None }
    };
    bar.clear();
    if cli.style.json {
        let answer = VerifiedLog {
            report: report.clone(),
            copies: copies.clone(),
            requests: args.requests.then(|| requests.answer(args.wire)),
            revealed: revealed.answer(),
            signed: signed.clone(),
        };
        // Members in alphabetical order, as every object that is printed.
        let value = serde_json::to_value(&answer).map_err(std::io::Error::from)?;
        json::object(out, &value)?;
    } else {
        draw(&report, &subject, args.head, cli, out)?;
        draw_copies(&copies, report.is_sound(), cli, out)?;
        revealed.draw(cli, out)?;
        if args.requests {
            requests.draw(args.wire, cli, out)?;
        }
        if let Some(signed) = &signed {
            signed::draw(signed, cli, out)?;
        }
    }
    if let Some(pending) = cli.pending_erasure().await? {
        crate::erasing::show_pending(&pending, cli, out)?;
    }
    let proved = !args.requests || requests.proofs.are_sound();
    let continues = signed.is_none_or(|signed| signed.problems.is_empty());
    Ok(Verdict::bad_if(!report.is_sound() || !proved || !continues || !revealed.are_proved()))
}

/// The export in a report does not decode: its bytes were changed, or the file was cut short.
fn damaged_report(error: &io::Error) -> VerifyReport {
    let damage = Damage { place: DamagePlace::default(), flaw: Flaw::Unreadable { reason: error.to_string() } };
    VerifyReport { damage: vec![damage], ..VerifyReport::default() }
}

/// Compares both copies of the store.
async fn compared_copies(cli: &CommandContext) -> Result<VerifiedCopies, CliError> {
    // A cluster compares its copies itself.
    if cli.file.is_some() || cli.place.is_in_cluster() {
        return Ok(VerifiedCopies::default());
    }
    Ok(match cli.examine().await? {
        Some(examination) => {
            let one_copy = examination.findings.iter().filter(|finding| finding.copy().is_some());
            VerifiedCopies { damaged: one_copy.count() as u64, second_copy_unchecked: examination.unchecked }
        }
        None => {
            let reason = "another process owns the store".to_owned();
            VerifiedCopies { damaged: 0, second_copy_unchecked: Some(reason) }
        }
    })
}

/// The answer holds when one of the copies serves.
fn draw_copies(
    copies: &VerifiedCopies,
    sound: bool,
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if copies.damaged > 0 && sound {
        let places = counted(copies.damaged, "place");
        let line = cli.fitted(&format!("  integrity verified, but one copy is damaged in {places}: annals doctor"));
        writeln!(out, "{}", cli.style.paint(Emphasis::Warn, &line))?;
    }
    if let Some(reason) = &copies.second_copy_unchecked {
        cli.remark(&format!("the second copy (sled) was not checked: {reason}"));
    }
    Ok(())
}

/// What rebuilding the requests gave.
#[derive(Default)]
struct RequestCheck {
    /// Whether the log is damaged, so that nothing was rebuilt.
    damaged: bool,
    proofs: RequestProofs,
}

impl RequestCheck {
    async fn prove(&mut self, args: &Args, reader: &Reader, report: &VerifyReport) -> Result<(), CliError> {
        if !args.requests {
            return Ok(());
        }
        self.damaged = !report.is_sound();
        for proven in report.sessions.iter().filter(|_| !self.damaged) {
            self.proofs.add(&reader.session_at(proven.session, proven.next), args.wire).await?;
        }
        Ok(())
    }

    /// Nothing when nothing was rebuilt.
    fn answer(&self, wire: bool) -> Option<ProvedRequests> {
        let proved = (!self.damaged).then(|| ProvedRequests::from(&self.proofs))?;
        Some(if wire { proved.with_bodies(&self.proofs) } else { proved })
    }

    fn draw(&self, wire: bool, cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
        let style = &cli.style;
        if self.damaged {
            cli.remark("requests were not verified, as the log is damaged");
            return Ok(());
        }
        if self.proofs.count == 0 {
            let mark = style.paint(Emphasis::Bad, "✗");
            writeln!(out, "{mark} no request is recorded, so none can be verified")?;
            cli.remark("other agents do not record their requests; an imported session has none");
        } else if self.proofs.flaws.is_empty() {
            if self.proofs.provable() > 0 {
                let (mark, count) = (style.paint(Emphasis::Good, "✓"), counted(self.proofs.provable(), "request"));
                writeln!(out, "{mark} {count} rebuilt from the log, digests verified")?;
            }
        } else {
            let count = counted(self.proofs.count, "request");
            writeln!(out, "{} {} of {count} not verified", style.paint(Emphasis::Bad, "✗"), self.proofs.flaws.len())?;
            for flaw in &self.proofs.flaws {
                writeln!(out, "{}", style.paint(Emphasis::Bad, &cli.fitted(&format!("  {flaw}"))))?;
            }
        }
        if !self.proofs.withheld.is_empty() {
            let requests = counted(self.proofs.withheld.len() as u64, "request");
            let mark = style.paint(Emphasis::Warn, "?");
            writeln!(out, "{mark} {requests} cannot be verified: parts are withheld")?;
            for request in &self.proofs.withheld {
                writeln!(out, "  {request}")?;
            }
        }
        if wire {
            self.draw_bodies(cli, out)?;
        }
        Ok(())
    }

    fn draw_bodies(&self, cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
        let style = &cli.style;
        if self.proofs.recorded > 0 {
            let recorded = counted(self.proofs.recorded, "request");
            writeln!(out, "{} {recorded} proved byte for byte", style.paint(Emphasis::Good, "✓"))?;
        }
        if let encoded @ 1.. = self.proofs.bodies - self.proofs.recorded {
            let bodies = counted(encoded, "body");
            let mark = style.paint(Emphasis::Good, "✓");
            writeln!(out, "{mark} {}", cli.fitted(&format!("{bodies} encoded again, identical to what was sent")))?;
        }
        if self.proofs.redacted > 0 {
            let (mark, redacted) = (style.paint(Emphasis::Warn, "?"), counted(self.proofs.redacted, "request"));
            let told = format!("{redacted} recorded redacted; the digest of what was sent is kept");
            writeln!(out, "{mark} {}", cli.fitted(&told))?;
        }
        if !self.proofs.of_another_build.is_empty() {
            let bodies = counted(self.proofs.of_another_build.len() as u64, "body");
            writeln!(out, "{} {bodies} cannot be verified by this build", style.paint(Emphasis::Bad, "?"))?;
            for why in &self.proofs.of_another_build {
                writeln!(out, "{}", style.paint(Emphasis::Bad, &cli.fitted(&format!("  {why}"))))?;
            }
        }
        if self.proofs.without_body > 0 {
            let without = counted(self.proofs.without_body, "request");
            cli.remark(&format!("{without} without a recorded body"));
        }
        Ok(())
    }
}

fn draw(
    report: &VerifyReport,
    subject: &str,
    head: Option<Digest>,
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let style = &cli.style;
    let facts = [(report.sessions.len() as u64, "session"), (report.events, "event"), (report.blobs, "blob")];
    let facts = facts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    let facts: Vec<String> = facts.collect();
    if report.is_sound() {
        let told = cli.fitted(&format!("✓ {subject}: {}, integrity verified", facts.join(", ")));
        writeln!(out, "{}{}", style.paint(Emphasis::Good, "✓"), told.trim_start_matches('✓'))?;
    } else {
        let count = report.damage.len() as u64 + report.more;
        let within = if facts.is_empty() { String::new() } else { format!(" in {}", facts.join(", ")) };
        let places = counted(count, "damaged place");
        let told = cli.fitted(&format!("✗ {subject}: {places}{within}"));
        writeln!(out, "{}{}", style.paint(Emphasis::Bad, "✗"), told.trim_start_matches('✗'))?;
        for damage in &report.damage {
            let told = if Path::new(subject).is_file() { damage.in_file(subject) } else { damage.to_string() };
            writeln!(out, "{}", style.paint(Emphasis::Bad, &cli.fitted(&format!("  {told}"))))?;
        }
        if report.more > 0 {
            writeln!(out, "  … and {} more", report.more)?;
        }
    }
    if let Some(texts) = report.withheld.filter(|_| report.is_sound()) {
        let told = format!("  {texts}; everything else and the order of all facts proved");
        writeln!(out, "{}", cli.fitted(&told))?;
    }
    for erasure in report.erasures.iter().take(ANOMALIES) {
        writeln!(out, "{}", cli.fitted(&format!("  {}", plain(&erasure.to_string()))))?;
    }
    if let more @ 1.. = report.erasures.len().saturating_sub(ANOMALIES) {
        writeln!(out, "  … and {more} more erasures")?;
    }
    for anomaly in report.anomalies.iter().take(ANOMALIES) {
        let told = cli.fitted(&format!("  unusual, but not damaged: {anomaly}"));
        writeln!(out, "{}", style.paint(Emphasis::Warn, &told))?;
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
    match (report.kept, head) {
        (Some(KeptDigest::Head), _) => {
            writeln!(out, "  {}", style.paint(Emphasis::Good, "matches the digest that you kept"))?;
        }
        (Some(KeptDigest::Before(seq)), _) => {
            let told =
                format!("  the digest that you kept is the head before event {seq}; the session has grown since");
            writeln!(out, "{}", cli.fitted(&told))?;
        }
        (Some(KeptDigest::Missing), _) => {
            writeln!(out, "  {}", style.paint(Emphasis::Bad, "the digest that you kept is not in this log"))?;
        }
        (None, _) if report.is_sound() && head.is_none() && report.sessions.len() == 1 => {
            cli.remark(
                "keep the digest elsewhere; verifying with --head DIGEST then proves that nothing was rewritten",
            );
        }
        (None, _) => {}
    }
    Ok(())
}
