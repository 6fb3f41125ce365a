//! Sessions of OpenCode before its database: one JSON file for each session, message and part, below `storage/`.

use super::super::foreign::{JsonObject, Notes};
use super::super::sink::{ImportSink, ReadSourceError};
use super::info::OpenCodeSession;
use super::v1_export::FinalStateReader;
use annals_core::Time;
use std::io;
use std::path::{Path, PathBuf};

/// The form in `origin`.
const FORM: &str = "v1-storage";

/// Whether a file describes a session, by its place: `storage/session/PROJECT/ses_ID.json`.
pub fn is_stored_session(path: &Path) -> bool {
    let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let is_session = named(path).is_some_and(|name| name.starts_with("ses_") && name.ends_with(".json"));
    is_session && storage(path).is_some_and(|(storage, _)| named(&storage).as_deref() == Some("storage"))
}

/// The folder `storage` of a session, and whether it is laid out as before August 2025.
fn storage(path: &Path) -> Option<(PathBuf, bool)> {
    let project = path.parent()?;
    let sessions = project.parent().filter(|folder| folder.ends_with("session"))?;
    Some((sessions.parent()?.to_owned(), project.ends_with("info")))
}

/// The description of a stored session.
pub fn stored_session(path: &Path) -> io::Result<OpenCodeSession> {
    let text = std::fs::read_to_string(path)?;
    let quiet = Notes::default();
    let info = JsonObject::parse(&text, "info", &quiet).map_err(io::Error::from)?;
    Ok(OpenCodeSession::read(&info))
}

/// Reads a stored session.
///
/// # Errors
/// When a file of it cannot be read.
pub fn read(path: &Path, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| ReadSourceError::Io { path, source }
    };
    let text = std::fs::read_to_string(path).map_err(failed(path))?;
    let notes = Notes::default();
    let (info, revert, updated) = {
        let info = JsonObject::parse(&text, "info", &notes).map_err(|error| failed(path)(error.into()))?;
        let time = info.object("time");
        time.iter().for_each(JsonObject::skip_all);
        let updated = time.and_then(|time| time.number("updated")).unwrap_or_default();
        let revert = info.raw("revert").map(|raw| raw.get().to_owned());
        (OpenCodeSession::read(&info), revert, Time(updated))
    };
    let Some((storage, is_old)) = storage(path) else { return Ok(()) };
    let base = if is_old { storage.join("session") } else { storage };
    let mut messages = Vec::new();
    for (file, text) in files(&base.join("message").join(&info.id)).map_err(failed(path))? {
        let quiet = Notes::default();
        let object = JsonObject::parse(&text, "", &quiet).ok();
        let created = object.as_ref().and_then(|object| object.object("time")?.number("created")).unwrap_or_default();
        let id = object.as_ref().and_then(|object| object.text("id")).unwrap_or_else(|| stem(&file));
        drop(object);
        messages.push((created, id, text));
    }
    messages.sort();
    let parts = base.join("part");
    let parts = if is_old { parts.join(&info.id) } else { parts };
    let mut session = FinalStateReader::begin(sink, info, FORM)?;
    let count = messages.len();
    for (number, (_, id, text)) in messages.iter().enumerate() {
        let found = files(&parts.join(id)).map_err(failed(path))?;
        let found: Vec<(String, &str)> = found.iter().map(|(file, text)| (stem(file), text.as_str())).collect();
        session.message(sink, id, text, &found, number + 1 == count, &notes)?;
    }
    session.end(sink, revert.as_deref(), updated, &notes)?;
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The JSON files of a folder with their texts, by name. A folder that is not there has none.
fn files(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| Ok((path.clone(), String::from_utf8_lossy(&std::fs::read(&path)?).into_owned())))
        .collect()
}
