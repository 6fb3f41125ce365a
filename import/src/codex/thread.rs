//! Threads. Codex begins another file when a thread is rewound; the header names the part that the file continues
//! (`history_base`). A fork is a file that continues a part of another thread.

use super::header::{HistoryBase, RolloutHeader};
use super::library::{RolloutLibrary, ThreadName, segment_of};
use super::mapping::RolloutMapper;
use super::record::RolloutRecord;
use super::{AGENT, FORM, copies, header, header_of, survey};
use crate::foreign::Notes;
use crate::identity::IMPORTER;
use crate::lines::LineReader;
use crate::sink::{BatchWriter, ForkPoint, ImportSink, ReadSourceError, ReceiverGone, RecordedStart, SourceItem};
use annals_core::event::Origin;
use annals_core::{Seq, SessionId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// A file of a thread.
struct RolloutPart {
    path: PathBuf,
    segment: String,
    header: RolloutHeader,
}

/// The files of a thread, in the order in which they were begun.
pub struct RolloutThread(Vec<RolloutPart>);

impl RolloutThread {
    /// The thread of a file; `None` if it has no header. Of a part that several files have, the file at `path` counts.
    pub fn of(path: &Path, library: &RolloutLibrary) -> io::Result<Option<Self>> {
        let Some(header) = header_of(path)? else { return Ok(None) };
        let (thread, segment) = (header.id.clone(), segment_of(path, &header));
        let mut parts = vec![RolloutPart { path: path.to_owned(), segment: segment.clone(), header }];
        for (other, segment) in library.others(&thread, path, &segment) {
            if parts.iter().all(|part| part.segment != segment)
                && let Some(header) = header_of(other)?
            {
                parts.push(RolloutPart { path: other.to_owned(), segment: segment.to_owned(), header });
            }
        }
        let is_later = |part: &RolloutPart| part.segment != thread;
        parts.sort_by(|a, b| (is_later(a), a.header.begun, &a.path).cmp(&(is_later(b), b.header.begun, &b.path)));
        Ok(Some(Self(parts)))
    }

    /// The header of its first file.
    pub fn header(&self) -> Option<&RolloutHeader> {
        self.0.first().map(|part| &part.header)
    }

    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|part| part.path.as_path())
    }

    /// Its name, or the start of its first prompt.
    pub fn title(&self, library: &RolloutLibrary) -> io::Result<Option<String>> {
        let Some(first) = self.0.first() else { return Ok(None) };
        let named = library.names(&first.header.id).last().map(|name| name.name.clone());
        match named.or_else(|| first.header.title()) {
            Some(name) => Ok(Some(name)),
            None => Ok(header(&first.path, 64)?.and_then(|(_, prompt)| prompt)),
        }
    }
}

/// A thread at a place that another file continues.
#[derive(Clone)]
struct ThreadPlace {
    /// The number of the next event.
    seq: Seq,
    state: RolloutMapper,
}

/// What was read of a thread.
pub struct ReadThread {
    session: SessionId,
    checkpoints: BTreeMap<HistoryBase, ThreadPlace>,
}

/// How many threads may continue each other.
const DEPTH_MAX: usize = 32;

/// Reads threads, each after those that it continues.
pub struct ThreadReader<'a> {
    library: &'a RolloutLibrary,
    depth: usize,
}

impl<'a> ThreadReader<'a> {
    /// A reader of these files.
    pub fn new(library: &'a RolloutLibrary) -> Self {
        Self { library, depth: 0 }
    }

