//! Finds the transcripts of parents and subagents: in `SESSION/subagents/`, or in the same folder.

use super::{TranscriptHeader, header};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The parent and subagents of one transcript. Folders are read on first use.
pub struct RelatedTranscripts {
    path: PathBuf,
    seen: HashMap<PathBuf, Vec<TranscriptHeader>>,
}

impl RelatedTranscripts {
    /// Of a transcript.
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: HashMap::new() }
    }

    /// Headers of the transcripts in a folder, except those that cannot be read.
    fn folder(&mut self, folder: &Path) -> &[TranscriptHeader] {
        self.seen.entry(folder.to_owned()).or_insert_with(|| {
            let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
                .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
                .unwrap_or_default();
            paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
            paths.sort();
            paths.iter().filter_map(|path| header(path).ok()).filter(|header| !header.session.is_empty()).collect()
        })
    }

    /// The creation time (ms) of the session that started this subagent.
    pub fn parent(&mut self, session: &str) -> Option<u64> {
        let folder = self.path.parent()?.to_owned();
        let mut folders = vec![folder.clone()];
        if folder.file_name().is_some_and(|name| name == "subagents") {
            folders.extend(folder.parent().and_then(Path::parent).map(Path::to_owned));
        }
        for folder in folders.into_iter().rev() {
            let named = folder.join(format!("{session}.jsonl"));
            if let Ok(found) = header(&named)
                && !found.sidechain
            {
                return Some(found.created);
            }
            let kin = self.folder(&folder).iter().find(|kin| !kin.sidechain && kin.session == session);
            if let Some(kin) = kin {
                return Some(kin.created);
            }
        }
        None
    }

    /// The creation time (ms) and kind of a subagent of this session.
    pub fn child(&mut self, session: &str, agent: &str) -> Option<(u64, Option<String>)> {
        let folder = self.path.parent()?.to_owned();
        let own = folder.join(self.path.file_stem()?).join("subagents");
        [own, folder].iter().find_map(|folder| {
            let is_it = |kin: &&TranscriptHeader| {
                kin.sidechain && kin.session == session && kin.agent.as_deref() == Some(agent)
            };
            self.folder(folder).iter().find(is_it).map(|kin| (kin.created, kin.kind.clone()))
        })
    }
}
