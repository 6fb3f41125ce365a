//! Tables that complete an OpenCode V2 event log: in `NAME.projection.json` next to `NAME.events.jsonl`, or in the database.

use super::super::foreign::{JsonObject, Notes, string};
use super::super::text::TextFile;
use super::epochs::EpochRow;
use super::info::OpenCodeSession;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest projection that is read, in bytes.
const PROJECTION_MAX: u64 = 256 * 1024 * 1024;

/// Rows of those tables, for one session.
#[derive(Clone, Debug, Default)]
pub struct ProjectionRows {
    /// The session, for an event log whose start is missing.
    pub info: Option<OpenCodeSession>,
    /// Its last context epoch.
    pub epoch: Option<EpochRow>,
    /// Names of damage: values that were not recognised.
    pub unsound: Vec<String>,
}

/// The path of the projection that belongs to a file of event rows.
pub fn path_of(events: &Path) -> Option<PathBuf> {
    let name = events.file_name()?.to_str()?;
    let stem = name.strip_suffix(".events.jsonl").or_else(|| name.strip_suffix(".jsonl"))?;
    Some(events.with_file_name(format!("{stem}.projection.json")))
}

/// Whether a file is a projection, by its name.
pub fn is_projection(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(".projection.json"))
}

/// Reads the projection of a file of event rows, for one session. Empty if there is no projection.
pub fn read(events: &Path, session: &str) -> ProjectionRows {
    let mut projection = ProjectionRows::default();
    let Some(path) = path_of(events) else { return projection };
    let Ok(meta) = fs::metadata(&path) else { return projection };
    let unsound = |projection: &mut ProjectionRows| projection.unsound.push("projection: not recognised".into());
    if meta.len() > PROJECTION_MAX {
        unsound(&mut projection);
        return projection;
    }
    let notes = Notes::default();
    let mut text = String::new();
    if TextFile::open(&path).and_then(|mut file| file.read_to_string(&mut text)).is_err() {
        unsound(&mut projection);
        return projection;
    }
    let Ok(object) = JsonObject::parse(&text, "projection", &notes) else {
        unsound(&mut projection);
        return projection;
    };
    let row = object.object("session").or_else(|| object.objects("session").into_iter().next());
    projection.info = row.map(|row| {
        row.skip_all();
        OpenCodeSession::of_row(&row)
    });
    for row in object.objects("session_context_epoch") {
        if row.text("session_id").as_deref() != Some(session) {
            continue;
        }
        match epoch(&row, &notes) {
            Some(epoch) => projection.epoch = Some(epoch),
            None => projection.unsound.push("session_context_epoch: not recognised".into()),
        }
    }
    projection
}

fn epoch(row: &JsonObject<'_>, notes: &Notes) -> Option<EpochRow> {
    let raw = row.raw("snapshot")?.get();
    // The column is text; a projection contains it as text or as the JSON in it.
    let decoded = string(raw);
    EpochRow::read(row.text("baseline")?, decoded.as_deref().unwrap_or(raw), row.number("baseline_seq")?, notes)
}
