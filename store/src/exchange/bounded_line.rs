//! Lines of bounded length and structure: a file from outside may hold any (`fixtures/FORMAT.md`, section 1).

use std::io::{self, BufRead};

/// The longest line, in bytes without its line feed.
pub(super) const LINE_MAX: usize = 64 << 20;

/// The longest header, in bytes. Lines that are not longer are not looked at more closely.
const HEADER_MAX: usize = 1 << 20;

/// How many marks of structure (`,`, `:`, `[` and `{` outside of texts) a longer line may have: each takes some 100 bytes when it is
/// read.
const MARKS_MAX: usize = 1_000_000;

/// Appends the next line with its line feed; of one that is longer than [`LINE_MAX`], a beginning that is longer, too. Gives how many
/// bytes were read; 0 at the end.
pub(crate) fn read_line(source: &mut (impl BufRead + ?Sized), line: &mut Vec<u8>) -> io::Result<u64> {
    let (start, mut read) = (line.len(), 0);
    loop {
        let ready = match source.fill_buf() {
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', ready).map(|at| at + 1);
        let used = end.unwrap_or(ready.len());
        let room = (LINE_MAX + 2).saturating_sub(line.len() - start);
        line.extend_from_slice(ready.get(..used.min(room)).unwrap_or_default());
        source.consume(used);
        read += used as u64;
        if end.is_some() || used == 0 {
            return Ok(read);
        }
    }
}

/// Why a line is too large to be read; `None` if it is not.
pub(super) fn too_large(line: &[u8]) -> Option<&'static str> {
    if line.len() <= HEADER_MAX {
        return None;
    }
    if line.len() > LINE_MAX {
        return Some("longer than 64 MiB");
    }
    if !line.starts_with(br#"{"at":"#) && !line.starts_with(br#"{"blob":"#) {
        return Some("a header longer than 1 MiB");
    }
    let (mut marks, mut in_text, mut escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => marks += 1,
            _ => {}
        }
    }
    (marks > MARKS_MAX).then_some("more than 1,000,000 values")
}

#[cfg(test)]
mod tests {
    use super::{LINE_MAX, MARKS_MAX, read_line, too_large};
    use std::io::{BufReader, Read};

    #[test]
    fn a_line_without_end_is_read_in_bounded_memory() {
        let long = std::io::repeat(b' ').take(LINE_MAX as u64 * 4).chain(&b"\nnext\n"[..]);
        let mut source = BufReader::new(long);
        let mut line = Vec::new();
        assert_eq!(read_line(&mut source, &mut line).unwrap(), LINE_MAX as u64 * 4 + 1);
        assert!(line.len() <= LINE_MAX + 2 && too_large(&line).is_some());
        line.clear();
        assert_eq!((read_line(&mut source, &mut line).unwrap(), line.as_slice()), (5, &b"next\n"[..]));
        assert_eq!(read_line(&mut source, &mut line).unwrap(), 0);
    }

    #[test]
    fn structure_is_limited_and_texts_are_not() {
        let array = |item: &str| format!("{{\"at\":[{}]}}", [item].repeat(MARKS_MAX).join(","));
        assert_eq!(too_large(array("0").as_bytes()), Some("more than 1,000,000 values"));
        assert_eq!(too_large(format!("{{\"blob\":\"{}\"}}", ",[\\\"".repeat(MARKS_MAX)).as_bytes()), None);
        assert!(too_large(format!("{{\"ancestors\":[{}]}}", "0,".repeat(1 << 20)).as_bytes()).is_some());
    }
}
