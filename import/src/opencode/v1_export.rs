//! The output of `opencode export`: `{info, messages: [{info, parts}]}`, read one message at a time (mapping: `v1.rs`).

use super::super::foreign::{JsonObject, Notes};
use super::super::sink::{BatchWriter, ImportSink, ReadSourceError, ReceiverGone, SourceItem};
use super::super::text::TextFile;
use super::super::utf8::Utf8;
use super::fork_source::ForkSource;
use super::info::OpenCodeSession;
use super::v1::V1Mapper;
use annals_core::{SessionId, Time};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The form in `origin`.
pub const FORM: &str = "v1-export";

/// Maps a session from its final state: an export, or the tables `message` and `part`.
pub struct FinalStateReader {
    writer: BatchWriter,
    mapper: V1Mapper,
    number: u64,
}

impl FinalStateReader {
    /// Starts a session.
    pub fn begin(sink: &mut ImportSink<'_>, info: OpenCodeSession, form: &'static str) -> Result<Self, ReceiverGone> {
        let session = info.session(sink.editions);
        (sink.send)(SourceItem::Started { session, title: info.title.clone(), origin: info.origin(form) })?;
        let mut mapper = V1Mapper::new(info, form, sink.editions);
        mapper.start = (sink.start)(session);
        Ok(Self { writer: BatchWriter::new(session), mapper, number: 0 })
    }

    /// Names the session that this one is a fork of.
    pub fn set_source(&mut self, source: ForkSource) {
        self.mapper.set_source(source);
    }

    /// Its session id.
    pub fn session(&self) -> SessionId {
        self.writer.session
    }

    /// Maps a message with its parts (id, JSON), in order; `last` for the last message of the source.
    pub fn message(
        &mut self,
        sink: &mut ImportSink<'_>,
        id: &str,
        info: &str,
        parts: &[(String, &str)],
        last: bool,
        notes: &Notes,
    ) -> Result<(), ReceiverGone> {
        self.number += 1;
        let line = self.number;
        let Ok(object) = JsonObject::parse(info, "message", notes) else {
            return sink.damaged(Some(self.session()), line, "a message that is not an object");
        };
        let answered = object.text("role").as_deref() == Some("assistant");
        let completed = object.object("time").is_some_and(|time| {
            time.skip_all();
            time.number("completed").is_some()
        });
        let whole = !last || completed || object.has("error");
        // An answer is first mapped without its end, so that its parts precede the end.
        let announced = if answered { without_end(info) } else { info.to_owned() };
        if let Ok(object) = JsonObject::parse(&announced, "message", &Notes::default()) {
            self.mapper.message(line, id, &object);
            object.skip_all();
        }
        for (part_id, part) in parts {
            let Ok(part) = JsonObject::parse(part, "part", notes) else {
                sink.damaged(Some(self.session()), line, "a part that is not an object")?;
                continue;
            };
            if answered && !whole && !is_whole(&part) {
                part.skip_all();
                notes.add("message: an answer that is still being written");
                self.mapper.hold_answer();
                break;
            }
            self.mapper.part(line, part_id, id, &part, None, whole);
        }
        if answered && whole {
            self.mapper.message(line, id, &object);
        } else {
            object.skip_all();
        }
        drop(object);
        self.flush(sink)?;
        sink.lost(self.session(), line, notes, info)
    }

    fn flush(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        if let Some(fork) = self.mapper.fork.take() {
            self.writer = BatchWriter::forked(self.writer.session, fork);
        }
        for (line, at, events) in self.mapper.out.drain(..) {
            self.writer.batch(sink, line, at, events)?;
        }
        Ok(())
    }

    /// The end of the source. `revert` is the field of the session's record.
    pub fn end(
        mut self,
        sink: &mut ImportSink<'_>,
        revert: Option<&str>,
        at: Time,
        notes: &Notes,
    ) -> Result<ForkSource, ReceiverGone> {
        self.mapper.end();
        if let Some(Ok(revert)) = revert.map(|revert| JsonObject::parse(revert, "info.revert", notes)) {
            self.mapper.revert(self.number, Some(&revert), at);
        }
        self.flush(sink)?;
        sink.lost(self.session(), self.number, notes, revert.unwrap_or_default())?;
        Ok(ForkSource { session: self.session(), messages: self.mapper.spans(), cut: None })
    }
}

fn is_whole(part: &JsonObject<'_>) -> bool {
    match part.text("type").as_deref() {
        Some("text" | "reasoning") => part.object("time").is_some_and(|time| time.number("end").is_some()),
        Some("tool") => part.object("state").is_some_and(|state| {
            state.skip_all();
            matches!(state.text("status").as_deref(), Some("completed" | "error"))
        }),
        _ => true,
    }
}

/// The record of an answer as it was when the answer started.
fn without_end(info: &str) -> String {
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_str(info) else { return info.to_owned() };
    for name in ["error", "finish"] {
        fields.remove(name);
    }
    if let Some(serde_json::Value::Object(time)) = fields.get_mut("time") {
        time.remove("completed");
    }
    serde_json::Value::Object(fields).to_string()
}

