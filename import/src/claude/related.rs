//! Finds the transcripts of parents and subagents: in `SESSION/subagents/`, or in the same folder; and the parts of a session that moved to
//! another project folder.

use super::{TranscriptHeader, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How deep a folder of subagents may be below `subagents`.
const NESTED: usize = 4;

/// The largest output that is kept, in bytes.
const OUTPUT_MAX: u64 = 64 << 20;

/// The files of a session, oldest first: one that works in a worktree for a while continues in the folder of that.
pub fn parts(path: &Path, own: TranscriptHeader) -> Vec<(PathBuf, TranscriptHeader)> {
    let root = path.parent().and_then(Path::parent).filter(|root| root.ends_with("projects"));
    let is_named = !own.sidechain && path.file_stem().is_some_and(|stem| *stem == *own.session);
    let folders = root.filter(|_| is_named).and_then(|root| std::fs::read_dir(root).ok());
    let others = folders.into_iter().flatten().flatten().filter_map(|folder| {
        let other = folder.path().join(path.file_name()?);
        let of_other = (other != path && other.is_file()).then(|| header(&other).ok()).flatten()?;
        (!of_other.sidechain && of_other.session == own.session).then_some((other, of_other))
    });
    let mut found: Vec<_> = others.collect();
    found.push((path.to_owned(), own));
    found.sort_by(|(path, a), (other, b)| (a.created, path).cmp(&(b.created, other)));
    found
}

/// The parent and subagents of one transcript. Folders are read on first use.
pub struct RelatedTranscripts {
    /// The files of the transcript.
    paths: Vec<PathBuf>,
    seen: HashMap<PathBuf, Vec<TranscriptHeader>>,
}

impl RelatedTranscripts {
    /// Of a transcript.
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self { paths, seen: HashMap::new() }
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
        let folder = self.paths.first()?.parent()?.to_owned();
        // Those of a workflow are in a folder of their own there.
        let within = folder.ancestors().take(NESTED).find(|folder| folder.ends_with("subagents"));
        let of_parent = within.and_then(|folder| folder.parent()?.parent()).map(Path::to_owned);
        for folder in of_parent.into_iter().chain([folder]) {
            let named = folder.join(format!("{session}.jsonl"));
            if let Ok(found) = header(&named)
                && !found.sidechain
            {
                return parts(&named, found).first().map(|(_, oldest)| oldest.created);
            }
            let kin = self.folder(&folder).iter().find(|kin| !kin.sidechain && kin.session == session);
            if let Some(kin) = kin {
                return Some(kin.created);
            }
        }
        None
    }

    /// The full output of a call: a file in the folder of this session, or of the session that started this subagent. An image is a
    /// data URL. Only the name of the path counts: the transcript may come from another machine.
    pub fn output(&self, path: &str) -> Option<String> {
        let name = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty() && *name != "..")?;
        self.paths.iter().find_map(|path| output_of(path, name))
    }

    /// The creation time (ms) and kind of a subagent of this session.
    pub fn child(&mut self, session: &str, agent: &str) -> Option<(u64, Option<String>)> {
        let beside = |path: &PathBuf| {
            let folder = path.parent()?;
            // A subagent's own are next to it.
            Some([folder.join(path.file_stem()?).join("subagents"), folder.to_owned()])
        };
        let folders: Vec<PathBuf> = self.paths.iter().filter_map(beside).flatten().collect();
        folders.iter().find_map(|folder| {
            let is_it = |kin: &&TranscriptHeader| {
                kin.sidechain && kin.session == session && kin.agent.as_deref() == Some(agent)
            };
            self.folder(folder).iter().find(is_it).map(|kin| (kin.created, kin.kind.clone()))
        })
    }
}

/// The text of a file of a large output; as a data URL unless it is text.
fn output_of(path: &Path, name: &str) -> Option<String> {
    let folder = path.parent()?;
    let own = folder.join(path.file_stem()?);
    let of_parent = folder.ancestors().take(NESTED).find(|folder| folder.ends_with("subagents"));
    let of_parent = of_parent.and_then(Path::parent);
    [Some(own.as_path()), of_parent].into_iter().flatten().find_map(|session| {
        let file = session.join("tool-results").join(name);
        let meta = std::fs::symlink_metadata(&file).ok().filter(|meta| meta.is_file() && meta.len() <= OUTPUT_MAX)?;
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()?);
        std::fs::File::open(&file).ok()?.take(OUTPUT_MAX).read_to_end(&mut bytes).ok()?;
        Some(match media_type(name) {
            Some(mime) => format!("data:{mime};base64,{}", BASE64_STANDARD.encode(&bytes)),
            None => String::from_utf8_lossy(&bytes).into_owned(),
        })
    })
}

/// The media type of a binary file.
fn media_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "bin" => "application/octet-stream",
        _ => return None,
    })
}
