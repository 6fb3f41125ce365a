//! Rows of OpenCode's table `event`, one a line: `{id, aggregate_id, seq, type, data}`.

use super::super::foreign::Notes;
use super::super::lines::{LineReader, SourceLine};
use super::super::sink::{ImportSink, ReadSourceError, SourceItem};
use super::fork_source::ForkSource;
use super::{projection, v1_rows, v2, v2_rows};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::Path;

/// One row.
#[derive(Deserialize)]
pub struct EventRowJson<'a> {
    /// The session.
    pub aggregate_id: String,
    /// Its place, from 0.
    pub seq: u64,
    /// Its type, with its version.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload.
    #[serde(borrow)]
    pub data: &'a RawValue,
}

/// A summary of all rows of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    /// Whether a record of the V2 core is among them.
    pub v2: bool,
    /// The seq of the last `context.updated`.
    pub last_update: Option<u64>,
}

impl Survey {
    /// Adds a row.
    pub fn row(&mut self, kind: &str, seq: u64) {
        let kind = v2::bare(kind);
        self.v2 |= kind.starts_with("session.next.");
        if kind == "session.next.context.updated" {
            self.last_update = self.last_update.max(Some(seq));
        }
    }
}

/// A row on its way to a mapping.
pub struct EventRow<'a> {
    /// Its line, from 1.
    pub line: u64,
    /// Its place, from 0.
    pub seq: u64,
    /// Its type without version.
    pub kind: &'a str,
    /// Its payload.
    pub data: &'a str,
}

/// One session that is being read.
pub enum RowMapper {
    /// The V2 core.
    V2(Box<v2_rows::V2RowReader>),
    /// V1 states.
    V1(Box<v1_rows::V1RowReader>),
}

impl RowMapper {
    /// Maps one row.
    pub fn row(&mut self, sink: &mut ImportSink<'_>, row: &EventRow<'_>, notes: &Notes) -> Result<(), ReadSourceError> {
        match self {
            Self::V2(log) => Ok(log.row(sink, row, notes)?),
            Self::V1(log) => Ok(log.row(sink, row, notes)?),
        }
    }

    /// See [`v1_rows::V1RowReader::copied`].
    pub fn copied(&self, row: &EventRow<'_>) -> Option<u64> {
        match self {
            Self::V1(log) => log.copied(row),
            Self::V2(_) => None,
        }
    }
}

/// The session among those of a file that a fork was made of: one with a message of that time. Of several, the newest.
fn source_of(sessions: &HashMap<String, RowMapper>, fork: &str, created: u64) -> Option<ForkSource> {
    let others = sessions.iter().filter(|(id, _)| *id != fork).filter_map(|(_, reading)| match reading {
        RowMapper::V1(log) => log.as_source(),
        RowMapper::V2(_) => None,
    });
    others.filter(|source| source.message(created).is_some()).max_by_key(|source| source.session)
}

/// Reads a file of rows, which may belong to several sessions.
pub fn read(path: &Path, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let mut lines = LineReader::open(path).map_err(io)?;
    let total = lines.bytes();

    let mut surveys: HashMap<String, Survey> = HashMap::new();
    while let Some(line) = lines.next().map_err(io)? {
        if let SourceLine::Text { text, .. } = line
            && let Ok(row) = serde_json::from_str::<EventRowJson<'_>>(&text)
        {
            surveys.entry(row.aggregate_id).or_default().row(&row.kind, row.seq);
        }
    }
    lines.rewind().map_err(io)?;

    let notes = Notes::default();
    let mut sessions: HashMap<String, RowMapper> = HashMap::new();
    let mut done = 0;
    while let Some((number, text)) = sink.next_line(&mut lines, None, path)? {
        done += text.len() as u64 + 1;
        let Ok(envelope) = serde_json::from_str::<EventRowJson<'_>>(&text) else {
            sink.damaged(None, number, "a line that is not an event row")?;
            continue;
        };
        if !sessions.contains_key(&envelope.aggregate_id) {
            let survey = surveys.get(&envelope.aggregate_id).copied().unwrap_or_default();
            let reading = if survey.v2 {
                let projection = projection::read(path, &envelope.aggregate_id);
                RowMapper::V2(Box::new(v2_rows::V2RowReader::new(
                    &envelope.aggregate_id,
                    projection,
                    survey.last_update,
                )))
            } else {
                RowMapper::V1(Box::new(v1_rows::V1RowReader::new(&envelope.aggregate_id, "")))
            };
            sessions.insert(envelope.aggregate_id.clone(), reading);
        }
        let kind = v2::bare(&envelope.kind);
        let row = EventRow { line: number, seq: envelope.seq, kind, data: envelope.data.get() };
        let copied = sessions.get(&envelope.aggregate_id).and_then(|reading| reading.copied(&row));
        let source = copied.and_then(|created| source_of(&sessions, &envelope.aggregate_id, created));
        if let Some(reading) = sessions.get_mut(&envelope.aggregate_id) {
            if let (RowMapper::V1(fork), Some(source)) = (&mut *reading, source) {
                fork.set_source(source);
            }
            reading.row(sink, &row, &notes)?;
        }
        if number % 256 == 0 {
            (sink.send)(SourceItem::Progress { done, total })?;
        }
    }
    Ok(())
}
