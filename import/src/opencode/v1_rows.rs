//! A session of OpenCode V1 from its event rows. Each row contains a complete new value (mapping: `v1.rs`).

use super::super::foreign::{JsonObject, Notes};
use super::super::sink::{BatchWriter, ImportSink, ReceiverGone, SourceItem};
use super::fork_source::ForkSource;
use super::info::OpenCodeSession;
use super::rows::EventRow;
use super::v1::V1Mapper;
use super::v2::timestamp;
use annals_core::{SessionId, Time};

/// The form in `origin`.
pub const FORM: &str = "v1-events";

/// A Session that is being read.
pub struct V1RowReader {
    foreign: String,
    program: &'static str,
    begun: Option<(BatchWriter, V1Mapper)>,
    previous: Option<u64>,
    at: Time,
}

impl V1RowReader {
    /// A Session of a program; an empty name for OpenCode itself.
    pub fn new(foreign: &str, program: &'static str) -> Self {
        Self { foreign: foreign.to_owned(), program, begun: None, previous: None, at: Time::default() }
    }

    fn session(&self) -> Option<SessionId> {
        self.begun.as_ref().map(|(writer, _)| writer.session)
    }

    /// When the message of a row was created (ms), if it was copied from another session that is to be found.
    pub fn copied(&self, row: &EventRow<'_>) -> Option<u64> {
        let (_, mapper) = self.begun.as_ref()?;
        if row.kind != "message.updated" || mapper.knows_source() || mapper.has_begun() {
            return None;
        }
        let quiet = Notes::default();
        let data = JsonObject::parse(row.data, "", &quiet).ok()?;
        let created = data.object("info")?.object("time")?.number("created")?;
        mapper.is_copy(created).then_some(created)
    }

    /// Names the session that this one is a fork of.
    pub fn set_source(&mut self, source: ForkSource) {
        if let Some((_, mapper)) = &mut self.begun {
            mapper.set_source(source);
        }
    }

    /// This session as one that another may be a fork of.
    pub fn as_source(&self) -> Option<ForkSource> {
        let (writer, mapper) = self.begun.as_ref()?;
        Some(ForkSource { session: writer.session, messages: mapper.spans(), cut: None })
    }

    /// Maps one row.
    pub fn row(&mut self, sink: &mut ImportSink<'_>, row: &EventRow<'_>, notes: &Notes) -> Result<(), ReceiverGone> {
        let expected = self.previous.map_or(0, |seq| seq + 1);
        if row.seq < expected {
            return sink.damaged(self.session(), row.line, "a row with a repeated seq");
        }
        let Ok(data) = JsonObject::parse(row.data, row.kind, notes) else {
            return sink.damaged(self.session(), row.line, "a row whose data is not an object");
        };
        data.skip(&["sessionID"]);
        let info = data.object("info");
        let missing = row.seq > expected;
        self.previous = Some(row.seq);
        if self.begun.is_none() {
            let created = row.kind == "session.created";
            let mut read = info.as_ref().filter(|_| created).map(OpenCodeSession::read).unwrap_or_default();
            read.id.clone_from(&self.foreign);
            read.program = self.program;
            if read.created == 0 {
                let time = info.as_ref().and_then(|info| info.object("time")).and_then(|time| time.number("created"));
                read.created = time.or(timestamp(&data).map(Time::millis)).unwrap_or_default();
            }
            self.at = Time(read.created);
            let session = read.session(sink.editions);
            (sink.send)(SourceItem::Started { session, title: read.title.clone(), origin: read.origin(FORM) })?;
            let mut mapper = V1Mapper::new(read, FORM, sink.editions);
            mapper.created_at_line = row.line;
            mapper.start = (sink.start)(session);
            self.begun = Some((BatchWriter::new(session), mapper));
            if created {
                info.iter().for_each(JsonObject::skip_all);
                return Ok(());
            }
            sink.damaged(Some(session), row.line, "the beginning of the log is missing")?;
        } else if missing {
            sink.damaged(self.session(), row.line, "rows before this one are missing")?;
        }
        let Some((writer, mapper)) = &mut self.begun else { return Ok(()) };
        match row.kind {
            "session.updated" => {
                if let Some(info) = &info {
                    let time = info.object("time").and_then(|time| {
                        time.skip_all();
                        time.number("updated")
                    });
                    self.at = time.map_or(self.at, Time);
                    mapper.session(row.line, info, self.at);
                }
            }
            "message.updated" => {
                if let Some(info) = &info {
                    let id = info.text("id").unwrap_or_default();
                    mapper.message(row.line, &id, info);
                }
            }
            "message.part.updated" => {
                let at = timestamp(&data);
                self.at = at.unwrap_or(self.at);
                if let Some(part) = data.object("part") {
                    let (id, message) = (part.text("id").unwrap_or_default(), part.text("messageID"));
                    mapper.part(row.line, &id, &message.unwrap_or_default(), &part, at, false);
                }
            }
            "message.removed" => mapper.removed(row.line, self.at, &data),
            _ => {
                data.skip_all();
                notes.add(format!("{}: not recognised", row.kind));
            }
        }
        if let Some(fork) = mapper.fork.take() {
            *writer = BatchWriter::forked(writer.session, fork);
        }
        for (line, at, events) in mapper.out.drain(..) {
            writer.batch(sink, line, at, events)?;
        }
        let session = writer.session;
        drop(info);
        drop(data);
        sink.lost(session, row.line, notes, row.data)
    }
}
