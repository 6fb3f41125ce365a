//! `annals erase` and `annals forget`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::progress::Bar;
use crate::style::counted;
use annals_core::SessionId;
use annals_inspect::reader::Reader;
use annals_providers::cassette::erase_answers;
use annals_runtime::host::ThisProcess;
use annals_runtime::ports::{Ids, SeededIds, StorePath};
use annals_store::disk::{ErasedCopies, Tuning};
use annals_store::erasure::{self, ErasureNote, ErasurePlan, ErasureScope};
use annals_store::exchange::{InvalidRule, WithholdRule, WithholdRules};
use annals_store::ipc::RemoteLog;
use annals_store::{DiskLog, OpenError, OpenMode, SharedError};
use annals_tools::erase::{ErasedFiles, ErasedTexts};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

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
        let person = std::io::stdin().is_terminal() && cli.shows_progress();
        if !self.common.yes && !person {
            return Err(CliError::NotConfirmed);
        }
        let dir = cli.place.dir().to_owned();
        // Every copy is written again: no other process may use the store meanwhile.
        if RemoteLog::connect(&dir).await.is_ok() {
            return Err(SharedError::from(OpenError::Locked { dir }).into());
        }
        let (log, report) = DiskLog::open(&dir, OpenMode::Existing).map_err(SharedError::from)?;
        cli.tell(&report);
        let log = Arc::new(log);
        let planned = self.plan(&log, cli).await;
        let recorded = match planned {
            Ok((session, plan)) if self.confirmed(session, &plan, cli)? => {
                let note = self.note(session, cli).await;
                let ids = SeededIds::from_entropy()?;
                Some(erasure::record(&log, &plan, &note, &|| ids.session_key()).await.map(|()| (session, plan)))
            }
            Ok(_) => None,
            Err(error) => {
                log.close().await.map_err(|source| CliError::File { path: dir, source })?;
                return Err(error);
            }
        };
        log.close().await.map_err(|source| CliError::File { path: dir.clone(), source })?;
        drop(log);
        let Some(recorded) = recorded else {
            cli.remark("nothing was erased");
            return Ok(Verdict::bad_if(true));
        };
        // What was recorded is removed, also when recording ended early.
        let bar = Bar::new(cli.shows_progress(), "erasing");
        let progress = |done: usize, total: usize| bar.tell(done as u64, Some(total as u64));
        let report = DiskLog::finish_erasure(&dir, Tuning::default(), &progress).map_err(SharedError::from)?;
        bar.clear();
        cli.tell(&report);
        let (session, plan) = recorded?;
        let Some(copies) = report.erased else { return Ok(Verdict::bad_if(true)) };
        let matches = |text: &str| self.patterns.iter().any(|pattern| pattern.matches_text(text));
        let (outputs, directories) = (&plan.outputs, &plan.directories);
        let texts = ErasedTexts { texts: &plan.erased, matches: &matches, outputs, directories };
        let removed = texts.remove_copies(&StorePath::from(dir.as_path()));
        let files = removed.map_err(|source| CliError::File { path: dir, source })?;
        let mut answers = 0;
        for folder in &self.common.cassette {
            let removed = erase_answers(folder, &plan.requests);
            answers += removed.map_err(|source| CliError::File { path: folder.clone(), source })?;
        }
        Erased { session, plan: &plan, copies, files, answers }.show(cli, out)?;
        Ok(Verdict::Fine)
    }

    async fn plan(&self, log: &Arc<DiskLog>, cli: &CommandContext) -> Result<(SessionId, ErasurePlan), CliError> {
        let reader = Reader::new(log.clone(), None, cli.place.dir().to_owned());
        let session = reader.find(self.session).await?;
        let Common { with_ancestors, everywhere, .. } = *self.common;
        let plan = erasure::plan(&**log, session, &self.rules, ErasureScope { with_ancestors, everywhere }).await?;
        Ok((session, plan))
    }

    async fn note(&self, session: SessionId, cli: &CommandContext) -> ErasureNote {
        let ThisProcess { user, host, .. } = cli.this_process();
        let known = |name: Option<String>| name.unwrap_or_else(|| "unknown".to_owned());
        let by = format!("{}@{}", known(user), known(host));
        let (reason, at) = (self.common.reason.clone(), cli.style.now);
        ErasureNote { reason, by, at, forgets: self.forgets.then_some(session) }
    }

    /// Says what is about to be erased, and asks on a terminal.
    fn confirmed(&self, session: SessionId, plan: &ErasurePlan, cli: &CommandContext) -> Result<bool, CliError> {
        let (texts, chars) = (counted(plan.texts, "text"), counted(plan.chars, "character"));
        let of = counted(plan.what.len() as u64, "session");
        cli.remark(&format!("to erase: {texts} ({chars}) of {of}; this cannot be undone"));
        if plan.hashes > 0 {
            let requests = counted(plan.requests.len() as u64, "request");
            cli.remark(&format!("with them {}: {requests} cannot be proved any more", counted(plan.hashes, "hash")));
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
        if self.common.yes {
            return Ok(true);
        }
        let mut stderr = std::io::stderr();
        let asked = write!(stderr, "Erase them from session {session}? [y/N] ").and_then(|()| stderr.flush());
        let mut line = String::new();
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        read.map_err(CliError::Output)?;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    }
}

/// What was done.
struct Erased<'a> {
    session: SessionId,
    plan: &'a ErasurePlan,
    copies: ErasedCopies,
    files: ErasedFiles,
    answers: u64,
}

impl Erased<'_> {
    fn show(&self, cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
        let Self { session, plan, copies, files, answers } = self;
        let shared: Vec<_> = copies.shared.values().flatten().collect();
        if cli.style.json {
            let answer = serde_json::json!({
                "session": session, "texts": plan.texts, "chars": plan.chars, "hashes": plan.hashes,
                "sessions": plan.what.keys().collect::<Vec<_>>(), "batches": copies.batches, "segments": copies.segments,
                "blobs": copies.blobs, "blobs_kept_for": shared, "outputs": files.outputs, "captures": files.captures,
                "lines": files.lines, "answers": answers, "unknown_directories": files.unknown,
            });
            return Ok(json::object(out, &answer)?);
        }
        let texts = counted(plan.texts, "text");
        let batches = counted(copies.batches, "batch");
        writeln!(out, "erased {texts} of session {session}; {batches} rewritten, integrity unchanged")?;
        let counts = [
            ("blobs", copies.blobs),
            ("tool output files", files.outputs),
            ("repositories of captured files", files.captures),
            ("lines of the chat history", files.lines),
            ("cassette files", *answers),
            ("files that were set aside", copies.set_aside),
        ];
        for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            writeln!(out, "{what} removed: {count}")?;
        }
        for session in shared {
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
}
