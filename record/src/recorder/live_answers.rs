//! What an answer says while it arrives, for those who watch the session. The log gets the answer when it is complete.

use crate::answer::streamed_events;
use crate::capture::CapturedPiece;
use crate::coding::{ContentStream, StreamCoding};
use annals_core::{RequestId, SessionId};
use annals_guard::redaction::Redactor;
use annals_providers::provider::ProviderEvent;
use annals_providers::recorded::RecordedProtocol;
use annals_providers::wire::{Decoder, decoder};
use annals_runtime::bus::{Delta, Fragment, Notice, Observer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A longer part of a stream is not taken as an event: the answer is not shown while it arrives.
const EVENT_MAX: usize = 4 << 20;

/// The answers that are on their way, by the number of the request.
pub(super) struct LiveAnswers {
    observer: Option<Arc<dyn Observer>>,
    arriving: HashMap<u64, ArrivingAnswer>,
}

struct ArrivingAnswer {
    session: SessionId,
    request: RequestId,
    /// `None` for Gemini, whose events need none. Used by one task at a time.
    decoder: Option<Mutex<Decoder>>,
    /// Reads the content; made with the first piece. Used by one task at a time.
    content: Option<Mutex<ContentStream>>,
    /// The beginning of an incomplete event.
    rest: Vec<u8>,
    /// The names of the fragments, in the order in which they began.
    fragments: Vec<String>,
}

impl LiveAnswers {
    pub(super) fn of(observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, arriving: HashMap::new() }
    }

    /// The answer to a request of a session follows.
    pub(super) fn expect(&mut self, id: u64, session: SessionId, request: RequestId, protocol: RecordedProtocol) {
        if self.observer.is_none() {
            return;
        }
        let decoder = match protocol {
            RecordedProtocol::Spoken(protocol) => Some(Mutex::new(decoder(protocol))),
            RecordedProtocol::Gemini => None,
        };
        let (content, rest, fragments) = (None, Vec::new(), Vec::new());
        self.arriving.insert(id, ArrivingAnswer { session, request, decoder, content, rest, fragments });
    }

    /// Publishes what a piece says. An answer of which a piece is missing or wrong is not shown further.
    pub(super) fn piece(&mut self, piece: &CapturedPiece, redactor: &Redactor) {
        let (Some(observer), Some(answer)) = (&self.observer, self.arriving.get_mut(&piece.id)) else { return };
        let mut found = Vec::new();
        let bytes = piece.body.bytes().and_then(|bytes| answer.content(piece.coding, bytes));
        let is_read = bytes.is_some_and(|bytes| answer.read(&bytes, &mut found).is_some());
        for (fragment, text) in found {
            let text = redactor.redact(&text).text.into_owned();
            let (session, request) = (answer.session, answer.request);
            observer.notice(&Notice::Delta(Delta { session, request, fragment, text }));
        }
        if !is_read {
            self.end(piece.id);
        }
    }

    /// The log has what became of the answer, or it was given up.
    pub(super) fn end(&mut self, id: u64) {
        let (Some(observer), Some(answer)) = (&self.observer, self.arriving.remove(&id)) else { return };
        // Answers of one conversation do not overlap.
        observer.notice(&Notice::Idle { session: answer.session, outcome: None });
    }
}

impl ArrivingAnswer {
    /// The content of a piece; `None` when it is damaged.
    fn content(&mut self, coding: StreamCoding, bytes: &[u8]) -> Option<Vec<u8>> {
        let content = self.content.get_or_insert_with(|| Mutex::new(ContentStream::new(coding)));
        content.get_mut().unwrap_or_else(PoisonError::into_inner).push(bytes).ok()
    }

    /// Adds what further bytes say; `None` when they cannot be read to their end.
    fn read(&mut self, bytes: &[u8], found: &mut Vec<(Fragment, String)>) -> Option<()> {
        self.rest.extend_from_slice(bytes);
        let whole = end_of_events(&self.rest);
        if self.rest.len() - whole > EVENT_MAX {
            return None;
        }
        let events: Vec<u8> = self.rest.drain(..whole).collect();
        for (name, data) in streamed_events(&String::from_utf8_lossy(&events)) {
            match &mut self.decoder {
                Some(decoder) => {
                    let decoder = decoder.get_mut().unwrap_or_else(PoisonError::into_inner);
                    for event in decoder.event(&name, &data).ok()? {
                        found.extend(self.delta(event));
                    }
                }
                None => found.extend(parts_of_gemini(&data)),
            }
        }
        Some(())
    }

