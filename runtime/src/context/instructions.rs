//! The contribution and source `core/instructions`: instruction files as one aggregate
//! (`docs/reference/context.md#instructions`).
//!
//! In order: the global file, the project's files from the location up to the project root, configured files, nested
//! files that a read discovered. A file that is missing is left out; one that exists and cannot be read makes the whole
//! source unavailable, and the reason names it. A link that leads out of the project is ignored, unless the user
//! trusts the project: that is a decision and not a passing failure.

mod discovery;
mod pattern;

pub use discovery::discover;
pub use discovery::is_guarded;

use super::source::{Loaded, Source};
use super::{Boundary, Fault, Producer, SystemContext, own_key};
use crate::Boxed;
use crate::ports::Filesystem;
use annals_core::Key;
use annals_core::event::Rule;
use discovery::DiscoveredFile;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use std::future::ready;
use std::sync::Arc;

/// Environment variables of which either one leaves project files out; global and absolute ones stay.
pub const OPT_OUT: [&str; 2] = ["ANNALS_DISABLE_PROJECT_CONFIG", "OPENCODE_DISABLE_PROJECT_CONFIG"];

/// Whether an [`OPT_OUT`] variable is set to anything but nothing, `0` or `false`.
///
/// ```
/// use annals_runtime::context::instructions::opted_out;
/// assert!(!opted_out(|_| None) && opted_out(|name| name.starts_with("OPENCODE").then(|| "1".into())));
/// let _ = opted_out(|name| std::env::var(name).ok());
/// ```
pub fn opted_out(variable: impl Fn(&str) -> Option<String>) -> bool {
    OPT_OUT.into_iter().filter_map(variable).any(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Which instruction files there may be. By default `AGENTS.md` upward from the location, and no global one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFiles {
    /// Absolute paths of which the first that exists is the global file.
    pub global: Vec<String>,
    /// Names looked for from the location upward; the first name found anywhere is the one used.
    pub names: Vec<String>,
    /// Further files: absolute, `~/`, or relative to every directory from the location upward; `*`, `?` and `**` as in
    /// a shell. Files whose names begin with a dot are matched only by a pattern that does.
    pub configured: Vec<String>,
    /// The directory that `~/` means; without it such paths lead nowhere.
    pub home: Option<String>,
    /// Whether instruction files of the project are used. See [`opted_out`].
    pub project: bool,
    /// Whether links in the project may lead out of it. The author of the project chose their targets, which belong to
    /// the user: so only where the user trusts the project.
    pub links_out: bool,
    /// The permission rules that apply to reading. Where links may not lead out, no instruction file is read from a path
    /// that these rules protect, such as `.env`, directly or through a link.
    pub guarded: Vec<Rule>,
}

impl Default for InstructionFiles {
    fn default() -> Self {
        Self {
            global: Vec::new(),
            names: vec!["AGENTS.md".into()],
            configured: Vec::new(),
            home: None,
            project: true,
            links_out: false,
            guarded: Vec::new(),
        }
    }
}

/// Produces the instructions of a location, read again at every boundary.
///
/// ```
/// # use annals_runtime::context::instructions::{InstructionFiles, opted_out};
/// # use annals_runtime::context::{Instructions, Registry};
/// # use annals_runtime::ports::RealFilesystem;
/// # use std::sync::Arc;
/// let config = InstructionFiles {
///     global: vec!["/home/me/.config/annals/AGENTS.md".into()],
///     names: vec!["AGENTS.md".into(), "CLAUDE.md".into()],
///     configured: vec!["docs/rules/*.md".into(), "~/rules.md".into()],
///     home: Some("/home/me".into()),
///     project: !opted_out(|name| std::env::var(name).ok()),
///     links_out: false,
///     guarded: Vec::new(),
/// };
/// let registry = Registry::default();
/// registry.register(Instructions::key(), Instructions { files: Arc::new(RealFilesystem), config })?.detach();
/// # Ok::<(), annals_runtime::context::DuplicateContribution>(())
/// ```
#[derive(Clone)]
pub struct Instructions {
    /// Where they are read.
    pub files: Arc<dyn Filesystem>,
    /// Which there may be.
    pub config: InstructionFiles,
}

impl Instructions {
    /// The contribution key and the source key, `core/instructions`.
    pub fn key() -> Key {
        own_key("core/instructions")
    }
}

/// One instruction file as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instruction {
    path: String,
    content: String,
}

impl Producer for Instructions {
    fn produce<'a>(&'a self, boundary: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>> {
        Box::pin(async move {
            let loaded = match self.load(boundary).await {
                Ok(instructions) if instructions.is_empty() => return Ok(SystemContext::default()),
                Ok(instructions) => Loaded::Available(instructions),
                Err(error) => Loaded::unavailable(error.to_string()),
            };
            let source = Source::new(Self::key(), move || ready(loaded.clone()), |all: &Vec<Instruction>| text(all))
                .update(|_, all| {
                    let all = text(all);
                    format!("These instructions replace all previously loaded ambient instructions.\n\n{all}")
                })
                .removed(|_| "Previously loaded instructions no longer apply.".into());
            Ok(source.into())
        })
    }
}

/// A path of a project that is not followed: it leads out of it, or to something that is guarded there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOut {
    /// Where it is.
    pub path: String,
    /// Where it leads.
    pub target: String,
}

impl Instructions {
    /// Files at a location that are left out because they are links out of the project: for a warning to the user.
    ///
    /// # Errors
    /// When a file cannot be looked at.
    pub async fn links_out(&self, directory: &str) -> std::io::Result<Vec<LinkOut>> {
        Ok(discovery::find(self.files.as_ref(), &self.config, directory, &[]).await?.links_out)
    }

    async fn load(&self, boundary: &Boundary) -> std::io::Result<Vec<Instruction>> {
        let files = self.files.as_ref();
        let scan = discovery::find(files, &self.config, &boundary.location.directory, &boundary.discovered).await?;
        let read = join_all(scan.found.into_iter().map(|DiscoveredFile { path, listed }| async move {
            match files.read(&path).await {
                Ok(content) => Ok(Some(Instruction { path, content })),
                // It was only heard of, not seen: it is gone. One seen a moment ago must not pass for removed.
                Err(error) if !listed && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }));
        read.await.into_iter().filter_map(Result::transpose).collect()
    }
}

fn text(all: &[Instruction]) -> String {
    let one = |file: &Instruction| format!("Instructions from: {}\n{}", file.path, file.content);
    all.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
