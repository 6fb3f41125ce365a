//! A session of OpenCode's V2 core: reads rows and sends batches (mapping: `v2.rs`).

use super::super::foreign::{JsonObject, Notes};
use super::super::sink::{BatchWriter, ImportSink, KnownContext, ReceiverGone, SourceItem};
use super::epochs::EpochTracker;
use super::info::OpenCodeSession;
use super::projection::ProjectionRows;
use super::rows::EventRow;
use super::v2::{RecordPosition, V2Mapper, timestamp};
use annals_core::event::SnapshotAdvanced;
use annals_core::{AgentName, Time};

/// The form in `origin`.
pub const FORM: &str = "v2-events";

/// A session that is being read.
pub struct V2RowReader {
    foreign: String,
    projection: ProjectionRows,
    state: V2Mapper,
    epochs: EpochTracker,
    begun: Option<StartedSession>,
    /// Seq and time of the row before.
    previous: Option<(u64, Time)>,
}

struct StartedSession {
    writer: BatchWriter,
    recalled: KnownContext,
}

impl V2RowReader {
    /// A session with the rows of its projection, and the seq of its last `context.updated`.
    pub fn new(foreign: &str, mut projection: ProjectionRows, last_update: Option<u64>) -> Self {
        let epochs = EpochTracker::new(projection.epoch.take(), last_update);
        Self {
            foreign: foreign.to_owned(),
            projection,
            state: V2Mapper::default(),
            epochs,
            begun: None,
            previous: None,
        }
    }

    /// Maps one row.
    pub fn row(&mut self, sink: &mut ImportSink<'_>, row: &EventRow<'_>, notes: &Notes) -> Result<(), ReceiverGone> {
        let expected = self.previous.map_or(0, |(seq, _)| seq.saturating_add(1));
        let session = self.begun.as_ref().map(|begun| begun.writer.session);
        if row.seq < expected {
            return sink.damaged(session, row.line, "a row with a repeated seq");
        }
        let Ok(data) = JsonObject::parse(row.data, row.kind, notes) else {
            return sink.damaged(session, row.line, "a row whose data is not an object");
        };
        let at = timestamp(&data);
        if self.begun.is_none() {
            let created = row.kind == "session.created";
            let info = if created {
                data.object("info").map(|info| OpenCodeSession::read(&info))
            } else {
                self.projection.info.clone()
            };
            let mut info = info.unwrap_or_default();
            if info.created == 0 {
                info.created = at.unwrap_or_default().0;
            }
            info.id.clone_from(&self.foreign);
            info.program = self.projection.info.as_ref().map_or("", |info| info.program);
            self.begin(sink, row.line, info)?;
            if created {
                data.skip(&["sessionID"]);
                drop(data);
                self.previous = Some((row.seq, Time(self.state.info.created)));
                return self.send_losses(sink, row, notes);
            }
            sink.damaged(self.session(), row.line, "the beginning of the log is missing")?;
        } else if row.seq > expected {
            sink.damaged(self.session(), row.line, "rows before this one are missing")?;
        }
        let previous = self.previous.unwrap_or_default();
        let at = at.unwrap_or(previous.1);
        let Some(StartedSession { writer, recalled }) = &mut self.begun else { return Ok(()) };

        if row.kind == "session.next.prompted" {
            self.epochs.promoting(previous.0);
        }
        let agent = AgentName(self.state.info.agent.clone().unwrap_or_else(|| "build".into()));
        let location = self.state.info.location();
        if let Some((time, epoch)) = self.epochs.before(previous, writer.next(), recalled, &agent, &location, notes) {
            writer.batch(sink, row.line, time, vec![epoch.into()])?;
        }
        let next = writer.next();
        let advance = match recalled.advances.get(&next) {
            Some(advance) if next < recalled.head => advance.clone(),
            _ => SnapshotAdvanced { set: self.epochs.snapshot_after(row.seq).unwrap_or_default(), removed: Vec::new() },
        };
        match self.state.map(row.kind, &data, RecordPosition { next, at, advance }) {
            Some(events) => {
                writer.batch(sink, row.line, at, events)?;
                drop(data);
            }
            None => {
                drop(data);
                notes.take();
                notes.add(format!("{}: not recognised", row.kind));
            }
        }
        if row.kind == "session.next.compaction.ended" {
            self.epochs.compacted(row.seq);
        }
        self.previous = Some((row.seq, at));
        self.send_losses(sink, row, notes)
    }

    fn begin(&mut self, sink: &mut ImportSink<'_>, line: u64, info: OpenCodeSession) -> Result<(), ReceiverGone> {
        let session = info.session(sink.editions);
        let (title, origin) = (info.title.clone(), info.origin(FORM));
        (sink.send)(SourceItem::Started { session, title, origin })?;
        for what in std::mem::take(&mut self.projection.unsound) {
            sink.damaged(Some(session), 0, what)?;
        }
        let recalled = (sink.recall)(session);
        let mut writer = BatchWriter::new(session);
        writer.batch(sink, line, Time(info.created), vec![info.creation(sink.editions, FORM).into()])?;
        self.state.info = info;
        self.begun = Some(StartedSession { writer, recalled });
        Ok(())
    }

    fn session(&self) -> Option<annals_core::SessionId> {
        self.begun.as_ref().map(|begun| begun.writer.session)
    }

    fn send_losses(&self, sink: &mut ImportSink<'_>, row: &EventRow<'_>, notes: &Notes) -> Result<(), ReceiverGone> {
        match self.session() {
            Some(session) => sink.lost(session, row.line, notes, row.data),
            None => Ok(()),
        }
    }
}
