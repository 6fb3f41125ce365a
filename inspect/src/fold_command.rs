//! Views that any program folds: it reads the events of a session, one per line, and what it prints is the view.
//!
//! A line is an item of the view `events`: `{seq, at, type, ...}` with every text whole. `docs/questions/fold.md`.

use super::{AskError, SessionAt};
use annals_core::event::InputEvent;
use annals_core::{Event, Record, Seq};
use annals_projections::ToJson;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A program that folds events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldCommand {
    words: Vec<String>,
}

/// What the program printed for the events up to a place: the view there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramView {
    /// The first event that it did not read.
    pub until: Seq,
    /// What it printed.
    pub printed: Vec<u8>,
    /// How it ended.
    pub status: u8,
}

/// A view in JSON: what the program printed, as JSON if it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramViewJson {
    /// The session.
    pub session: annals_core::SessionId,
    /// The last event that the program read; `null` if there was none.
    pub at: Option<Seq>,
    /// What it printed: the value if that is JSON, otherwise the text.
    pub view: Value,
    /// Its exit status.
    pub status: u8,
}

/// Where a view is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldEvery {
    /// Before each user message that follows an answer, and at the end.
    Turn,
    /// After each batch.
    Cut,
}

impl FoldCommand {
    /// A program and its arguments.
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// A line that `sh` runs.
    pub fn shell(line: &str) -> Self {
        Self { words: vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()] }
    }

    /// Runs it over the events of a session before `until`. The variables `ANNALS_SESSION` and `ANNALS_AT` name the session and the last
    /// event; what it writes to stderr is not part of the view.
    ///
    /// # Errors
    /// When it cannot be started or a signal ends it, or the log cannot be read.
    pub async fn view(&self, past: &SessionAt, until: Seq) -> Result<ProgramView, AskError> {
        let until = until.min(past.until);
        let mut child = self.start(past, until)?;
        // It may print more than a pipe takes before it has read everything.
        let printed = child.stdout.take().map(|mut stdout| {
            std::thread::spawn(move || {
                let mut printed = Vec::new();
                stdout.read_to_end(&mut printed).map(|_| printed)
            })
        });
        if let Some(stdin) = child.stdin.take() {
            self.feed(past, until, stdin).await?;
        }
        let printed = printed.map_or(Ok(Vec::new()), |reader| {
            reader.join().unwrap_or_else(|_| Err(io::Error::other("its output was not read")))
        });
        let printed = printed.map_err(|error| self.failed(format!("could not be read from: {error}")))?;
        let status = child.wait().map_err(|error| self.failed(format!("could not be waited for: {error}")))?;
        let status = status.code().and_then(|code| u8::try_from(code).ok());
        let status = status.ok_or_else(|| self.failed("was ended by a signal".to_owned()))?;
        Ok(ProgramView { until, printed, status })
    }

    /// The view, of a program that must succeed.
    ///
    /// # Errors
    /// Also when its exit status is not 0.
    pub async fn succeeds(&self, past: &SessionAt, until: Seq) -> Result<ProgramView, AskError> {
        let view = self.view(past, until).await?;
        match view.status {
            0 => Ok(view),
            status => {
                let at = view.until.0.saturating_sub(1);
                Err(self.failed(format!("failed for the events up to {at} (exit status {status})")))
            }
        }
    }

    fn start(&self, past: &SessionAt, until: Seq) -> Result<Child, AskError> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| self.failed("names no program".to_owned()))?;
        Command::new(program)
            .args(arguments)
            .env("ANNALS_SESSION", past.session.to_string())
            .env("ANNALS_AT", until.0.checked_sub(1).map(|at| at.to_string()).unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| self.failed(format!("could not be started: {error}")))
    }

    async fn feed(&self, past: &SessionAt, until: Seq, stdin: ChildStdin) -> Result<(), AskError> {
        let mut stdin = io::BufWriter::new(stdin);
        let mut pages = past.log().pages(past.session, Seq::ZERO..until);
        let fed = loop {
            let Some(slice) = pages.next_slice().await? else { break stdin.flush() };
            let written = slice.records().try_for_each(|record| {
                serde_json::to_writer(&mut stdin, &record.to_json(past.blobs()))?;
                stdin.write_all(b"\n")
            });
            if written.is_err() {
                break written;
            }
        };
        match fed {
            // A program may know enough before it has read all.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(self.failed(format!("could not read the events: {error}")))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn failed(&self, outcome: String) -> AskError {
        AskError::Judge { command: self.words.join(" "), outcome }
    }
}

impl ProgramView {
    /// Its output as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed).into_owned()
    }

    /// What it printed: the value if that is JSON, otherwise the text.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.printed).unwrap_or_else(|_| Value::String(self.text()))
    }

    /// The view in JSON.
    pub fn to_json(&self, past: &SessionAt) -> ProgramViewJson {
        let at = self.until.0.checked_sub(1).map(Seq);
        ProgramViewJson { session: past.session, at, view: self.value(), status: self.status }
    }
}

impl FoldEvery {
    /// The cuts of a session at which views are taken, in order; the last one is the end.
    pub async fn cuts(self, past: &SessionAt) -> Result<Vec<Seq>, AskError> {
        let mut cuts = Vec::new();
        let mut answered = false;
        let mut pages = past.log().pages(past.session, Seq::ZERO..past.until);
        while let Some(slice) = pages.next_slice().await? {
            let records: Vec<Record<'_>> = slice.records().collect();
            match self {
                Self::Cut => cuts.push(slice.until),
                Self::Turn => {
                    let joins = |record: &&Record<'_>| matches!(record.event, Event::Input(InputEvent::Promoted(_)));
                    if let Some(first) = records.iter().find(joins).and(records.first())
                        && std::mem::take(&mut answered)
                    {
                        cuts.push(first.seq);
                    }
                    answered |= records.iter().any(|record| matches!(record.event, Event::Step(_)));
                }
            }
        }
        if cuts.last() != Some(&past.until) {
            cuts.push(past.until);
        }
        Ok(cuts)
    }
}
