//! Bytes to server-sent events. Each byte is looked at once, however the bytes are split into pieces.

use super::{Broken, ServerEvent};
use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

/// Splits a stream of bytes into events.
#[derive(Debug)]
pub(super) struct EventSplitter {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Whether the last byte was a carriage return: a line feed then ends the same line.
    after_return: bool,
    /// Whether a line was complete: a byte order mark may only precede the first one.
    begun: bool,
    /// Bytes since the last blank line, line ends apart.
    size: usize,
    limit: usize,
    /// The event whose lines are arriving.
    event: ServerEvent,
    ready: VecDeque<ServerEvent>,
}

impl EventSplitter {
    /// A splitter for events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let (event, ready) = (ServerEvent::default(), VecDeque::new());
        Self { line: Vec::new(), after_return: false, begun: false, size: 0, limit, event, ready }
    }

    /// The next complete event.
    pub(super) fn pop(&mut self) -> Option<ServerEvent> {
        self.ready.pop_front()
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When an event is too large or is not UTF-8; the events before it are ready.
    pub(super) fn push(&mut self, mut piece: &[u8]) -> Result<(), Broken> {
        while let Some(first) = piece.first() {
            if take(&mut self.after_return) && *first == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.size += part.len();
            if self.size > self.limit {
                return Err(Broken::Event(self.limit));
            }
            self.line.extend_from_slice(part);
            piece = rest;
            if let Some((end, rest)) = rest.split_first() {
                self.after_return = *end == b'\r';
                self.end_line()?;
                piece = rest;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Broken> {
        let bytes = take(&mut self.line);
        let mut line = str::from_utf8(&bytes).map_err(Broken::Encoding)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event();
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            self.field(field, value.strip_prefix(' ').unwrap_or(value));
        }
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" if value == "message" => self.event.name.clear(),
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.event.data.extend([value, "\n"]),
            "id" if !value.contains('\0') => value.clone_into(&mut self.event.id),
            "retry" if value.bytes().all(|digit| digit.is_ascii_digit()) => {
                self.event.retry = value.parse().ok().map(Duration::from_millis).or(self.event.retry);
            }
            // A comment, whose field is empty, or a field of a later specification.
            _ => {}
        }
    }

    /// Completes an event, which has at least one line of data. Id and retry time outlast one without data.
    fn end_event(&mut self) {
        self.size = 0;
        let (name, mut data) = (take(&mut self.event.name), take(&mut self.event.data));
        if data.pop().is_some() {
            let (id, retry) = (self.event.id.clone(), self.event.retry.take());
            self.ready.push_back(ServerEvent { name, id, data, retry });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 32;

    /// The events of a text that arrives in pieces, and how it ends.
    fn split(pieces: &[&[u8]]) -> (Vec<ServerEvent>, Result<(), Broken>) {
        let mut splitter = EventSplitter::new(LIMIT);
        let end = pieces.iter().try_for_each(|piece| splitter.push(piece));
        (std::iter::from_fn(|| splitter.pop()).collect(), end)
    }

    fn event(name: &str, id: &str, data: &str, retry: Option<u64>) -> ServerEvent {
        let (name, id, data) = (name.to_owned(), id.to_owned(), data.to_owned());
        ServerEvent { name, id, data, retry: retry.map(Duration::from_millis) }
    }

    /// The events of a text, which are the same for each place at which it can be cut, and byte by byte.
    fn of(text: &str) -> Vec<ServerEvent> {
        let bytes = text.as_bytes();
        let (events, end) = split(&[bytes]);
        assert_eq!(end, Ok(()), "{text:?}");
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(split(&[first, second]), (events.clone(), Ok(())), "{text:?}, cut at {at}");
        }
        let each: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(split(&each), (events.clone(), Ok(())), "{text:?}, byte by byte");
        events
    }

    #[test]
    fn lines_end_with_a_line_feed_a_return_or_both() {
        let text = "event: a\nid: 1\ndata: x\ndata: y\n\n: comment\n\ndata: z\n\n";
        let expected = [event("a", "1", "x\ny", None), event("", "1", "z", None)];
        assert_eq!(of(text), expected);
        assert_eq!(of(&text.replace('\n', "\r")), expected);
        assert_eq!(of(&text.replace('\n', "\r\n")), expected);
        assert_eq!(of("data: x\r\n\ndata: y\n\r\n"), [event("", "", "x", None), event("", "", "y", None)]);
        assert_eq!(split(&[b"data: x\r\r"]).0, [event("", "", "x", None)], "no line feed is awaited");
    }

    #[test]
    fn fields_are_read_as_the_specification_says() {
        for (text, expected) in [
            ("data\n\n", vec![event("", "", "", None)]),
            ("data:\ndata\n\n", vec![event("", "", "\n", None)]),
            ("data:  x: y \n\n", vec![event("", "", " x: y ", None)]),
            ("Data: x\n data: x\ndatas: x\n\n", vec![]),
            ("event: a\n\ndata: x\n\n", vec![event("", "", "x", None)]),
            ("event: message\ndata: x\n\n", vec![event("", "", "x", None)]),
            ("id: 1\n\ndata: x\n\nid\ndata: y\n\n", vec![event("", "1", "x", None), event("", "", "y", None)]),
            ("id: a\0b\ndata: x\n\n", vec![event("", "", "x", None)]),
            ("retry: 50\n\ndata: x\n\ndata: y\n\n", vec![event("", "", "x", Some(50)), event("", "", "y", None)]),
            ("retry: 5s\nretry: -1\nretry:\ndata: x\n\n", vec![event("", "", "x", None)]),
            ("retry: 99999999999999999999\n\ndata: x\n\n", vec![event("", "", "x", None)]),
            ("data: x\n\ndata: y\n", vec![event("", "", "x", None)]),
            ("\n\n\r\n\n", vec![]),
            ("data: ü\u{2028}\n\n", vec![event("", "", "ü\u{2028}", None)]),
        ] {
            assert_eq!(of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_ignored_at_the_beginning_alone() {
        assert_eq!(of("\u{feff}data: x\n\n\u{feff}data: y\n\n"), [event("", "", "x", None)]);
        assert_eq!(of("\u{feff}\ndata: \u{feff}\n\n"), [event("", "", "\u{feff}", None)]);
        assert_eq!(of("\u{feff}\u{feff}data: x\n\n"), []);
    }

    #[test]
    fn an_event_is_bounded_over_its_lines_and_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let fits = format!("data: {}{end}data: {}{end}{end}", "0".repeat(10), "1".repeat(10));
            assert_eq!(of(&fits.repeat(3)).len(), 3, "{end:?}");
            let exceeds = fits.replacen('0', "00", 1);
            for pieces in [vec![exceeds.as_bytes()], exceeds.as_bytes().chunks(3).collect()] {
                assert_eq!(split(&pieces), (vec![], Err(Broken::Event(LIMIT))), "{end:?}");
            }
        }
        let comments = format!("{}\n", ":".repeat(LIMIT / 2)).repeat(3);
        assert_eq!(split(&[comments.as_bytes()]).1, Err(Broken::Event(LIMIT)));
    }

    #[test]
    fn a_line_without_an_end_is_kept_up_to_the_limit_alone() {
        let mut splitter = EventSplitter::new(1 << 20);
        let end = (0..).find_map(|_| splitter.push(&[b'a'; 1000]).err());
        assert_eq!(end, Some(Broken::Event(1 << 20)));
        assert!(splitter.line.len() <= 1 << 20);
    }

    #[test]
    fn what_is_not_utf_8_ends_the_answer_after_the_events_before_it() {
        let (events, end) = split(&[b"data: x\n\ndata: \xc3", b"\xa4\n\ndata: \xff\xfe\n\n"]);
        assert_eq!(events, [event("", "", "x", None), event("", "", "ä", None)]);
        assert!(matches!(end, Err(Broken::Encoding(_))), "{end:?}");
    }

    proptest! {
        #[test]
        fn the_same_bytes_give_the_same_events_however_they_are_split(
            text in "((data|event|id|retry|:)(: ?)?[a1\r\n]{0,6}(\n|\r|\r\n){1,2}){0,8}",
            cuts in proptest::collection::vec(1usize..7, 0..60),
        ) {
            let (mut pieces, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(split(&pieces), split(&[text.as_bytes()]));
        }
    }
}
