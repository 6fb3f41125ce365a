//! Text files of other programs: UTF-8 with or without a byte order mark, UTF-16 with one, and such files compressed with zstd. Read
//! in bounded memory.

use super::compressed::{self, ZstdFrames};
use super::report_file::{self, EmbeddedExport};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// How many bytes are read at a time.
const CHUNK: usize = 1 << 16;

/// The error for a path that is a pipe, a device or a socket.
pub const NOT_REGULAR: &str = "not a regular file (a pipe, device or socket)";

/// A text file of any encoding, read as UTF-8. In UTF-16, half of a surrogate pair or of a unit reads as the byte 0xFF,
/// which is not UTF-8: readers replace and count it like any other such byte.
/// A report (`annals report`) reads as the export in it, a file compressed with zstd as its content.
#[derive(Debug)]
pub struct TextFile {
    file: File,
    source: TextSource,
    /// The length of the file in bytes.
    pub bytes: u64,
    utf16: Option<Utf16>,
    /// Whether a byte order mark is left alone: an export has none.
    as_it_is: bool,
}

/// Where bytes come from.
#[derive(Debug)]
enum TextSource {
    Plain(BufReader<File>),
    Report(Box<BufReader<EmbeddedExport>>),
    Compressed(Box<BufReader<ZstdFrames>>),
}

impl TextFile {
    /// Opens a file, past its byte order mark.
    ///
    /// # Errors
    /// When it cannot be read, or is not a regular file: a pipe might never end, or never begin.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::begun(path, false)
    }

    /// Opens an export, or the one in a report. A byte order mark is not skipped, since the format has none.
    pub fn open_export(path: &Path) -> io::Result<Self> {
        Self::begun(path, true)
    }

    fn begun(path: &Path, as_it_is: bool) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        if !meta.is_file() && !meta.is_dir() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
        }
        let file = File::open(path)?;
        let source = TextSource::Plain(BufReader::new(file.try_clone()?));
        let mut text = Self { file, source, bytes: meta.len(), utf16: None, as_it_is };
        text.begin()?;
        Ok(text)
    }

    /// Starts over at the first line.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.begin()
    }

    /// Whether it is a report, of which the export is read.
    pub fn is_report(&self) -> bool {
        matches!(self.source, TextSource::Report(_))
    }

    fn begin(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::with_capacity(CHUNK, self.file.try_clone()?);
        if report_file::is_report(file.fill_buf()?) {
            let export = BufReader::with_capacity(CHUNK, EmbeddedExport::find(file)?);
            (self.source, self.utf16) = (TextSource::Report(Box::new(export)), None);
            return Ok(());
        }
        if !self.as_it_is && compressed::is_zstd(file.fill_buf()?) {
            let frames = BufReader::with_capacity(CHUNK, ZstdFrames::new(file));
            (self.source, self.utf16) = (TextSource::Compressed(Box::new(frames)), None);
            return Ok(());
        }
        let (skipped, utf16) = match file.fill_buf()? {
            _ if self.as_it_is => (0, None),
            [0xEF, 0xBB, 0xBF, ..] => (3, None),
            [0xFF, 0xFE, ..] => (2, Some(Utf16::new(u16::from_le_bytes))),
            [0xFE, 0xFF, ..] => (2, Some(Utf16::new(u16::from_be_bytes))),
            _ => (0, None),
        };
        file.consume(skipped);
        (self.source, self.utf16) = (TextSource::Plain(file), utf16);
        Ok(())
    }
}

impl BufRead for TextFile {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match (&mut self.source, &mut self.utf16) {
            (TextSource::Plain(file), None) => file.fill_buf(),
            (TextSource::Plain(file), Some(utf16)) => utf16.fill(file),
            (TextSource::Report(export), _) => export.fill_buf(),
            (TextSource::Compressed(frames), _) => frames.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match (&mut self.source, &mut self.utf16) {
            (TextSource::Plain(file), None) => file.consume(amount),
            (TextSource::Plain(_), Some(utf16)) => utf16.at += amount,
            (TextSource::Report(export), _) => export.consume(amount),
            (TextSource::Compressed(frames), _) => frames.consume(amount),
        }
    }
}

impl Read for TextFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), ready.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}

