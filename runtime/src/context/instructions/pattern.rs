//! Paths with `*`, `?` and `**`, walked through the file port.

use crate::Boxed;
use crate::ports::filesystem::{FileKind, Filesystem, join};
use annals_core::permission::wildcard;
use std::collections::BTreeSet;
use std::io;

/// The files that a relative pattern matches in a directory, by code point. A path without wildcards names
/// itself if anything is there, be it a directory, which reading then reports.
pub(super) async fn expand(files: &dyn Filesystem, directory: &str, pattern: &str) -> io::Result<Vec<String>> {
    let segments: Vec<&str> = pattern.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    let plain = !segments.iter().any(|segment| segment.contains(['*', '?']));
    if plain {
        let path = join(directory, &segments.join("/"));
        return Ok(files.kind(&path).await?.map(|_| path).into_iter().collect());
    }
    let mut walk = PatternWalk { files, seen: BTreeSet::new(), found: BTreeSet::new() };
    walk.step(directory.to_string(), &segments).await?;
    Ok(walk.found.into_iter().collect())
}

struct PatternWalk<'a> {
    files: &'a dyn Filesystem,
    /// Where the walk has been, with how many segments were left: links may lead in circles.
    seen: BTreeSet<(String, usize)>,
    found: BTreeSet<String>,
}

impl<'a> PatternWalk<'a> {
    fn step<'s>(&'s mut self, directory: String, segments: &'s [&'s str]) -> Boxed<'s, io::Result<()>> {
        Box::pin(async move {
            let Some((segment, rest)) = segments.split_first() else { return Ok(()) };
            if !self.seen.insert((self.files.canonicalise(&directory).await?, segments.len())) {
                return Ok(());
            }
            if !segment.contains(['*', '?']) {
                // A plain name needs no listing, and may be `..`.
                let path = join(&directory, segment);
                match self.files.kind(&path).await? {
                    Some(FileKind::File) if rest.is_empty() => {
                        self.found.insert(path);
                    }
                    Some(FileKind::Directory) => self.step(path, rest).await?,
                    Some(FileKind::File | FileKind::Special) | None => {}
                }
                return Ok(());
            }
            if *segment == "**" {
                self.step(directory.clone(), rest).await?;
            }
            for (name, kind) in self.files.list(&directory).await? {
                let hidden = name.starts_with('.') && !segment.starts_with('.');
                if hidden || !wildcard(segment, &name) {
                    continue;
                }
                let path = join(&directory, &name);
                match kind {
                    FileKind::File if rest.is_empty() => {
                        self.found.insert(path);
                    }
                    FileKind::Directory if *segment == "**" => self.step(path, segments).await?,
                    FileKind::Directory => self.step(path, rest).await?,
                    FileKind::File | FileKind::Special => {}
                }
            }
            Ok(())
        })
    }
}
