//! Changing a file: its former content, writing it whole or not at all, and the difference.

use super::editor_files::{held, written};
use super::file_content::{FileContent, WHOLE};
use super::seen_files::{FileKnowledge, Stamp};
use super::stop_signal::StopSignal;
use super::workplace::Workplace;
use super::{carry, leftovers, open};
use annals_core::{Json, SessionId};
use annals_runtime::tools::{ToolError, ToolOutput};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::from_utf8;
use std::time::Duration;

/// The longest difference that is recorded, in bytes. The files themselves are captured elsewhere.
const DIFFERENCE: usize = 64 * 1024;

/// What some editors put before a text.
const MARK: &str = "\u{feff}";

/// A file before a change.
pub(super) struct FileBefore {
    content: FileContent,
    file: File,
    found: Metadata,
}

/// The file at a resolved path, if there is one. A file without write permission is refused: replacing it would
/// bypass that permission.
pub(super) fn before(place: &Workplace, path: &Path, stop: &StopSignal) -> Result<Option<FileBefore>, ToolError> {
    let Some((mut file, found)) = open::opened(place, path)? else { return Ok(None) };
    if found.permissions().readonly() {
        return Err(format!("{} is read-only.", place.shown(path)).into());
    }
    let content = FileContent::of(&mut file, &found, stop).map_err(|error| open::trouble(place, path, &error))?;
    let content = match place.editor() {
        Some(editor) => held(editor, path, content),
        None => content,
    };
    Ok(Some(FileBefore { content, file, found }))
}

/// Edits the text of a file: of its text without a byte order mark, `edited` gives the new one and what was done in words. It is given
/// how the file is shown as well.
pub(super) fn edit_text(
    place: &Workplace,
    session: SessionId,
    path: &str,
    stop: &StopSignal,
    edited: impl FnOnce(&str, &str) -> Result<(String, String), ToolError>,
) -> Result<ToolOutput, ToolError> {
    let _changing = place.seen().changing();
    let path = place.resolve(path).map_err(|error| format!("{path}: {error}"))?;
    let shown = place.shown(&path);
    let Some(before) = before(place, &path, stop)? else { return Err(open::missing(place, &path)) };
    before.refuse_changed(place, session, &path)?;
    let Some(bytes) = before.bytes() else {
        return Err(format!("{shown} is too long to edit: more than {WHOLE} bytes.").into());
    };
    let old = from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8; it cannot be edited as text."))?;
    let (mark, text) = old.strip_prefix(MARK).map_or(("", old), |text| (MARK, text));
    let (text, did) = edited(&shown, text)?;
    let new = format!("{mark}{text}");
    let lost = put(place, session, &path, Some(&before), new.as_bytes())?;
    Ok(tool_output(place, session, &path, &did, (Some(old), &new), &lost))
}

impl FileBefore {
    /// Its bytes, unless it is very long.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            FileContent::Whole(bytes) => Some(bytes),
            FileContent::Large { .. } => None,
        }
    }

    /// What a session knows of it.
    pub(super) fn known(&self, place: &Workplace, session: SessionId, path: &Path) -> FileKnowledge {
        place.seen().known(session, path, &Stamp::of(&self.content))
    }

    /// Refuses a file that changed since the session read it.
    pub(super) fn refuse_changed(&self, place: &Workplace, session: SessionId, path: &Path) -> Result<(), ToolError> {
        match self.known(place, session, path) {
            FileKnowledge::Changed => {
                let shown = place.shown(path);
                Err(format!("{shown} has changed since you read it. Read it again before you change it.").into())
            }
            FileKnowledge::Unread | FileKnowledge::Current => Ok(()),
        }
    }
}

/// The attributes that a changed file lost.
pub(super) type LostAttributes = Vec<&'static str>;

