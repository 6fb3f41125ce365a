//! Decodes any bytes as UTF-8, streaming.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Reads bytes as UTF-8. Invalid sequences are replaced by U+FFFD and counted.
pub struct Utf8<R> {
    inner: R,
    raw: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
    ended: bool,
    replaced: Rc<Cell<u64>>,
}

impl<R: Read> Utf8<R> {
    /// Reads `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, raw: Vec::new(), ready: Vec::new(), at: 0, ended: false, replaced: Rc::default() }
    }

    /// The number of replacements so far; shared with the reader.
    pub fn replaced(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.replaced)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 1 << 14];
        let read = self.inner.read(&mut chunk)?;
        self.ended = read == 0;
        self.raw.extend_from_slice(chunk.get(..read).unwrap_or_default());
        self.ready.clear();
        self.at = 0;
        let mut taken = 0;
        for part in self.raw.utf8_chunks() {
            self.ready.extend_from_slice(part.valid().as_bytes());
            taken += part.valid().len();
            let broken = part.invalid();
            // At the very end it may be the start of a character whose rest comes with the next chunk.
            if broken.is_empty() || (!self.ended && taken + broken.len() == self.raw.len() && broken.len() < 4) {
                break;
            }
            self.ready.extend_from_slice("\u{FFFD}".as_bytes());
            self.replaced.set(self.replaced.get() + 1);
            taken += broken.len();
        }
        self.raw.drain(..taken);
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.ready.len() && !self.ended {
            self.fill()?;
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let count = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let (Some((first, rest)), Some(slot)) = (self.0.split_first(), out.first_mut()) else { return Ok(0) };
            (*slot, self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn characters_stay_whole_across_chunks_and_other_bytes_are_replaced_once() {
        let bytes = b"a\xc3\xbc\xf0\x9f\x98\x80 \xff x\xe2\x82";
        let mut reader = Utf8::new(Trickle(bytes));
        let replaced = reader.replaced();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, String::from_utf8_lossy(bytes));
        assert_eq!(replaced.get(), 2);
    }
}
