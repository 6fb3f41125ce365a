//! Whether a file that a step seems to have added was there before, hidden by an exclude rule.
//!
//! A step that edits `.gitignore`, or tracks an ignored file, brings an older file into the captures.
//! An undo that took it for the step's work would delete a file of the user.

use super::shadow::Shadow;
use crate::worktree::git::Contents;
use crate::worktree::shadow::forget;
use annals_runtime::worktree::{FilesError, Tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

impl Shadow {
    /// Those of `paths` that the rules of a capture ignore.
    pub(super) fn ignored_at(&self, tree: &Tree, paths: Vec<String>) -> Result<Vec<String>, FilesError> {
        let rules = Rules::make(self, tree)?;
        let mut call = self.git.shadow("check-ignore").args(["--no-index", "-z", "--stdin"]);
        call = call.env("GIT_WORK_TREE", &rules.folder).index(&rules.folder.join("no-index"));
        let input = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect();
        let ended = call.current(&rules.folder).excludes(&rules.excludes).input(input).finish(None)?;
        if !matches!(ended.code, Some(0 | 1)) {
            return Err(FilesError::Git { command: "check-ignore".into(), message: ended.message });
        }
        let ignored: BTreeSet<&[u8]> = ended.output.split(|byte| *byte == 0).collect();
        Ok(paths.into_iter().filter(|path| ignored.contains(path.as_bytes())).collect())
    }
}

/// The exclude rules of a capture, laid out as git reads them.
struct Rules {
    folder: PathBuf,
    excludes: PathBuf,
}

impl Rules {
    fn make(shadow: &Shadow, tree: &Tree) -> Result<Self, FilesError> {
        let folder = shadow.folder.join("rules");
        let rules = Self { excludes: shadow.folder.join("rules.excludes"), folder };
        rules.clear()?;
        fs::create_dir(&rules.folder).map_err(FilesError::io(&rules.folder))?;
        let mut contents = Contents::open(shadow.git.shadow("cat-file"))?;
        let mut put = |id: &str, to: &Path| {
            let bytes = contents.read(id)?.ok_or_else(|| FilesError::NoTree { id: tree.to_string() })?;
            fs::write(to, bytes).map_err(FilesError::io(to))
        };
        put(&tree.excludes(), &rules.excludes)?;
        for (path, entry) in shadow.listing(&tree.files())? {
            let (mode, id) = entry.git();
            // git does not follow a link called `.gitignore` either.
            if path.rsplit('/').next() == Some(".gitignore") && mode.starts_with("100") {
                let to = rules.folder.join(&path);
                let above = to.parent().unwrap_or(&rules.folder);
                fs::create_dir_all(above).map_err(FilesError::io(above))?;
                put(id, &to)?;
            }
        }
        Ok(rules)
    }

    fn clear(&self) -> Result<(), FilesError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(FilesError::io(&self.folder)(error)),
            _ => forget(&self.excludes),
        }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        // What stays is cleared before the next use.
        drop(self.clear());
    }
}
