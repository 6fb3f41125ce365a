//! The export inside of a report (`docs/report.md`): one line of base64 of gzip between two lines of HTML.

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::read::DecoderReader;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// How a report begins.
pub const REPORT_BEGINNING: &str =
    "<!doctype html>\n<!-- annals report 1: annals verify FILE proves the export in this file -->\n";
/// The line before that of the export.
pub const EXPORT_LINE: &str = "<script type=\"application/octet-stream\" id=\"annals-export\">\n";

/// No line before the export is longer.
const LINE_MAX: u64 = 1 << 20;

/// Whether a file begins like a report.
pub(crate) fn is_report(start: &[u8]) -> bool {
    start.starts_with(REPORT_BEGINNING.as_bytes())
}

/// Reads the export in a report as it is decoded, in bounded memory.
#[derive(Debug)]
pub(crate) struct EmbeddedExport(GzDecoder<DecoderReader<'static, GeneralPurpose, OneLine>>);

impl EmbeddedExport {
    /// Finds the export.
    pub fn find(mut file: BufReader<File>) -> io::Result<Self> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if file.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "this report contains no export"));
            }
            if line == EXPORT_LINE.as_bytes() {
                return Ok(Self(GzDecoder::new(DecoderReader::new(OneLine(file), &STANDARD))));
            }
        }
    }
}

impl Read for EmbeddedExport {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let wrong = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => io::Error::new(io::ErrorKind::InvalidData, format!("the export in this report is damaged: {error}")),
        };
        self.0.read(out).map_err(wrong)
    }
}

/// The bytes up to the end of a line.
#[derive(Debug)]
struct OneLine(BufReader<File>);

impl Read for OneLine {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.0.fill_buf()?;
        let end = ready.iter().position(|byte| *byte == b'\n').unwrap_or(ready.len()).min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..end), ready.get(..end)) {
            to.copy_from_slice(from);
        }
        self.0.consume(end);
        Ok(end)
    }
}
