//! Lines of a file, one at a time, however long they are.

use std::io::{self, BufRead, BufReader, Read};

/// The lines of what a reader gives. Of each, at most `keep` bytes are held.
pub(super) struct BoundedLines<R> {
    reader: BufReader<R>,
    keep: usize,
}

/// One line without its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BoundedLine {
    /// Its beginning.
    pub(super) bytes: Vec<u8>,
    /// Its length in bytes.
    pub(super) length: u64,
}

impl<R: Read> BoundedLines<R> {
    /// Reads lines, holding this many bytes of each.
    pub(super) fn of(reader: R, keep: usize) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), keep }
    }

    /// The next line; `None` at the end. A newline at the very end begins no line.
    pub(super) fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        let mut line = BoundedLine::default();
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok((line.length > 0).then_some(line));
            }
            let (piece, used) = match available.iter().position(|byte| *byte == b'\n') {
                Some(end) => (available.get(..end).unwrap_or_default(), end + 1),
                None => (available, available.len()),
            };
            let ended = used > piece.len();
            let room = self.keep.saturating_sub(line.bytes.len());
            line.bytes.extend(piece.iter().take(room));
            line.length += piece.len() as u64;
            self.reader.consume(used);
            if ended {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_counted_whole_and_held_in_part() -> io::Result<()> {
        let long = "x".repeat(200_000);
        let text = format!("a\n\n{long}\nlast");
        let mut lines = BoundedLines::of(text.as_bytes(), 3);
        let mut found = Vec::new();
        while let Some(line) = lines.next()? {
            found.push((String::from_utf8_lossy(&line.bytes).into_owned(), line.length));
        }
        assert_eq!(found, [("a".into(), 1), (String::new(), 0), ("xxx".into(), 200_000), ("las".to_string(), 4)]);
        assert_eq!(BoundedLines::of("a\n".as_bytes(), 9).next()?.map(|line| line.length), Some(1));
        assert_eq!(BoundedLines::of("".as_bytes(), 9).next()?, None);
        Ok(())
    }
}
