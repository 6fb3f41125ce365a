//! `annals verify`

mod revealed;

use super::report::compare_page;
use super::signed::SignedArgs;
use crate::command_context::CommandContext;
use crate::draw::{signatures, verify as draw};
use crate::error::{CliError, EditError, Verdict};
use crate::json;
use crate::progress::Bar;
use annals_core::Digest;
use annals_import::TextFile;
use annals_inspect::prove::RequestProofs;
use annals_inspect::reader::Reader;
use annals_inspect::safety::with_subagents;
use annals_inspect::verified::{ComparedPage, ProvedRequests, VerifiedCopies, VerifiedLog};
use annals_store::exchange::verify::DamagePlace;
use annals_store::exchange::{Damage, Flaw, VerifyReport, verify_file, verify_session, verify_sessions, verify_store};
use revealed::RevealCheck;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
    /// Also verify the sub-agents of the session.
    #[arg(long, requires = "what", conflicts_with_all = ["head", "reveal"])]
    children: bool,
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
    let mut show = |progress: annals_store::exchange::Progress| bar.update(progress.done, progress.total);
    let mut requests = RequestCheck::default();
    let mut revealed = RevealCheck::default();
    let mut page = None;
    let (report, subject, signed) = match &args.what {
        None if args.project.is_some() => {
            let reader = cli.reader().await?;
            let (scope, catalogue) = (cli.named_project(args.project.as_deref()), reader.catalogue().await?);
            // A session that cannot be read has no entry; it is verified with the whole store.
            let directory = |session| catalogue.sessions.get(&session).map(|entry| entry.directory.as_str());
            let takes = |session| directory(session).is_some_and(|directory| scope.takes(directory));
            let report = verify_sessions(&**reader.log(), &takes, &mut show).await?;
            requests.prove(args, &reader, &report).await?;
            (report, "the project".to_owned(), None)
        }
        None => {
            let reader = cli.reader().await?;
            let report = verify_store(&**reader.log(), &mut show).await?.in_file(reader.damage());
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
            let mut file = TextFile::open_export(path).map_err(at)?;
            let report = match verify_file(&mut file, args.head, &mut show) {
                Err(error) if file.is_report() && error.kind() == io::ErrorKind::InvalidData => damaged_report(&error),
                verified => verified.map_err(at)?,
            };
            if file.is_report() && report.is_sound() {
                page = Some(compare_page(path).await?);
            }
            if let Some(texts) = &args.reveal {
                revealed = RevealCheck::compare(path, texts, report.is_sound())?;
            }
            if args.requests {
                let reader = cli.read_file(path).await?;
                requests.prove(args, &reader, &report).await?;
            }
            // The page is another thing that may be wrong.
            let subject = if page.is_some() { format!("the export in {what}") } else { what.clone() };
            (report, subject, None)
        }
        Some(_) if args.reveal.is_some() => return Err(CliError::RevealNeedsFile),
        Some(what) => {
            let (reader, session) = cli.find(what).await?;
            let report = match args.children {
                true => {
                    let all = with_subagents(&reader.catalogue().await?, session);
                    verify_sessions(&**reader.log(), &|id| all.contains(&id), &mut show).await?
                }
                false => verify_session(&**reader.log(), session, args.head, &mut show).await?,
            };
            let report = report.in_file(reader.damage());
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
            page: page.clone(),
        };
        // Members in alphabetical order, as every object that is printed.
        let value = serde_json::to_value(&answer).map_err(std::io::Error::from)?;
        json::object(out, &value)?;
    } else {
        let terminal = cli.terminal();
        draw::report(&report, &subject, args.head, &terminal, out)?;
        draw::copies(&copies, report.is_sound(), &terminal, out)?;
        if let Some(page) = &page {
            draw::page(page, &terminal, out)?;
        }
        revealed.draw(&terminal, out)?;
        if args.requests {
            draw::requests((!requests.damaged).then_some(&requests.proofs), args.wire, &terminal, out)?;
        }
        if let Some(signed) = &signed {
            signatures::signed(signed, &terminal, out)?;
        }
    }
    if let Some(pending) = cli.pending_erasure().await? {
        crate::erasing::show_pending(&pending, cli, out)?;
    }
    let proved = !args.requests || requests.proofs.are_sound();
    let continues = signed.is_none_or(|signed| signed.problems.is_empty());
    // Who changes a page can also change the version that it names.
    let is_shown = page.is_none_or(|page| page == ComparedPage::Same);
    Ok(Verdict::bad_if(!report.is_sound() || !proved || !continues || !revealed.are_proved() || !is_shown))
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
}