    /// Reads a thread, with the thread that it continues. `wanted` are places that another thread continues. `None` if it has no
    /// turn yet.
    pub fn read(
        &mut self,
        sink: &mut ImportSink<'_>,
        thread: &RolloutThread,
        wanted: &BTreeSet<HistoryBase>,
    ) -> Result<Option<ReadThread>, ReadSourceError> {
        let Some(first) = thread.0.first() else { return Ok(None) };
        let io = |source| ReadSourceError::Io { path: first.path.clone(), source };
        let surveyed = survey(&first.path).map_err(io)?;
        if surveyed.is_none() && wanted.is_empty() && thread.0.len() == 1 {
            return Ok(None);
        }
        let mut meta = first.header.clone();
        let (model, directory) = surveyed.unwrap_or_else(|| ("unknown".into(), None));
        if meta.cwd.is_empty() {
            meta.cwd = directory.unwrap_or_default();
        }
        let mut cuts = wanted.clone();
        cuts.extend(thread.0.iter().filter_map(|part| part.header.base.clone()));
        let continued = match &meta.base {
            Some(base) => self.continued(sink, base, &meta.id, &cuts)?,
            None => None,
        };
        let session = sink.editions.session(AGENT, &meta.id, meta.created);
        let origin = Origin {
            agent: AGENT.into(),
            version: meta.process.version.clone(),
            id: meta.id.clone(),
            form: FORM.into(),
            importer: IMPORTER,
        };
        let title = thread.title(self.library).map_err(io)?;
        (sink.send)(SourceItem::Started { session, title, origin: origin.clone() })?;
        let is_alone = matches!((sink.start)(session), Some(RecordedStart::Created(_)));
        let start = continued.as_ref().and_then(|it| Some((it.session, it.checkpoints.get(meta.base.as_ref()?)?)));
        let start = start.filter(|_| !is_alone);
        let names = self.library.names(&meta.id);
        let (writer, state) = match start {
            Some((parent, ThreadPlace { seq, state })) => {
                let state = state.forked(meta, origin, parent, *seq);
                (BatchWriter::forked(session, ForkPoint { parent, cut: *seq }), state)
            }
            None => {
                if meta.base.is_some() && !is_alone {
                    let what = "session_meta.history_base: the file that it continues is missing".to_owned();
                    (sink.send)(SourceItem::Lost { session, line: 1, what, original: None })?;
                }
                let original = meta.forked_from.as_ref().or(meta.parent.as_ref()).or(meta.copied.as_ref());
                let copied = match (meta.own_from, original) {
                    (Some(own), _) => Some(own),
                    (None, Some(original)) if meta.base.is_none() => {
                        copies::last_copied_line(&first.path, meta.begun, original, self.library).map_err(io)?
                    }
                    _ => None,
                };
                let state = RolloutMapper::new(meta, &model, sink.editions, origin)
                    .with_copies(copied.filter(|last| *last > 0));
                (BatchWriter::new(session), state)
            }
        };
        let inherited = continued.map(|it| it.checkpoints).unwrap_or_default();
        let mut run = ThreadRun { writer, state, names, cuts: &cuts, checkpoints: inherited, at: Time::default() };
        run.flush(sink)?;
        for (number, part) in thread.0.iter().enumerate() {
            run.part(sink, part, number > 0)?;
        }
        run.end(sink)?;
        Ok(Some(ReadThread { session, checkpoints: run.checkpoints }))
    }

    /// Reads the thread that a file continues; `None` if it is not there.
    fn continued(
        &mut self,
        sink: &mut ImportSink<'_>,
        base: &HistoryBase,
        thread: &str,
        cuts: &BTreeSet<HistoryBase>,
    ) -> Result<Option<ReadThread>, ReadSourceError> {
        let Some(path) = self.library.segment(&base.segment).filter(|_| self.depth < DEPTH_MAX) else {
            return Ok(None);
        };
        let parent = RolloutThread::of(path, self.library)
            .map_err(|source| ReadSourceError::Io { path: path.to_owned(), source })?
            .filter(|parent| parent.header().is_some_and(|header| header.id != thread));
        let Some(parent) = parent else { return Ok(None) };
        self.depth += 1;
        let read = self.read(sink, &parent, cuts);
        self.depth -= 1;
        read
    }
}

