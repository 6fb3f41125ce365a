//! What a command has written, as it writes it; of an endless output both ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// How much of each end is held, in bytes.
const END: usize = 4 * 1024 * 1024;

/// How much is shown of what there is so far.
const RECENT: usize = 2_000;

/// What a pipe gave so far. Dropping it stops the reading.
pub(super) struct PipeOutput {
    written: Arc<Mutex<Written>>,
    reader: JoinHandle<()>,
}

/// Both ends of a text in bytes.
#[derive(Debug, Default)]
pub(super) struct Written {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl PipeOutput {
    /// Reads a pipe or a terminal to its end.
    pub(super) fn of(mut pipe: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let written = Arc::<Mutex<Written>>::default();
        let held = written.clone();
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match pipe.read(&mut buffer).await {
                    Ok(0) => return,
                    Ok(length) => locked(&held).push(buffer.get(..length).unwrap_or_default()),
                    // A terminal that no process has open any more.
                    Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => return,
                    Err(error) => return tracing::warn!(%error, "the output of a command could not be read"),
                }
            }
        });
        Self { written, reader }
    }

    /// Waits until everybody who could write has closed the pipe.
    pub(super) async fn ended(&mut self) {
        if let Err(error) = (&mut self.reader).await {
            tracing::error!(%error, "the reading of an output ended early");
        }
    }

    /// What there is so far.
    pub(super) fn written(&self) -> MutexGuard<'_, Written> {
        locked(&self.written)
    }
}

impl Drop for PipeOutput {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn locked(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Written {
    fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let (first, rest) = piece.split_at(piece.len().min(END.saturating_sub(self.head.len())));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(END);
        self.tail.drain(..over);
    }

    /// All that was written, in bytes.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How much of it is not held.
    pub(super) fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The text. Bytes that are not UTF-8 are shown as U+FFFD, and so is NUL, which some providers refuse.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match self.omitted() {
            0 => decoded(&[self.head.as_slice(), &tail].concat()),
            omitted => format!("{}\n... {omitted} bytes left out ...\n{}", decoded(&self.head), decoded(&tail)),
        }
    }

    /// The text from a byte on. Whole characters only if `from` is the end of an earlier reading between characters.
    pub(super) fn since(&self, from: u64) -> String {
        if from == 0 {
            return self.text();
        }
        let tail_at = self.total - self.tail.len() as u64;
        let skipped = |at: u64| usize::try_from(from.saturating_sub(at)).unwrap_or(usize::MAX);
        let head = self.head.get(skipped(0)..).unwrap_or_default();
        let tail: Vec<u8> = self.tail.iter().skip(skipped(tail_at)).copied().collect();
        match tail_at.saturating_sub(from.max(self.head.len() as u64)) {
            0 => decoded(&[head, &tail].concat()),
            omitted => format!("{}\n... {omitted} bytes left out ...\n{}", decoded(head), decoded(&tail)),
        }
    }

    /// The end of it, from the beginning of a line: what a cut within one leaves may be the rest of a secret that nothing
    /// gives away any more.
    pub(super) fn recent(&self) -> String {
        let wanted = RECENT.saturating_sub(self.tail.len());
        let from = if self.omitted() == 0 { self.head.len().saturating_sub(wanted) } else { self.head.len() };
        let mut bytes: Vec<u8> = self.head.get(from..).unwrap_or_default().to_vec();
        bytes.extend(self.tail.iter().skip(self.tail.len().saturating_sub(RECENT)));
        let text = decoded(&bytes);
        if bytes.len() as u64 == self.total {
            return text;
        }
        match text.trim_end_matches(['\n', '\r']).split_once(['\n', '\r']) {
            Some((_, lines)) => text.get(text.len() - lines.len() - ends(&text)..).unwrap_or_default().to_owned(),
            None => format!("... a line of more than {RECENT} bytes ...\n"),
        }
    }
}

/// How many bytes of line ends a text ends with.
fn ends(text: &str) -> usize {
    text.len() - text.trim_end_matches(['\n', '\r']).len()
}

fn decoded(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_output_keeps_both_ends_and_says_what_is_between() {
        let mut written = Written::default();
        written.push(b"first\n");
        for _ in 0..200 {
            written.push(&[b'x'; 64 * 1024]);
        }
        written.push(b"\nlast line\n");
        let (text, total) = (written.text(), written.total());
        assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast line\n"));
        assert_eq!(total, 6 + 200 * 64 * 1024 + 11);
        assert_eq!(written.omitted(), total - 2 * END as u64);
        assert!(text.contains(&format!("\n... {} bytes left out ...\n", written.omitted())));
        assert_eq!(written.recent(), "last line\n");
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        let mut written = Written::default();
        written.push(b"a\0b\xff\xc3");
        written.push(b"\xa9");
        assert_eq!((written.text(), written.omitted()), ("a\u{fffd}b\u{fffd}é".into(), 0));
        assert_eq!(written.recent(), written.text());
    }

    #[test]
    fn what_is_shown_of_a_long_output_begins_with_a_line() {
        let mut written = Written::default();
        let secret = format!("API_KEY={}", "a1B2".repeat(1_000));
        written.push(secret.as_bytes());
        assert_eq!(written.recent(), "... a line of more than 2000 bytes ...\n");
        written.push(b"\n");
        assert_eq!(written.recent(), "... a line of more than 2000 bytes ...\n");
        written.push(b"10 %\r20 %\r");
        assert_eq!(written.recent(), "10 %\r20 %\r");
    }
}
