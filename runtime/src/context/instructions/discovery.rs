//! Which instruction files there are.

use super::{InstructionFiles, LinkOut, pattern};
use crate::ports::filesystem::{FileKind, Filesystem, join, lexical, parent, project, within};
use annals_core::event::{Effect, Rule};
use annals_core::permission::evaluate;
use std::collections::BTreeSet;
use std::io;

/// A file to read.
pub(super) struct DiscoveredFile {
    /// Canonical path.
    pub(super) path: String,
    /// Whether it was seen to exist during this scan.
    pub(super) listed: bool,
}

/// What instructions are usually called.
const USUAL: &str = "AGENTS.md";

/// What was found.
pub(super) struct InstructionScan {
    /// Every instruction file, each once, in the order in which the model reads them.
    pub(super) found: Vec<DiscoveredFile>,
    /// Links that are not followed.
    pub(super) links_out: Vec<LinkOut>,
}

/// Looks for instruction files.
pub(super) async fn find(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    directory: &str,
    discovered: &[String],
) -> io::Result<InstructionScan> {
    let mut paths = Vec::new();
    for path in &config.global {
        if files.kind(path).await?.is_some() {
            paths.push((path.clone(), true));
            break;
        }
    }
    let mut own = ProjectFiles::at(files, config, directory).await?;
    paths.extend(own.named().await?.into_iter().map(|path| (path, true)));
    for configured in &config.configured {
        for path in own.configured(configured).await? {
            paths.push((path, true));
        }
    }
    if config.project {
        for path in discovered {
            if own.is_inside(path).await? {
                paths.push((path.clone(), false));
            }
        }
    }
    let mut found: Vec<DiscoveredFile> = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, listed) in paths {
        let path = files.canonicalise(&path).await?;
        if seen.insert(path.clone()) {
            found.push(DiscoveredFile { path, listed });
        }
    }
    Ok(InstructionScan { found, links_out: own.links_out })
}

/// The files of a project.
struct ProjectFiles<'a> {
    files: &'a dyn Filesystem,
    config: &'a InstructionFiles,
    root: String,
    /// The directories from the location up to the project's root; none where its files do not count.
    upward: Vec<String>,
    links_out: Vec<LinkOut>,
}

impl<'a> ProjectFiles<'a> {
    async fn at(files: &'a dyn Filesystem, config: &'a InstructionFiles, directory: &str) -> io::Result<Self> {
        let mut own = Self { files, config, root: String::new(), upward: Vec::new(), links_out: Vec::new() };
        if config.project {
            let start = files.canonicalise(directory).await?;
            let (root, _) = project(files, &start).await?;
            let above = std::iter::successors(Some(start.as_str()), |at| parent(at));
            own.upward = above.take_while(|at| within(at, &root)).map(str::to_string).collect();
            own.root = root;
        }
        Ok(own)
    }

    /// Whether a path in the project leads to something in it, or may lead out.
    async fn is_inside(&mut self, path: &str) -> io::Result<bool> {
        match leads_out(self.files, self.config, &self.root, path).await? {
            None => Ok(true),
            Some(target) => {
                let link = LinkOut { path: path.to_string(), target };
                if !self.links_out.contains(&link) {
                    self.links_out.push(link);
                }
                Ok(false)
            }
        }
    }

    /// The files of the first name that is found in any of the directories.
    async fn named(&mut self) -> io::Result<Vec<String>> {
        for name in &self.config.names {
            let mut paths = Vec::new();
            for directory in self.upward.clone() {
                let path = join(&directory, name);
                if self.files.kind(&path).await?.is_some() && self.is_inside(&path).await? {
                    paths.push(path);
                }
            }
            if !paths.is_empty() {
                return Ok(paths);
            }
        }
        Ok(Vec::new())
    }

    async fn configured(&mut self, configured: &str) -> io::Result<Vec<String>> {
        // What is named from the root or from home is the user's own wish.
        if let Some(rest) = configured.strip_prefix("~/") {
            return match &self.config.home {
                Some(home) => pattern::expand(self.files, home, rest).await,
                None => Ok(Vec::new()),
            };
        }
        if let Some(rest) = configured.strip_prefix('/') {
            return pattern::expand(self.files, "/", rest).await;
        }
        let mut paths = Vec::new();
        for directory in self.upward.clone() {
            for path in pattern::expand(self.files, &directory, configured).await? {
                // And so is what climbs out of the project by its name.
                if !within(&lexical(&path), &self.root) || self.is_inside(&path).await? {
                    paths.push(path);
                }
            }
        }
        Ok(paths)
    }
}

/// Where a path in a project leads, if that is not to be followed: out of the project, or something that is guarded there.
async fn leads_out(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    root: &str,
    path: &str,
) -> io::Result<Option<String>> {
    if config.links_out {
        return Ok(None);
    }
    let target = files.canonicalise(path).await?;
    Ok(Some(target).filter(|target| !within(target, root) || is_guarded(&config.guarded, root, path, target)))
}

/// Whether reading what a path leads to needs more permission than reading the instructions there. The project's root
/// and the target are canonical.
pub fn is_guarded(rules: &[Rule], root: &str, path: &str, target: &str) -> bool {
    let judged = |path: &str| {
        let path = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        evaluate(rules, "read", path)
    };
    // Not one of the names that are looked for: the project may have chosen those.
    let usual = join(parent(path).unwrap_or(root), USUAL);
    match (judged(&usual), judged(target)) {
        (Effect::Allow, target) => target != Effect::Allow,
        (Effect::Ask, target) => target == Effect::Deny,
        (Effect::Deny, _) => false,
    }
}

/// The instruction files that a successful read of `read` discovers: in its directory and above, up to the project's
/// root, unless the upward path of the location already includes them. Nearest first; `known` ones are left out. The
/// caller records each as `instruction.discovered` before the next boundary
/// (`docs/reference/context.md#instructions`).
///
/// # Errors
/// When a directory on the way cannot be looked at. The result of the read is kept.
pub async fn discover(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    location: &str,
    read: &str,
    known: &[String],
) -> io::Result<Vec<String>> {
    if !config.project {
        return Ok(Vec::new());
    }
    let (location, read) = (files.canonicalise(location).await?, files.canonicalise(read).await?);
    let (root, _) = project(files, &location).await?;
    let above = std::iter::successors(parent(&read), |at| parent(at));
    let nested: Vec<String> =
        above.take_while(|at| within(at, &root) && !within(&location, at)).map(str::to_string).collect();
    let mut found = Vec::new();
    for directory in &nested {
        for name in &config.names {
            let path = join(directory, name);
            if files.kind(&path).await? == Some(FileKind::File) {
                if let Some(target) = leads_out(files, config, &root, &path).await? {
                    tracing::warn!(
                        path,
                        target,
                        "instructions that are a link out of the project, or to what is guarded, are not read"
                    );
                    continue;
                }
                let path = files.canonicalise(&path).await?;
                if !known.contains(&path) && !found.contains(&path) {
                    found.push(path);
                }
                break;
            }
        }
    }
    Ok(found)
}