/// Opens an export, past lines that OpenCode printed before it (`opencode export ID > FILE 2>&1`).
fn open(path: &Path) -> io::Result<TextFile> {
    const LINES_MAX: usize = 16;
    let mut file = TextFile::open(path)?;
    for _ in 0..LINES_MAX {
        let start = file.fill_buf()?;
        if start.is_empty() || start.trim_ascii_start().starts_with(b"{") {
            break;
        }
        let skipped = start.iter().position(|byte| *byte == b'\n').map_or(start.len(), |at| at + 1);
        file.consume(skipped);
    }
    Ok(file)
}

/// The `info` of an export, its revert, and the time of its last change.
///
/// # Errors
/// When the file is not an export.
pub fn header(path: &Path) -> Result<(OpenCodeSession, Option<String>, Time), serde_json::Error> {
    let file = open(path).map_err(serde_json::Error::io)?;
    let mut found = None;
    let mut reading = serde_json::Deserializer::from_reader(BufReader::new(Utf8::new(file)));
    let walked = ExportSeed { info: &mut found, each: None }.deserialize(&mut reading);
    match (found, walked) {
        (Some(found), _) => Ok(found),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(serde::de::Error::missing_field("info")),
    }
}

/// Reads an export.
///
/// # Errors
/// When the file cannot be read, or is not an export. A truncated one is read as far as possible.
pub fn read(path: &Path, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let (info, revert, at) = header(path).map_err(|error| io(error.into()))?;
    let notes = Notes::default();
    let mut session = FinalStateReader::begin(sink, info, FORM)?;
    let reader = Utf8::new(open(path).map_err(io)?);
    let replaced = reader.replaced();
    let mut stopped = None;
    // Which message is the last one shows only at the end.
    let mut held: Option<ExportedMessage> = None;
    let mut each = |message: ExportedMessage| {
        let Some(before) = held.replace(message) else { return true };
        match before.map(&mut session, sink, false, &notes) {
            Ok(()) => true,
            Err(error) => {
                stopped = Some(error);
                false
            }
        }
    };
    let mut reading = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, reader));
    let walked = ExportSeed { info: &mut None, each: Some(&mut each) }.deserialize(&mut reading);
    if let Some(stopped) = stopped {
        return Err(stopped.into());
    }
    if let Some(last) = held {
        last.map(&mut session, sink, true, &notes)?;
    }
    let id = session.session();
    session.end(sink, revert.as_deref().filter(|_| walked.is_ok()), at, &notes)?;
    for _ in 0..replaced.get() {
        sink.damaged(Some(id), 0, "invalid UTF-8, replaced")?;
    }
    if let Err(error) = walked {
        sink.damaged(Some(id), error.line() as u64, "the export is truncated or invalid from here")?;
    }
    Ok(())
}

struct ExportedMessage {
    info: Box<RawValue>,
    parts: Vec<Box<RawValue>>,
}

impl ExportedMessage {
    fn map(
        self,
        session: &mut FinalStateReader,
        sink: &mut ImportSink<'_>,
        last: bool,
        notes: &Notes,
    ) -> Result<(), ReceiverGone> {
        let quiet = Notes::default();
        let id_of = |raw: &RawValue| JsonObject::parse(raw.get(), "", &quiet).ok().and_then(|object| object.text("id"));
        let id = id_of(&self.info).unwrap_or_default();
        let parts: Vec<_> = self.parts.iter().map(|part| (id_of(part).unwrap_or_default(), part.get())).collect();
        session.message(sink, &id, self.info.get(), &parts, last, notes)
    }
}

type ExportHeader = (OpenCodeSession, Option<String>, Time);

/// Parses an export message by message.
struct ExportSeed<'a> {
    info: &'a mut Option<ExportHeader>,
    /// Receives each message; returns false to stop. If `None`, only `info` is read.
    each: Option<&'a mut dyn FnMut(ExportedMessage) -> bool>,
}

impl<'de> DeserializeSeed<'de> for ExportSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ExportSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an OpenCode export: an object with info and messages")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match (name.as_str(), &mut self.each) {
                ("info", None) => {
                    let raw: Box<RawValue> = map.next_value()?;
                    let quiet = Notes::default();
                    let info = JsonObject::parse(raw.get(), "info", &quiet).map_err(serde::de::Error::custom)?;
                    let updated = info.object("time").and_then(|time| time.number("updated")).unwrap_or_default();
                    let revert = info.raw("revert").map(|raw| raw.get().to_owned());
                    *self.info = Some((OpenCodeSession::read(&info), revert, Time(updated)));
                }
                ("messages", Some(each)) => map.next_value_seed(MessageListSeed(*each))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct MessageListSeed<'a>(&'a mut dyn FnMut(ExportedMessage) -> bool);

impl<'de> DeserializeSeed<'de> for MessageListSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MessageListSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        #[derive(serde::Deserialize)]
        struct ExportedMessageJson {
            info: Box<RawValue>,
            #[serde(default)]
            parts: Vec<Box<RawValue>>,
        }
        let mut wanted = true;
        while let Some(ExportedMessageJson { info, parts }) = list.next_element()? {
            wanted = wanted && (self.0)(ExportedMessage { info, parts });
        }
        Ok(())
    }
}
