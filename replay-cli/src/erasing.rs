//! The steps that `annals erase` and `annals retention` share (`docs/reference/erasure.md`).

use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::layout::plain;
use crate::progress::Bar;
use crate::style::counted;
use annals_providers::cassette::erase_answers;
use annals_runtime::host::ThisProcess;
use annals_runtime::ports::{Ids, SeededIds, StorePath};
use annals_store::disk::{CollectError, ErasedCopies, Tuning};
use annals_store::erasure::{self, ErasureNote, ErasurePlan, RecordErasureError};
use annals_store::ipc::RemoteLog;
use annals_store::{DiskLog, EventLog, OpenError, OpenMode, SharedError};
use annals_tools::erase::{ErasedFiles, ErasedTexts};
use serde_json::{Map, Value, json};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A store that texts are erased from.
pub struct ErasedStore<'a> {
    pub cli: &'a CommandContext,
    /// Whether it is done without a question.
    pub yes: bool,
    /// Cassettes whose answers go too.
    pub cassettes: &'a [PathBuf],
}

/// An erasure whose texts are removed next.
pub struct BegunErasure {
    plan: ErasurePlan,
    files: ErasedFiles,
    originals: u64,
    answers: u64,
    /// What was recorded is removed, also when recording ended early.
    recorded: Result<(), RecordErasureError>,
}

/// An erasure that is done.
pub struct FinishedErasure {
    pub plan: ErasurePlan,
    pub copies: ErasedCopies,
    files: ErasedFiles,
    originals: u64,
    answers: u64,
}

/// Who erases: `user@host`.
pub fn who(cli: &CommandContext) -> String {
    let ThisProcess { user, host, .. } = cli.this_process();
    let known = |name: Option<String>| name.unwrap_or_else(|| "unknown".to_owned());
    format!("{}@{}", known(user), known(host))
}

/// Says what is about to be erased, and what that reaches.
pub fn tell_reach(plan: &ErasurePlan, cli: &CommandContext) {
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
}

