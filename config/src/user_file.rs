//! Changes of a configuration file that keep everything else in it.

use crate::origin::{ConfigLayer, ValueOrigin};
use crate::problem::{ConfigError, Problem};
use crate::trust::replace;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml_edit::DocumentMut;

/// Changes a file, which is created if it is missing. The change says what it gives and whether the file is written, or what is wrong.
/// Gives the file as well: a link stays one, and what it leads to is changed.
///
/// # Errors
/// If the file is not a valid configuration, the change fails, or the file cannot be read or written.
pub(crate) fn edit<T>(
    file: &Path,
    change: impl FnOnce(&mut DocumentMut) -> Result<(T, bool), String>,
) -> Result<(PathBuf, T), ConfigError> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let failed = |source| ConfigError::File { path: file.clone(), source };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(failed(source)),
    };
    let wrong = |message: String| {
        let origin = ValueOrigin::File { layer: ConfigLayer::User, path: Arc::new(file.clone()), line: 1 };
        ConfigError::Wrong(vec![Problem { origin, message }])
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| wrong(error.message().into()))?;
    let (given, changed) = change(&mut document).map_err(wrong)?;
    if changed {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        replace(&file, document.to_string().as_bytes()).map_err(failed)?;
    }
    Ok((file, given))
}
