//! A transcript as a file: what is around it, and what its lines say that concerns no single branch.

use super::related::RelatedTranscripts;
use super::requests::RequestLog;
use crate::foreign::{JsonObject, Notes, moment};
use crate::lines::LineReader;
use crate::sink::{ImportSink, ReadSourceError};
use crate::text::TextFile;
use annals_core::{CallId, Json, SessionId};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A transcript that is read.
pub(super) struct TranscriptFile {
    paths: Vec<PathBuf>,
    pub(super) related: RelatedTranscripts,
    pub(super) requests: RequestLog,
    /// What an earlier import kept of outputs whose files are gone.
    outputs: HashMap<SessionId, HashMap<CallId, Json>>,
}

impl TranscriptFile {
    /// Of the files of a session.
    pub(super) fn of(paths: Vec<PathBuf>) -> Self {
        Self {
            requests: RequestLog::of(&paths),
            related: RelatedTranscripts::of(paths.clone()),
            paths,
            outputs: HashMap::new(),
        }
    }

    /// Whether a line of the transcript has an id.
    pub(super) fn has_line(&self, uuid: &str) -> bool {
        self.paths.iter().any(|path| has_line(path, uuid))
    }

    /// What an earlier import kept of a session's outputs, by call.
    pub(super) fn kept_outputs(&mut self, sink: &ImportSink<'_>, session: SessionId) -> &HashMap<CallId, Json> {
        self.outputs.entry(session).or_insert_with(|| (sink.recall)(session).outputs)
    }
}

/// Whether a file has a line with an id.
pub(super) fn has_line(path: &Path, uuid: &str) -> bool {
    let wanted = format!("\"uuid\":\"{uuid}\"");
    any_line(path, |line| String::from_utf8_lossy(line).contains(&wanted))
}

/// Whether a file has such a line; of a long one only the first part is looked at.
pub(super) fn any_line(path: &Path, is_it: impl Fn(&[u8]) -> bool) -> bool {
    const START: u64 = 1 << 20;
    let Ok(file) = std::fs::File::open(path) else { return false };
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    loop {
        line.clear();
        match std::io::Read::take(&mut reader, START).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) if is_it(&line) => return true,
            Ok(_) => {}
        }
    }
}

/// The lines of the files of a session, by time: each file is continued while the session works in its folder.
pub(super) struct TranscriptLines(Vec<TimedLines>);

struct TimedLines {
    path: PathBuf,
    lines: LineReader<TextFile>,
    /// The next line, and its time (ms): that of the one before it where it has none.
    next: Option<(u64, String, u64)>,
    at: u64,
    is_begun: bool,
}

impl TranscriptLines {
    /// Of some files.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, ReadSourceError> {
        let part = |path: &PathBuf| {
            let io = |source| ReadSourceError::Io { path: path.clone(), source };
            let lines = LineReader::open(path).map_err(io)?;
            Ok(TimedLines { path: path.clone(), lines, next: None, at: 0, is_begun: false })
        };
        paths.iter().map(part).collect::<Result<_, _>>().map(Self)
    }

    /// The length of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|part| part.lines.bytes()).sum()
    }

    /// The next line with its number.
    ///
    /// # Errors
    /// When a file cannot be read, or the receiver is gone.
    pub(super) fn next(
        &mut self,
        sink: &mut ImportSink<'_>,
        session: SessionId,
    ) -> Result<Option<(u64, String)>, ReadSourceError> {
        let is_alone = self.0.len() == 1;
        for part in self.0.iter_mut().filter(|part| !part.is_begun) {
            part.is_begun = true;
            part.advance(sink, session, is_alone)?;
        }
        let oldest = self.0.iter_mut().filter(|part| part.next.is_some());
        let oldest = oldest.min_by_key(|part| part.next.as_ref().map(|(_, _, at)| *at));
        let Some(part) = oldest else { return Ok(None) };
        let line = part.next.take().map(|(number, text, _)| (number, text));
        part.is_begun = false;
        Ok(line)
    }
}

impl TimedLines {
    fn advance(
        &mut self,
        sink: &mut ImportSink<'_>,
        session: SessionId,
        is_alone: bool,
    ) -> Result<(), ReadSourceError> {
        self.next = sink.next_line(&mut self.lines, session, &self.path)?.map(|(number, text)| {
            self.at = if is_alone { 0 } else { time_of(&text).unwrap_or(self.at) };
            (number, text, self.at)
        });
        Ok(())
    }
}

fn time_of(line: &str) -> Option<u64> {
    let notes = Notes::default();
    let object = JsonObject::parse(line, "", &notes).ok()?;
    object.skip_all();
    object.text("timestamp").as_deref().and_then(moment)
}
