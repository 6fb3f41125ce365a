//! Files of the past, written into an empty folder.

use crate::command_context::CommandContext;
use crate::error::{CliError, FilesQuestionError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::counted;
use annals_runtime::worktree::TreeEntry;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenKind {
    File,
    Executable,
    Link,
}

impl WrittenKind {
    pub(super) fn of(entry: &TreeEntry) -> Self {
        match entry {
            TreeEntry::File { executable: true, .. } => Self::Executable,
            TreeEntry::Link { .. } => Self::Link,
            TreeEntry::File { .. } | TreeEntry::Uncaptured { .. } => Self::File,
        }
    }
}

/// A file of the past.
pub(super) struct WrittenFile {
    pub(super) path: String,
    pub(super) kind: WrittenKind,
    /// `None` if it is not known.
    pub(super) content: Option<Vec<u8>>,
}

/// Writes files into a folder. What a log or a capture names is data: a path that leaves the folder is not written.
pub(super) fn write(
    dir: &Path,
    mut files: Vec<WrittenFile>,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| CliError::File { path, source }
    };
    fs::create_dir_all(dir).map_err(at(dir))?;
    if fs::read_dir(dir).map_err(at(dir))?.next().is_some() {
        return Err(FilesQuestionError::NotEmpty { dir: dir.to_owned() }.into());
    }
    // Links last: no file is written through one.
    files.sort_by_key(|file| file.kind == WrittenKind::Link);
    let (mut paths, mut left) = (Vec::new(), Vec::new());
    for file in &files {
        let below = Path::new(&file.path);
        let stays = below.components().all(|part| matches!(part, Component::Normal(_)));
        let (true, Some(content)) = (stays, &file.content) else {
            left.push(file.path.as_str());
            continue;
        };
        let path = dir.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        if file.kind == WrittenKind::Link {
            symlink(Path::new(&*String::from_utf8_lossy(content)), &path).map_err(at(&path))?;
        } else {
            let mut made = File::create_new(&path).map_err(at(&path))?;
            made.write_all(content).map_err(at(&path))?;
            if file.kind == WrittenKind::Executable {
                made.set_permissions(fs::Permissions::from_mode(0o755)).map_err(at(&path))?;
            }
        }
        paths.push(file.path.as_str());
    }
    if cli.style.json {
        json::object(out, &json!({"dir": dir, "written": paths, "left_out": left}))?;
    } else {
        paths.iter().try_for_each(|path| writeln!(out, "{}", plain(path)))?;
    }
    if !left.is_empty() {
        let named: Vec<String> = left.iter().take(5).map(|path| plain(path)).collect();
        let why = "outside of the project, or content not known";
        cli.remark(&format!("{} left out ({why}): {}", counted(left.len() as u64, "file"), named.join(", ")));
    }
    Ok(Verdict::Fine)
}