impl ErasedStore<'_> {
    /// Whether it can be confirmed.
    ///
    /// # Errors
    /// [`CliError::NotConfirmed`] when there is no terminal to ask on and `--yes` is missing.
    pub fn check_confirmable(&self) -> Result<(), CliError> {
        let person = std::io::stdin().is_terminal() && self.cli.shows_progress();
        if self.yes || person { Ok(()) } else { Err(CliError::NotConfirmed) }
    }

    /// Asks, unless it is confirmed already.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn confirmed(&self, question: &str) -> Result<bool, CliError> {
        if self.yes {
            return Ok(true);
        }
        let mut stderr = std::io::stderr();
        let asked = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        let mut line = String::new();
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        read.map_err(CliError::Output)?;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    }

    /// Opens the store. Every copy is written again: no other process may use it meanwhile.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be opened.
    pub async fn open(&self) -> Result<Arc<DiskLog>, CliError> {
        let dir = self.cli.place.dir().to_owned();
        if RemoteLog::connect(&dir).await.is_ok() {
            return Err(SharedError::from(OpenError::Locked { dir }).into());
        }
        let (log, report) = DiskLog::open(&dir, OpenMode::Existing).map_err(SharedError::from)?;
        self.cli.tell(&report);
        Ok(Arc::new(log))
    }

    /// Closes it.
    ///
    /// # Errors
    /// When it cannot be left in order.
    pub async fn close(&self, log: Arc<DiskLog>) -> Result<(), CliError> {
        log.close().await.map_err(|source| CliError::File { path: self.cli.place.dir().to_owned(), source })
    }

    /// Makes the index again, which was removed with the other copies: by opening the store, which is done when it is closed.
    pub async fn index_again(&self) {
        if let Err(error) = self.cli.store(OpenMode::Existing).await {
            tracing::debug!(%error, "the index is made again by the next command that writes");
        }
    }

    /// Removes the copies outside the log, then records the erasure. In this order: once the log says that the texts are erased, no
    /// copy is left that only this process knows of; before, the same command finds everything again. `matches`: what would have been
    /// erased, for texts that the log never held whole.
    ///
    /// # Errors
    /// When a copy cannot be removed: then nothing was recorded.
    pub async fn begin(
        &self,
        log: &DiskLog,
        plan: ErasurePlan,
        note: &ErasureNote,
        matches: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<BegunErasure, CliError> {
        let (ids, dir) = (SeededIds::from_entropy()?, self.cli.place.dir());
        let (outputs, directories) = (&plan.outputs, &plan.directories);
        let texts = ErasedTexts { texts: &plan.erased, matches: &|text| matches(text), outputs, directories };
        let removed = texts.remove_copies(&StorePath::from(dir));
        let files = removed.map_err(|source| CliError::File { path: dir.to_owned(), source })?;
        let originals = self.remove_originals(log, &texts)?;
        let mut answers = 0;
        for folder in self.cassettes {
            let removed = erase_answers(folder, &plan.requests);
            answers += removed.map_err(|source| CliError::File { path: folder.clone(), source })?;
        }
        let recorded = erasure::record(log, &plan, note, &|| ids.session_key()).await;
        Ok(BegunErasure { plan, files, originals, answers, recorded })
    }

    /// Removes the records that `import --keep-originals` kept, if they hold a text; no event names them. Gives how many.
    fn remove_originals(&self, log: &DiskLog, texts: &ErasedTexts<'_>) -> Result<u64, CliError> {
        let mut unnamed = match log.garbage(Duration::ZERO, |_, _| {}) {
            Err(CollectError::Damaged) => {
                self.cli
                    .remark("the store is damaged: originals that an import kept were not searched (annals doctor)");
                return Ok(0);
            }
            unnamed => unnamed?,
        };
        let blobs = log.blobs();
        unnamed.blobs.retain(|(hash, _)| blobs.text(hash).is_none_or(|record| texts.are_in(&record)));
        Ok(log.collect(&unnamed, Duration::ZERO)?.files)
    }

    /// Removes the texts from every copy of the log; the store is closed. `None` when they are still there, which was said.
    ///
    /// # Errors
    /// When the erasure was not recorded whole, or the disk refuses.
    pub fn finish(&self, begun: BegunErasure) -> Result<Option<FinishedErasure>, CliError> {
        let BegunErasure { plan, files, originals, answers, recorded } = begun;
        let bar = Bar::new(self.cli.shows_progress(), "erasing");
        let progress = |done: usize, total: usize| bar.tell(done as u64, Some(total as u64));
        let finished = DiskLog::finish_erasure(self.cli.place.dir(), Tuning::default(), &progress);
        let report = finished.map_err(SharedError::from)?;
        bar.clear();
        self.cli.tell(&report);
        recorded?;
        Ok(report.erased.map(|copies| FinishedErasure { plan, copies, files, originals, answers }))
    }
}

impl FinishedErasure {
    /// What was erased, for programs.
    pub fn to_json(&self) -> Map<String, Value> {
        let Self { plan, copies, files, originals, answers } = self;
        let shared: Vec<_> = copies.shared.values().flatten().collect();
        let answer = json!({
            "texts": plan.texts, "chars": plan.chars, "hashes": plan.hashes,
            "sessions": plan.what.keys().collect::<Vec<_>>(), "batches": copies.batches, "segments": copies.segments,
            "blobs": copies.blobs, "blobs_kept_for": shared, "outputs": files.outputs, "captures": files.captures,
            "lines": files.lines, "originals": originals, "answers": answers, "unknown_directories": files.unknown,
        });
        match answer {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Shows which copies were removed, and which stay.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn show(&self, cli: &CommandContext, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { copies, files, originals, answers, .. } = self;
        let counts = [
            ("blobs", copies.blobs),
            ("tool output files", files.outputs),
            ("repositories of captured files", files.captures),
            ("lines of the chat history", files.lines),
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
}
