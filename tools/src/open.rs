//! Opening files that are files: a pipe or a device would hang, or never end.

use super::Workplace;
use annals_runtime::tools::ToolError;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Names that are looked at for a suggestion.
const NAMES: usize = 5_000;

/// Opens a regular file by its resolved path, without following a link that came there meanwhile.
pub(super) fn regular(place: &Workplace, path: &Path) -> Result<(File, Metadata), ToolError> {
    opened(place, path)?.ok_or_else(|| missing(place, path))
}

/// The same; `None` if the file does not exist.
pub(super) fn opened(place: &Workplace, path: &Path) -> Result<Option<(File, Metadata)>, ToolError> {
    let failed = |error: io::Error| trouble(place, path, &error);
    // Looked at first: opening some devices does something.
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => {}
        Ok(found) => return Err(special(place, path, found.file_type())),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let found = file.metadata().map_err(failed)?;
    if found.is_file() { Ok(Some((file, found))) } else { Err(special(place, path, found.file_type())) }
}

/// An error of the system, for the model.
pub(super) fn trouble(place: &Workplace, path: &Path, error: &io::Error) -> ToolError {
    format!("{}: {error}", place.shown(path)).into()
}

fn special(place: &Workplace, path: &Path, kind: FileType) -> ToolError {
    let shown = place.shown(path);
    if kind.is_dir() {
        return format!("{shown} is a directory. List it with `ls`.").into();
    }
    let kind = match kind {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_symlink() => "a link that changed meanwhile",
        _ => "a device",
    };
    format!("{shown} is {kind}, not a file.").into()
}

/// What to say of a file that is not there, with names near it that are.
pub(super) fn missing(place: &Workplace, path: &Path) -> ToolError {
    let near = near(path);
    let near: Vec<String> = near.iter().map(|name| place.shown(&path.with_file_name(name))).collect();
    let hint = if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) };
    format!("There is no file {}.{hint}", place.shown(path)).into()
}

fn near(path: &Path) -> Vec<String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let wanted = name.to_string_lossy().to_lowercase();
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut names: Vec<(f64, String)> = entries
        .take(NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .map(|name| (likeness(&wanted, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= 0.85)
        .collect();
    names.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    names.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Two letters the wrong way round, or one too many, are a slip in a name of any length.
fn likeness(wanted: &str, name: &str) -> f64 {
    if strsim::osa_distance(wanted, name) <= 1 { 1.0 } else { strsim::jaro_winkler(wanted, name) }
}
