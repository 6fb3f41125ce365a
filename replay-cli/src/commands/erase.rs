//! `annals erase` and `annals forget`

use crate::command_context::CommandContext;
use crate::erasing;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::matching;
use crate::style::counted;
use annals_core::SessionId;
use annals_host::erasing::{BegunErasure, ErasedLog, ErasedStore, who};
use annals_inspect::reader::Reader;
use annals_store::erasure::{self, EraseError, ErasureNote, ErasurePlan, ErasureScope};
use annals_store::exchange::{InvalidRule, WithholdRule, WithholdRules, matches_left};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Erase texts of a session from every copy, on the record.
///
/// The facts stay, and the session still verifies: a commitment takes the place of each text. The log says what was
/// erased, when, why and by whom (`texts.erased`), never what was searched for. Requests that contained an erased text
/// cannot be proved any more, and files captured for undo are removed. Copies outside the store (files that sessions
/// were imported from, exports, backups, the disk's own remains) are not reached.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Erase all texts of event N, or of events N to M. May be repeated.
    #[arg(long, value_name = "N|N-M", group = "what", value_parser = of_events)]
    seq: Vec<WithholdRule>,
    /// Erase the texts that REGEX matches; (?i) ignores case. May be repeated. The expression is not recorded.
    #[arg(long, value_name = "REGEX", group = "what", value_parser = of_matching)]
    matching: Vec<WithholdRule>,
    /// Erase all texts of the session.
    #[arg(long, group = "what", conflicts_with_all = ["seq", "matching"])]
    all: bool,
    #[command(flatten)]
    common: Common,
}

fn of_events(seqs: &str) -> Result<WithholdRule, InvalidRule> {
    format!("seq:{seqs}").parse()
}

fn of_matching(regex: &str) -> Result<WithholdRule, InvalidRule> {
    format!("text:{regex}").parse()
}

/// Erase all texts of a session and leave it out of lists.
///
/// The same as `annals erase SESSION --all`; lists of sessions do not show it any more. Its facts stay, and verify.
#[derive(Clone, Debug, clap::Args)]
pub struct ForgetArgs {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Debug, clap::Args)]
struct Common {
    /// Why: recorded in the log.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do it without asking.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Erase inherited texts too, in the sessions that wrote them.
    #[arg(long)]
    with_ancestors: bool,
    /// Erase large texts also in other sessions that hold the same ones.
    #[arg(long)]
    everywhere: bool,
    /// Remove recorded answers in this cassette whose requests contained an erased text. May be repeated.
    #[arg(long, value_name = "DIR")]
    cassette: Vec<PathBuf>,
}

/// Runs `erase`.
///
/// # Errors
/// When nothing is there to erase, another process uses the store, or the disk refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let rules = match args.all {
        true => WithholdRules::Only(Vec::new()),
        false => WithholdRules::Withhold(args.seq.iter().chain(&args.matching).cloned().collect()),
    };
    let patterns = args.matching.clone();
    Erasing { session: &args.session, rules, patterns, forgets: false, common: &args.common }.run(cli, out).await
}

/// Runs `forget`.
///
/// # Errors
/// As [`run`].
pub async fn run_forget(
    args: &ForgetArgs,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let rules = WithholdRules::Only(Vec::new());
    let erasing = Erasing { session: &args.session, rules, patterns: vec![], forgets: true, common: &args.common };
    erasing.run(cli, out).await
}

/// What is asked for.
struct Erasing<'a> {
    session: &'a str,
    rules: WithholdRules,
    patterns: Vec<WithholdRule>,
    forgets: bool,
    common: &'a Common,
}

impl Erasing<'_> {
    async fn run(self, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
        let store = ErasedStore { context: cli, cassettes: &self.common.cassette };
        erasing::check_confirmable(self.common.yes, cli)?;
        let log = store.open().await?;
        let earlier = store.finish_earlier(&log).await?;
        if let Some(earlier) = &earlier {
            erasing::remark_earlier(earlier, cli);
        }
        let begun = self.begin(&store, &log, cli).await;
        store.close(&log).await?;
        if let (Some(earlier), Err(CliError::Erase(EraseError::NoMatch { session, .. }))) = (&earlier, &begun)
            && earlier.sessions.contains(session)
        {
            return erasing::show_earlier(earlier, *session, cli, out);
        }
        let Some((session, begun)) = begun? else {
            cli.remark("nothing was erased");
            return Ok(Verdict::bad_if(true));
        };
        let Some(erased) = store.finish(&log, begun).await? else { return Ok(Verdict::bad_if(true)) };
        store.index_again().await;
        let left = match self.patterns.is_empty() {
            true => Vec::new(),
            false => matches_left(&**cli.reader().await?.log(), session, &self.patterns).await?,
        };
        match cli.style.json {
            true => {
                let mut answer = erased.to_json();
                answer.insert("session".to_owned(), session.to_string().into());
                answer.insert("still_matching".to_owned(), left.iter().map(|seq| seq.0).collect());
                json::object(out, &serde_json::Value::Object(answer))?;
            }
            false => {
                let (texts, batches) = (counted(erased.plan.texts, "text"), counted(erased.copies.batches, "batch"));
                writeln!(out, "erased {texts} of session {session}; {batches} rewritten, integrity unchanged")?;
                erasing::show(&erased, cli, out)?;
            }
        }
        matching::remark_left(&left, cli);
        Ok(Verdict::bad_if(!erased.unconfirmed.is_empty() || !left.is_empty()))
    }

    /// `None`: not confirmed.
    async fn begin(
        &self,
        store: &ErasedStore<'_>,
        log: &ErasedLog,
        cli: &CommandContext,
    ) -> Result<Option<(SessionId, BegunErasure)>, CliError> {
        let (session, plan) = self.plan(log, cli).await?;
        erasing::remark_reach(&plan, cli);
        if !erasing::confirmed(self.common.yes, &format!("Erase them from session {session}?"))? {
            return Ok(None);
        }
        let (reason, at, by) = (self.common.reason.clone(), cli.style.now, who(cli));
        let forgets = self.forgets.then_some(session);
        let note = ErasureNote { reason, reasons: BTreeMap::new(), by, at, forgets };
        let matches = |text: &str| self.patterns.iter().any(|pattern| pattern.matches_text(text));
        Ok(Some((session, store.begin(log, plan, &note, &matches).await?)))
    }

    async fn plan(&self, log: &ErasedLog, cli: &CommandContext) -> Result<(SessionId, ErasurePlan), CliError> {
        let log = log.log();
        let reader = Reader::new(log.clone(), None, cli.place.dir().to_owned());
        let session = cli.find_session(&reader, self.session).await?;
        if let Some(entry) = reader.catalogue().await?.sessions.get(&session) {
            cli.remark(&plain(&format!("session {session}: \"{}\" of {}", entry.title, entry.directory)));
        }
        let Common { with_ancestors, everywhere, .. } = *self.common;
        let plan = erasure::plan(&*log, session, &self.rules, ErasureScope { with_ancestors, everywhere }).await?;
        Ok((session, plan))
    }
}
