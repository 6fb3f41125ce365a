//! What `opencode export` writes: `{info, messages: [{info, parts}]}`, read one message at a time (`v1.rs`).

use super::super::foreign::{Notes, Object};
use super::super::reading::{Desk, Item, ReadSourceError, Script, Stopped};
use super::super::text::TextFile;
use super::super::utf8::Utf8;
use super::info::Info;
use super::v1::Mapper;
use annals_core::{SessionId, Time};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::io::BufReader;
use std::path::Path;

/// The form in `origin`.
pub const FORM: &str = "v1-export";

/// One Session from its final state: an export, or the tables `message` and `part`.
pub struct Final {
    script: Script,
    mapper: Mapper,
    number: u64,
}

impl Final {
    /// A Session begins.
    pub fn begin(desk: &mut Desk<'_>, info: Info, form: &'static str) -> Result<Self, Stopped> {
        let session = info.session(desk.editions);
        (desk.send)(Item::Began { session, title: info.title.clone(), origin: info.origin(form) })?;
        Ok(Self { script: Script::new(session), mapper: Mapper::new(info, form, desk.editions), number: 0 })
    }

    /// Its id here.
    pub fn session(&self) -> SessionId {
        self.script.session
    }

    /// A message with its parts (id, JSON), in order; `last` when it is the last one so far.
    pub fn message(
        &mut self,
        desk: &mut Desk<'_>,
        id: &str,
        info: &str,
        parts: &[(String, &str)],
        last: bool,
        notes: &Notes,
    ) -> Result<(), Stopped> {
        self.number += 1;
        let line = self.number;
        let Ok(object) = Object::parse(info, "message", notes) else {
            return desk.damaged(Some(self.session()), line, "a message that is no object");
        };
        let answered = object.text("role").as_deref() == Some("assistant");
        let completed = object.object("time").is_some_and(|time| {
            time.skip_all();
            time.number("completed").is_some()
        });
        let whole = !last || completed || object.has("error");
        // An answer is announced without its end, so that its parts come first.
        let announced = if answered { without_end(info) } else { info.to_owned() };
        if let Ok(object) = Object::parse(&announced, "message", &Notes::default()) {
            self.mapper.message(line, id, &object);
            object.skip_all();
        }
        for (part_id, part) in parts {
            let Ok(part) = Object::parse(part, "part", notes) else {
                desk.damaged(Some(self.session()), line, "a part that is no object")?;
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
        self.flush(desk)?;
        desk.lost(self.session(), line, notes, info)
    }

    fn flush(&mut self, desk: &mut Desk<'_>) -> Result<(), Stopped> {
        for (line, at, events) in self.mapper.out.drain(..) {
            self.script.batch(desk, line, at, events)?;
        }
        Ok(())
    }

    /// The end: `revert` as the Session's record has it.
    pub fn end(mut self, desk: &mut Desk<'_>, revert: Option<&str>, at: Time, notes: &Notes) -> Result<(), Stopped> {
        self.mapper.end();
        if let Some(Ok(revert)) = revert.map(|revert| Object::parse(revert, "info.revert", notes)) {
            self.mapper.revert(self.number, Some(&revert), at);
        }
        self.flush(desk)?;
        desk.lost(self.session(), self.number, notes, revert.unwrap_or_default())
    }
}

fn is_whole(part: &Object<'_>) -> bool {
    match part.text("type").as_deref() {
        Some("text" | "reasoning") => part.object("time").is_some_and(|time| time.number("end").is_some()),
        Some("tool") => part.object("state").is_some_and(|state| {
            state.skip_all();
            matches!(state.text("status").as_deref(), Some("completed" | "error"))
        }),
        _ => true,
    }
}

/// An answer's record as it was when the answer began.
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

/// The `info` of an export, and where it updated last (ms).
///
/// # Errors
/// When the file is no export.
pub fn header(path: &Path) -> Result<(Info, Option<String>, Time), serde_json::Error> {
    let file = TextFile::open(path).map_err(serde_json::Error::io)?;
    let mut found = None;
    let mut reading = serde_json::Deserializer::from_reader(BufReader::new(Utf8::new(file)));
    let walked = Walk { info: &mut found, each: None }.deserialize(&mut reading);
    match (found, walked) {
        (Some(found), _) => Ok(found),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(serde::de::Error::missing_field("info")),
    }
}

/// Reads an export.
///
/// # Errors
/// When the file cannot be read, or is no export at all. A torn one is read as far as it goes.
pub fn read(path: &Path, desk: &mut Desk<'_>) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let (info, revert, at) = header(path).map_err(|error| io(error.into()))?;
    let notes = Notes::default();
    let mut session = Final::begin(desk, info, FORM)?;
    let reader = Utf8::new(TextFile::open(path).map_err(io)?);
    let replaced = reader.replaced();
    let mut stopped = None;
    // The last message is known as such only when the next one, or the end, is seen.
    let mut held: Option<Message> = None;
    let mut each = |message: Message| {
        let Some(before) = held.replace(message) else { return true };
        match before.map(&mut session, desk, false, &notes) {
            Ok(()) => true,
            Err(error) => {
                stopped = Some(error);
                false
            }
        }
    };
    let mut reading = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, reader));
    let walked = Walk { info: &mut None, each: Some(&mut each) }.deserialize(&mut reading);
    if let Some(stopped) = stopped {
        return Err(stopped.into());
    }
    if let Some(last) = held {
        last.map(&mut session, desk, true, &notes)?;
    }
    let id = session.session();
    session.end(desk, revert.as_deref().filter(|_| walked.is_ok()), at, &notes)?;
    for _ in 0..replaced.get() {
        desk.damaged(Some(id), 0, "bytes that are no UTF-8, replaced")?;
    }
    if let Err(error) = walked {
        desk.damaged(Some(id), error.line() as u64, "the export ends or breaks here")?;
    }
    Ok(())
}

