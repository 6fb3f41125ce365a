//! What commands may do and see: the sandbox, and the files whose values are secret.

use crate::agent::free;
use crate::config::Config;
use annals_tools::{OwnFolders, SandboxLimits};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest `.env` file whose values are learnt, in bytes.
const ENV_FILE: u64 = 65_536;

impl Config {
    /// What commands in the sandbox may do; `None` when it is off.
    pub fn sandbox(&self) -> Option<SandboxLimits> {
        let mode = self.settings.text(&["sandbox", "mode"])?;
        let paths = |key| {
            let path = ["sandbox", key];
            let texts = self.settings.list(&path).filter_map(|setting| setting.value.as_str());
            texts.map(|text| self.places().resolve(text, Path::new("/"))).collect()
        };
        (mode != "off").then(|| SandboxLimits {
            home: self.places().home.clone(),
            writable: mode == "workspace-write",
            network: self.settings.flag(&["sandbox", "network"]).unwrap_or(false),
            write: paths("write"),
            hide: paths("hide"),
            read_only: self.own_folders().configuration,
        })
    }

    /// The user's home folder, and where the configuration and the list of trusted projects are.
    pub fn own_folders(&self) -> OwnFolders {
        let places = self.places();
        // A file that `ANNALS_CONFIG` names may be among other files, even those of the project.
        let root = self.project.as_ref().map_or(self.directory(), |project| project.root.as_path());
        let whole = !places.user_dir.as_os_str().is_empty() && !root.starts_with(&places.user_dir);
        let folder = if whole { vec![places.user_dir.clone()] } else { Vec::new() };
        let configuration = [folder, vec![places.user_file.clone(), places.trust.clone()]].concat();
        OwnFolders { home: places.home.clone(), configuration }
    }

    /// Environment variables that commands see in addition to the usual ones.
    pub fn shown_variables(&self) -> Vec<String> {
        let named = self.settings.list(&["tools", "env"]);
        named.filter_map(|setting| setting.value.as_str().map(str::to_owned)).collect()
    }

    /// Environment variables that are set for commands on a terminal.
    pub fn terminal_variables(&self) -> BTreeMap<String, String> {
        let set = free(&self.settings, &["tools", "terminal_env"]).into_iter();
        set.filter_map(|(variable, value)| Some((variable, value.as_str()?.to_owned()))).collect()
    }

    /// The `.env*` files of the directory and of the project's folder with their texts: regular ones of usual size.
    pub(crate) fn secret_files(&self) -> BTreeMap<String, String> {
        let root = self.project.as_ref().map(|project| project.root.as_path());
        let folders = [Some(self.directory()), root].into_iter().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let named = files.filter(|file| file.file_name().to_string_lossy().starts_with(".env"));
        let small = named.filter(|file| file.metadata().is_ok_and(|found| found.is_file() && found.len() <= ENV_FILE));
        let read = small.filter_map(|file| {
            let path = file.path();
            Some((path.to_string_lossy().into_owned(), std::fs::read_to_string(path).ok()?))
        });
        read.collect()
    }
}
