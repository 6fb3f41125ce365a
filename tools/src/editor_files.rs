//! Files as the user's editor holds them, with unsaved changes.

use super::file_content::{FileContent, WHOLE};
use annals_runtime::Boxed;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long an editor may take.
const LIMIT: Duration = Duration::from_secs(10);

/// An editor that holds files. What it says is used where it says something; the rest is read and written on the disk.
pub trait EditorFiles: Debug + Send + Sync {
    /// The text of a file as the editor holds it; `None` if it does not give it.
    fn text<'a>(&'a self, path: &'a Path) -> Boxed<'a, Option<String>>;

    /// Writes a file; whether the editor did.
    fn write<'a>(&'a self, path: &'a Path, text: &'a str) -> Boxed<'a, bool>;
}

/// The content of a file: that of the editor, if it holds another text than the disk. To be called on a thread that may block.
pub(super) fn held(editor: &dyn EditorFiles, path: &Path, content: FileContent) -> FileContent {
    let FileContent::Whole(bytes) = &content else { return content };
    let is_text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    if !is_text {
        return content;
    }
    match waited(editor.text(path)).flatten() {
        // Editors give text with plain line ends: what differs in them alone is the same text.
        Some(text) if is_other(&text, bytes) && text.len() as u64 <= WHOLE => FileContent::Whole(text.into_bytes()),
        _ => content,
    }
}

/// Lets the editor write a file; whether the disk holds the bytes then.
pub(super) fn written(editor: &dyn EditorFiles, path: &Path, bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    waited(editor.write(path, text)).unwrap_or(false) && std::fs::read(path).is_ok_and(|found| found == bytes)
}

fn is_other(text: &str, bytes: &[u8]) -> bool {
    let disk = String::from_utf8_lossy(bytes);
    let disk = disk.strip_prefix('\u{feff}').unwrap_or(&disk);
    text.replace("\r\n", "\n") != disk.replace("\r\n", "\n")
}

fn waited<T>(asked: Boxed<'_, T>) -> Option<T> {
    let runtime = Handle::try_current().ok()?;
    runtime.block_on(async { timeout(LIMIT, asked).await.ok() })
}

#[cfg(test)]
mod tests {
    use super::is_other;

    #[test]
    fn line_ends_and_marks_alone_make_no_other_text() {
        assert!(!is_other("a\nb\n", "\u{feff}a\r\nb\r\n".as_bytes()));
        assert!(is_other("a\nc\n", b"a\nb\n"));
    }
}
