//! Which files and folders outside of the project a call names. Paths are compared as they are written: links are not followed.

use crate::recorded_path::{below, resolved};
use crate::touched_files::touched_files;
use annals_core::event::ToolCalled;
use annals_core::{Blobs, Event};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Tools whose path is a folder to look through.
const LOOKS: [&str; 5] = ["grep", "glob", "ls", "list", "search"];

/// The directory of a session and the folder of its project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionPlace {
    /// What relative paths are relative to.
    directory: String,
    /// The project's folder.
    root: String,
}

impl SessionPlace {
    /// A directory in the folder of its project.
    pub fn new(directory: &str, root: PathBuf) -> Self {
        Self { directory: resolved(directory, ""), root: resolved(&root.to_string_lossy(), "") }
    }

    /// A path from the root on.
    fn whole(&self, path: &str) -> String {
        resolved(path, &self.directory)
    }

    /// A path as rules name it: from the project's folder on, if it is there.
    pub fn resource(&self, path: &str) -> String {
        let whole = self.whole(path);
        match below(&whole, &self.root) {
            Some(rest) => rest.to_owned(),
            None if whole == self.root => ".".to_owned(),
            None => whole,
        }
    }

    /// The paths outside of the project that a call names, from the root on; none where the directory is not known.
    pub fn outside(&self, called: &ToolCalled, input: Option<&Value>, blobs: &dyn Blobs) -> Vec<String> {
        if self.root.is_empty() {
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
            .filter(|path| *path != self.root && below(path, &self.root).is_none())
            .collect();
        outside.sort();
        outside.dedup();
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::{Json, NoBlobs};
    use serde_json::json;

    fn outside_of(place: &SessionPlace, tool: &str, input: &Value) -> Vec<String> {
        let called = ToolCalled {
            index: 0,
            call: "c".into(),
            name: tool.into(),
            input: Json::received(input.to_string()),
            hosted: false,
            metadata: None,
        };
        place.outside(&called, Some(input), &NoBlobs)
    }

    #[test]
    fn paths_of_windows_that_leave_the_project_are_named() {
        let place = SessionPlace::new(r"C:\Users\x\shop", r"C:\Users\x\shop".into());
        let outside = |path: &str| outside_of(&place, "Read", &json!({ "file_path": path }));
        for inside in
            [r"C:\Users\x\shop\src\a.rs", r"c:\users\x\shop\a.rs", r"src\a.rs", "src/a.rs", r"C:\Users\x\shop"]
        {
            assert_eq!(outside(inside), Vec::<String>::new(), "{inside}");
        }
        for (path, named) in [
            (r"C:\Users\x\.ssh\id_rsa", "C:/Users/x/.ssh/id_rsa"),
            (r"..\other\key", "C:/Users/x/other/key"),
            (r"C:\Users\x\shopping\a", "C:/Users/x/shopping/a"),
            (r"D:\a", "D:/a"),
            ("/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(outside(path), [named], "{path}");
        }
        assert_eq!(place.resource(r"C:\Users\x\shop\src\a.rs"), "src/a.rs");
    }

    #[test]
    fn paths_that_leave_the_project_are_named_from_the_root_on() {
        let place = SessionPlace::new("/srv/shop/web", "/srv/shop".into());
        let outside = |tool: &str, input: Value| outside_of(&place, tool, &input);
        assert_eq!(outside("read", json!({"path": "../Makefile"})), Vec::<String>::new());
        assert_eq!(outside("read", json!({"path": "../../other/key"})), ["/srv/other/key"]);
        assert_eq!(outside("Read", json!({"file_path": "/etc/passwd"})), ["/etc/passwd"]);
        assert_eq!(outside("grep", json!({"pattern": "x", "path": "/srv/shopping"})), ["/srv/shopping"]);
        assert_eq!(outside("bash", json!({"command": "ls", "workdir": "/tmp/"})), ["/tmp"]);
        assert_eq!(outside("bash", json!({"command": "cat /etc/passwd"})), Vec::<String>::new());
        assert_eq!((place.resource("src/a.rs"), place.resource("..")), ("web/src/a.rs".into(), ".".into()));
    }
}
