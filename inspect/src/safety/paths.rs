//! Which files and folders outside of the project a call names. Paths are compared as they are written: links are not followed.

use crate::touched_files::touched_files;
use annals_core::event::ToolCalled;
use annals_core::{Blobs, Event};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Tools whose path is a folder to look through.
const LOOKS: [&str; 5] = ["grep", "glob", "ls", "list", "search"];

/// The directory of a session and the folder of its project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionPlace {
    /// What relative paths are relative to.
    directory: PathBuf,
    /// The project's folder.
    root: PathBuf,
}

impl SessionPlace {
    /// A directory in the folder of its project.
    pub fn new(directory: &str, root: PathBuf) -> Self {
        Self { directory: normal(Path::new(directory)), root: normal(&root) }
    }

    /// A path from the root on.
    fn whole(&self, path: &str) -> PathBuf {
        normal(&self.directory.join(path))
    }

    /// A path as rules name it: from the project's folder on, if it is there.
    pub fn resource(&self, path: &str) -> String {
        let whole = self.whole(path);
        match whole.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => whole.to_string_lossy().into_owned(),
        }
    }

    /// The paths outside of the project that a call names, from the root on; none where the directory is not known.
    pub fn outside(&self, called: &ToolCalled, input: Option<&Value>, blobs: &dyn Blobs) -> Vec<String> {
        if self.root.as_os_str().is_empty() {
            return Vec::new();
        }
        // Cloned to be seen as an event; inputs that are large are not inline.
        let touched = touched_files(&Event::from(called.clone()), blobs);
        let mut named: Vec<String> = touched.into_iter().map(|file| file.path).collect();
        let name = called.name.to_lowercase();
        let members: &[&str] = if LOOKS.contains(&name.as_str()) { &["path", "workdir"] } else { &["workdir"] };
        named.extend(members.iter().filter_map(|member| input?.get(*member)?.as_str().map(str::to_owned)));
        let mut outside: Vec<String> = named
            .iter()
            .map(|path| self.whole(path))
            .filter(|path| !path.starts_with(&self.root))
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        outside.sort();
        outside.dedup();
        outside
    }
}

/// A path without `.`, `..` and a slash at its end.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::{Json, NoBlobs};
    use serde_json::json;

    #[test]
    fn paths_that_leave_the_project_are_named_from_the_root_on() {
        let place = SessionPlace::new("/srv/shop/web", "/srv/shop".into());
        let outside = |tool: &str, input: Value| {
            let called = ToolCalled {
                index: 0,
                call: "c".into(),
                name: tool.into(),
                input: Json::received(input.to_string()),
                hosted: false,
                metadata: None,
            };
            place.outside(&called, Some(&input), &NoBlobs)
        };
        assert_eq!(outside("read", json!({"path": "../Makefile"})), Vec::<String>::new());
        assert_eq!(outside("read", json!({"path": "../../other/key"})), ["/srv/other/key"]);
        assert_eq!(outside("Read", json!({"file_path": "/etc/passwd"})), ["/etc/passwd"]);
        assert_eq!(outside("grep", json!({"pattern": "x", "path": "/srv/shopping"})), ["/srv/shopping"]);
        assert_eq!(outside("bash", json!({"command": "ls", "workdir": "/tmp/"})), ["/tmp"]);
        assert_eq!(outside("bash", json!({"command": "cat /etc/passwd"})), Vec::<String>::new());
        assert_eq!((place.resource("src/a.rs"), place.resource("..")), ("web/src/a.rs".into(), ".".into()));
    }
}