/// Replaces a file, completely or not at all, with its owner and permissions as far as the system allows;
/// creates it if it does not exist.
pub(super) fn put(
    place: &Workplace,
    session: SessionId,
    path: &Path,
    before: Option<&FileBefore>,
    bytes: &[u8],
) -> Result<LostAttributes, ToolError> {
    if bytes.len() as u64 > WHOLE {
        return Err(format!("The content is too long: more than {WHOLE} bytes.").into());
    }
    let trouble = |error: io::Error| open::trouble(place, path, &error);
    let lost = match place.editor() {
        Some(editor) => {
            std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(trouble)?;
            match written(editor, path, bytes) {
                true => LostAttributes::new(),
                false => replace(place, path, before, bytes).map_err(trouble)?,
            }
        }
        None => replace(place, path, before, bytes).map_err(trouble)?,
    };
    place.seen().note(session, path, Stamp::bytes(bytes));
    Ok(lost)
}

fn replace(place: &Workplace, path: &Path, before: Option<&FileBefore>, bytes: &[u8]) -> io::Result<LostAttributes> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)?;
    // Less what the user's mask removes. Before the content: the file's permissions protect it from the first byte.
    let mode = before.map_or(0o666, |before| before.found.permissions().mode() & 0o666);
    let fresh = Permissions::from_mode(mode);
    let recorded = place.records().map(|records| leftovers::record(records, folder)).transpose()?;
    let mut builder = tempfile::Builder::new();
    match &recorded {
        Some((_, name)) => builder.prefix(name).rand_bytes(0),
        None => builder.prefix(leftovers::PREFIX),
    };
    let mut file = builder.permissions(fresh).tempfile_in(folder)?;
    let lost = match before {
        Some(before) => carry::over(&before.file, &before.found, file.as_file())?,
        None => LostAttributes::new(),
    };
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(lost)
}

/// The answer about a change: how many lines were added and removed, and for readers the difference itself.
pub(super) fn tool_output(
    place: &Workplace,
    session: SessionId,
    path: &Path,
    did: &str,
    (before, after): (Option<&str>, &str),
    lost: &LostAttributes,
) -> ToolOutput {
    let shown = place.shown(path);
    let old = before.unwrap_or_default();
    let mut config = TextDiff::configure();
    let compared = config.timeout(Duration::from_secs(2)).diff_lines(old, after);
    let count = |tag: ChangeTag| compared.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let from = if before.is_some() { format!("a/{shown}") } else { "/dev/null".into() };
    let unified = compared.unified_diff().context_radius(3).header(&from, &format!("b/{shown}")).to_string();
    let unified = (unified.len() <= DIFFERENCE).then_some(unified);
    let not_kept = match lost.is_empty() {
        true => String::new(),
        false => format!(" The system did not let it keep {}.", lost.join(" and ")),
    };
    let content = place.seen().recorded(session, path, &Stamp::bytes(after.as_bytes()));
    let structured = json!({
        "path": shown, "added": added, "removed": removed, "diff": unified, "content": content,
    });
    ToolOutput {
        structured: Some(Json::canonical(&structured)),
        ..ToolOutput::text(format!("{did} {shown} (+{added} -{removed} lines).{not_kept}"))
    }
}

/// The answer about a file that was removed.
pub(super) fn removal_output(place: &Workplace, path: &Path, before: &str) -> ToolOutput {
    let shown = place.shown(path);
    let removed = before.lines().count();
    let diff = TextDiff::from_lines(before, "").unified_diff().header(&format!("a/{shown}"), "/dev/null").to_string();
    let diff = (diff.len() <= DIFFERENCE).then_some(diff);
    let structured = json!({ "path": shown, "added": 0, "removed": removed, "diff": diff });
    ToolOutput {
        structured: Some(Json::canonical(&structured)),
        ..ToolOutput::text(format!("Deleted {shown} (-{removed} lines)."))
    }
}

/// Whether every line of a text ends in CRLF.
pub(super) fn is_crlf(text: &str) -> bool {
    text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count()
}

/// A text with CRLF line ends.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}