/// A thread that is being read.
struct ThreadRun<'a> {
    writer: BatchWriter,
    state: RolloutMapper,
    names: &'a [ThreadName],
    cuts: &'a BTreeSet<HistoryBase>,
    checkpoints: BTreeMap<HistoryBase, ThreadPlace>,
    at: Time,
}

impl ThreadRun<'_> {
    fn part(&mut self, sink: &mut ImportSink<'_>, part: &RolloutPart, is_later: bool) -> Result<(), ReadSourceError> {
        let io = |source| ReadSourceError::Io { path: part.path.clone(), source };
        let session = self.writer.session;
        let mut lines = LineReader::open(&part.path).map_err(io)?;
        let total = lines.bytes();
        let notes = Notes::default();
        let (mut done, mut ordinal, mut is_first) = (0, 0, true);
        while let Some((number, text)) = sink.next_line(&mut lines, session, &part.path)? {
            done += text.len() as u64 + 1;
            let Some(record) = RolloutRecord::parse(&text, &notes) else {
                sink.damaged(Some(session), number, "a line that is not a record of a rollout")?;
                notes.take();
                continue;
            };
            self.at = record.at.map_or(self.at, Time);
            if self.at == Time::default() {
                self.at = Time(part.header.created);
            }
            ordinal = record.ordinal.unwrap_or(ordinal);
            self.checkpoint(&part.segment, ordinal);
            self.named_before(Some(self.at), number);
            if is_later && std::mem::take(&mut is_first) {
                self.rewind(number, &part.header, &record);
            }
            self.state.line(number, self.at, &record.kind, &record.payload);
            self.flush(sink)?;
            drop(record);
            sink.lost(session, number, &notes, &text)?;
            ordinal += 1;
            if number % 256 == 0 {
                (sink.send)(SourceItem::Progress { done, total })?;
            }
        }
        self.checkpoint(&part.segment, u64::MAX);
        Ok(())
    }

    /// Notes the state before a line that another file does not continue.
    fn checkpoint(&mut self, segment: &str, ordinal: u64) {
        let cuts = self.cuts;
        for cut in cuts.iter().filter(|cut| cut.segment == segment && cut.end <= ordinal) {
            if !self.checkpoints.contains_key(cut) {
                let seq = self.state.end_of_answer();
                self.checkpoints.insert(cut.clone(), ThreadPlace { seq, state: self.state.clone() });
            }
        }
    }

    /// Goes back to the place that a file continues.
    fn rewind(&mut self, line: u64, header: &RolloutHeader, record: &RolloutRecord<'_>) {
        match header.base.as_ref().map(|base| self.checkpoints.get(base)) {
            Some(Some(ThreadPlace { seq, state })) => {
                self.state.rewind(state, *seq, line, self.at);
            }
            Some(None) => record.payload.note("the part that it continues is missing"),
            None => {}
        }
    }

    /// The names that the thread got before a time; all that are left without one.
    fn named_before(&mut self, at: Option<Time>, line: u64) {
        while let [first, rest @ ..] = self.names
            && at.is_none_or(|at| first.at < at.millis())
        {
            self.names = rest;
            self.state.title(line, Time(first.at), &first.name);
        }
    }

    fn end(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        self.state.end();
        self.named_before(None, 0);
        for checkpoint in self.checkpoints.values_mut().filter(|it| it.seq > self.state.next) {
            checkpoint.seq = self.state.next;
        }
        self.flush(sink)?;
        if self.state.unassigned.is_some() {
            let (session, what) = (self.writer.session, "token_count: usage without an answer".to_owned());
            (sink.send)(SourceItem::Lost { session, line: 0, what, original: None })?;
        }
        Ok(())
    }

    fn flush(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        for (line, at, events) in self.state.out.drain(..) {
            self.writer.batch(sink, line, at, events)?;
        }
        Ok(())
    }
}