struct Message {
    info: Box<RawValue>,
    parts: Vec<Box<RawValue>>,
}

impl Message {
    fn map(self, session: &mut Final, desk: &mut Desk<'_>, last: bool, notes: &Notes) -> Result<(), Stopped> {
        let quiet = Notes::default();
        let id_of = |raw: &RawValue| Object::parse(raw.get(), "", &quiet).ok().and_then(|object| object.text("id"));
        let id = id_of(&self.info).unwrap_or_default();
        let parts: Vec<_> = self.parts.iter().map(|part| (id_of(part).unwrap_or_default(), part.get())).collect();
        session.message(desk, &id, self.info.get(), &parts, last, notes)
    }
}

type Header = (Info, Option<String>, Time);

/// Walks through an export without holding it.
struct Walk<'a> {
    info: &'a mut Option<Header>,
    /// Receives each message; says whether to go on. Without it, reading stops at `info`.
    each: Option<&'a mut dyn FnMut(Message) -> bool>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
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
                    let info = Object::parse(raw.get(), "info", &quiet).map_err(serde::de::Error::custom)?;
                    let updated = info.object("time").and_then(|time| time.number("updated")).unwrap_or_default();
                    let revert = info.raw("revert").map(|raw| raw.get().to_owned());
                    *self.info = Some((Info::read(&info), revert, Time(updated)));
                }
                ("messages", Some(each)) => map.next_value_seed(Messages(*each))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Messages<'a>(&'a mut dyn FnMut(Message) -> bool);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        #[derive(serde::Deserialize)]
        struct Whole {
            info: Box<RawValue>,
            #[serde(default)]
            parts: Vec<Box<RawValue>>,
        }
        let mut wanted = true;
        while let Some(Whole { info, parts }) = list.next_element()? {
            wanted = wanted && (self.0)(Message { info, parts });
        }
        Ok(())
    }
}