    fn delta(&mut self, event: ProviderEvent) -> Option<(Fragment, String)> {
        match event {
            ProviderEvent::TextDelta { id, text } => Some((Fragment::Text(self.place(&format!("text {id}"))), text)),
            ProviderEvent::ReasoningDelta { id, text } => {
                Some((Fragment::Reasoning(self.place(&format!("reasoning {id}"))), text))
            }
            ProviderEvent::ToolInputDelta { call, text, .. } => Some((Fragment::ToolInput(call), text)),
            _ => None,
        }
    }

    fn place(&mut self, name: &str) -> u32 {
        let known = self.fragments.iter().position(|one| one == name);
        let place = known.unwrap_or_else(|| {
            self.fragments.push(name.to_owned());
            self.fragments.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }
}

/// Where the last whole event ends: right after an empty line.
fn end_of_events(bytes: &[u8]) -> usize {
    let ends = |separator: &[u8]| bytes.windows(separator.len()).rposition(|window| window == separator);
    let ends = [&b"\n\n"[..], b"\n\r\n"].map(|separator| ends(separator).map_or(0, |at| at + separator.len()));
    ends.into_iter().max().unwrap_or_default()
}

/// Text and thoughts in one event of Gemini.
fn parts_of_gemini(data: &str) -> Vec<(Fragment, String)> {
    let Ok(chunk) = serde_json::from_str::<Value>(data) else { return Vec::new() };
    let parts = chunk.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    let of_part = |part: &Value| {
        let text = part.get("text")?.as_str()?.to_owned();
        let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or_default();
        Some((if is_thought { Fragment::Reasoning(0) } else { Fragment::Text(1) }, text))
    };
    parts.into_iter().flatten().filter_map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CapturedBody;
    use annals_providers::wire::Protocol;
    use std::io::Write;

    /// What is published while an answer arrives in pieces of some bytes.
    fn published(protocol: RecordedProtocol, stream: &str, bytes: usize) -> Vec<String> {
        published_as(protocol, StreamCoding::Identity, stream.as_bytes(), bytes)
    }

    fn published_as(protocol: RecordedProtocol, coding: StreamCoding, stream: &[u8], bytes: usize) -> Vec<String> {
        let notices: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = notices.clone();
        let observer = move |notice: &Notice| {
            let line = match notice {
                Notice::Delta(delta) => format!("{:?} {}", delta.fragment, delta.text),
                Notice::Idle { .. } => "end".to_owned(),
                _ => "?".to_owned(),
            };
            heard.lock().unwrap().push(line);
        };
        let mut answers = LiveAnswers::of(Some(Arc::new(observer)));
        answers.expect(7, SessionId::from_parts(1, 1), RequestId::from_parts(1, 1), protocol);
        for piece in stream.chunks(bytes) {
            let piece = CapturedPiece { id: 7, coding, body: CapturedBody::of(piece.to_vec()) };
            answers.piece(&piece, &Redactor::default());
        }
        answers.end(7);
        answers.end(7);
        notices.lock().unwrap().clone()
    }

    #[test]
    fn an_answer_is_published_while_it_arrives_whatever_its_pieces_are() {
        let delta = |text: &str| {
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\r\n\r\n")
        };
        let stream = format!("{}{}data: [DONE]\n\n", delta("Seven "), delta("jars"));
        for bytes in [1, 7, 4_096] {
            let chat = RecordedProtocol::Spoken(Protocol::OpenAiChat);
            let expected = ["Text(0) Seven ", "Text(0) jars", "end"];
            assert_eq!(published(chat, &stream, bytes), expected, "{bytes}");
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(stream.as_bytes()).unwrap();
            let compressed = encoder.finish().unwrap();
            assert_eq!(published_as(chat, StreamCoding::Gzip, &compressed, bytes), expected, "gzip, {bytes}");
        }
    }

    #[test]
    fn thoughts_of_gemini_are_reasoning() {
        let part = |part: &str| format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}}}}]}}\n\n");
        let stream = part(r#"{"text":"hm","thought":true}"#) + &part(r#"{"text":"yes"}"#);
        assert_eq!(published(RecordedProtocol::Gemini, &stream, 9), ["Reasoning(0) hm", "Text(1) yes", "end"]);
    }

    #[test]
    fn what_is_no_stream_is_not_shown_further() {
        let chat = RecordedProtocol::Spoken(Protocol::OpenAiChat);
        assert_eq!(published(chat, "data: {\"choices\": 7}\n\ndata: {}\n\n", 9), ["end"]);
    }
}