/// Decodes UTF-16.
#[derive(Debug)]
struct Utf16 {
    unit: fn([u8; 2]) -> u16,
    /// Decoded text, as UTF-8.
    ready: Vec<u8>,
    /// How many bytes of `ready` were consumed.
    at: usize,
    /// The first byte of a unit whose second byte is in the next chunk.
    half: Option<u8>,
    /// The high surrogate of a pair whose low surrogate is in the next chunk.
    high: Option<u16>,
}

impl Utf16 {
    fn new(unit: fn([u8; 2]) -> u16) -> Self {
        Self { unit, ready: Vec::new(), at: 0, half: None, high: None }
    }

    fn fill(&mut self, file: &mut BufReader<File>) -> io::Result<&[u8]> {
        while self.at >= self.ready.len() {
            (self.at, self.ready) = (0, Vec::new());
            let chunk = file.fill_buf()?;
            if chunk.is_empty() {
                let cut = self.half.take().is_some() | self.high.take().is_some();
                self.ready.extend(cut.then_some(0xFF));
                break;
            }
            let used = chunk.len();
            let bytes: Vec<u8> = self.half.take().into_iter().chain(chunk.iter().copied()).collect();
            file.consume(used);
            for bytes in bytes.chunks(2) {
                match bytes {
                    [one, two] => self.push((self.unit)([*one, *two])),
                    rest => self.half = rest.first().copied(),
                }
            }
        }
        Ok(self.ready.get(self.at..).unwrap_or_default())
    }

    fn push(&mut self, unit: u16) {
        let high = self.high.take();
        let is_low = (0xDC00..0xE000).contains(&unit);
        if high.is_some() && !is_low {
            self.ready.push(0xFF);
        }
        if (0xD800..0xDC00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        let units = high.filter(|_| is_low).into_iter().chain([unit]);
        for decoded in char::decode_utf16(units) {
            match decoded {
                Ok(character) => self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(_) => self.ready.push(0xFF),
            }
        }
    }
}

/// Whether a file begins like UTF-16 without a byte order mark: every other byte of its beginning is zero.
pub fn is_unmarked_utf16(start: &[u8]) -> bool {
    let zeros = |parity: usize| start.iter().skip(parity).step_by(2).all(|byte| *byte == 0);
    let letters = |parity: usize| start.iter().skip(parity).step_by(2).all(|byte| *byte != 0);
    start.len() >= 4 && (zeros(0) && letters(1) || zeros(1) && letters(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        std::fs::write(&path, bytes).unwrap();
        let mut file = TextFile::open(&path).unwrap();
        let (mut once, mut again) = (Vec::new(), Vec::new());
        file.read_to_end(&mut once).unwrap();
        file.rewind().unwrap();
        file.read_to_end(&mut again).unwrap();
        assert_eq!(once, again);
        once
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_utf_16_is_decoded() {
        let text = "a\u{fc}\u{1F600}\n".repeat(CHUNK / 8 + 1);
        let utf16 = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
        };
        assert_eq!(read(text.as_bytes()), text.as_bytes());
        assert_eq!(read(&["\u{FEFF}".as_bytes(), text.as_bytes()].concat()), text.as_bytes());
        assert_eq!(read(&utf16(u16::to_le_bytes)), text.as_bytes());
        assert_eq!(read(&utf16(u16::to_be_bytes)), text.as_bytes());
    }

    #[test]
    fn halves_of_utf_16_are_no_text() {
        assert_eq!(read(b"\xff\xfea\0\x3d\xd8b\0"), b"a\xffb");
        let paired = ["a".as_bytes(), &[0xFF], "\u{1F600}".as_bytes()].concat();
        assert_eq!(read(b"\xff\xfea\0\x3d\xd8\x3d\xd8\x00\xde"), paired);
        assert_eq!(read(b"\xff\xfea\0\x00\xde"), b"a\xff");
        assert_eq!(read(b"\xff\xfea\0b"), b"a\xff");
        assert_eq!(read(b"\xff\xfea\0\x3d\xd8"), b"a\xff");
    }

    #[test]
    fn utf_16_without_a_mark_is_known_by_its_zeros() {
        assert!(is_unmarked_utf16(b"{\0\"\0") && is_unmarked_utf16(b"\0{\0\""));
        assert!(!is_unmarked_utf16(b"{\"a\"") && !is_unmarked_utf16(&[0; 16]) && !is_unmarked_utf16(b"{\0"));
    }
}
