//! Lines that a thread begins with as copies of another one: that one counts what their answers used.

use super::library::RolloutLibrary;
use super::record::RolloutRecord;
use crate::foreign::{JsonObject, Notes, compact};
use crate::lines::{LineReader, SourceLine};
use annals_core::Digest;
use std::io;
use std::path::Path;

/// How long after its start a thread may get copies, in milliseconds. Copies that keep their times are always known.
const COPYING: u64 = 120_000;

/// The last line of a file that is a copy of the thread `original`, by content; `None` if that thread is not there.
pub fn last_copied_line(
    path: &Path,
    created: u64,
    original: &str,
    library: &RolloutLibrary,
) -> io::Result<Option<u64>> {
    let Some(first) = library.segment(original) else { return Ok(None) };
    let mut lines = Fingerprints::open(first)?;
    let mut copies = Fingerprints::open(path)?;
    let mut last = 0;
    while let Some(copy) = copies.next()? {
        let copied = loop {
            match lines.next()? {
                Some(line) if line.content == copy.content => break Some(line),
                // Codex leaves out some lines, such as reasoning.
                Some(_) => {}
                None => break None,
            }
        };
        match copied {
            Some(line) if copy.at <= created.saturating_add(COPYING) || copy.at == line.at => last = copy.number,
            _ => break,
        }
    }
    Ok(Some(last))
}

/// A line that has a part in answers or in what they used.
struct Fingerprint {
    number: u64,
    at: u64,
    content: Digest,
}

struct Fingerprints(LineReader<crate::TextFile>);

impl Fingerprints {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(LineReader::open(path)?))
    }

    fn next(&mut self) -> io::Result<Option<Fingerprint>> {
        let notes = Notes::default();
        while let Some(line) = self.0.next()? {
            let SourceLine::Text { number, text, .. } = line else { continue };
            let Some(record) = RolloutRecord::parse(&text, &notes) else { continue };
            let content = match record.kind.as_str() {
                "response_item" => content(&record.payload),
                "event_msg" if record.payload.text("type").as_deref() == Some("token_count") => {
                    record.payload.raw("info").map(|info| compact(info.get()))
                }
                _ => None,
            };
            record.payload.skip_all();
            let at = record.at.unwrap_or_default();
            drop(record);
            notes.take();
            if let Some(content) = content {
                return Ok(Some(Fingerprint { number, at, content: Digest::of(content.as_bytes()) }));
            }
        }
        Ok(None)
    }
}

/// What an item says, without what a copy may have otherwise.
fn content(payload: &JsonObject<'_>) -> Option<String> {
    const OTHERWISE: [&str; 4] = ["id", "status", "phase", "internal_chat_message_metadata_passthrough"];
    let mut names: Vec<String> = payload.names().map(str::to_owned).collect();
    names.retain(|name| !OTHERWISE.contains(&name.as_str()));
    names.sort();
    let members = names.iter().filter_map(|name| Some(format!("{name}\0{}\0", compact(payload.raw(name)?.get()))));
    Some(members.collect()).filter(|text: &String| !text.is_empty())
}
