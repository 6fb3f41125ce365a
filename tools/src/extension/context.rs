//! Context sources by command.

use super::reason;
use crate::program::ExternalProgram;
use annals_core::Key;
use annals_runtime::context::{Loaded, Source};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The longest text of a source, in bytes.
const LONGEST: usize = 64 * 1024;

/// A context source whose text a program prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextProgram {
    /// Names it in the log.
    pub key: Key,
    /// What precedes the text; may be empty.
    pub heading: String,
    /// What precedes the text where it has changed; `heading` without one.
    pub changed: Option<String>,
    /// What the model reads once there is no text any more.
    pub removed: Option<String>,
    /// The program; it is given nothing.
    pub program: ExternalProgram,
    /// When it is run.
    pub when: LookWhen,
}

/// When a program is run to see what a source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookWhen {
    /// Before every request.
    Boundary,
    /// Before a request, if the last look is so long ago.
    Every(Duration),
    /// Once in a process.
    Once,
}

impl ContextProgram {
    /// The source for a directory.
    pub(crate) fn source(&self, directory: &Path) -> Source<String> {
        let Self { key, heading, changed, removed, .. } = self.clone();
        let changed = changed.unwrap_or_else(|| heading.clone());
        let removed = removed.unwrap_or_else(|| format!("The context `{key}` no longer applies."));
        let looking =
            Arc::new(Looking { settings: self.clone(), directory: directory.to_owned(), last: Mutex::default() });
        let headed = |heading: &str, text: &str| match heading.is_empty() {
            true => text.to_owned(),
            false => format!("{heading}\n{text}"),
        };
        Source::new(
            key,
            move || {
                let looking = looking.clone();
                async move { looking.look().await }
            },
            move |text: &String| headed(&heading, text),
        )
        .update(move |_, text| headed(&changed, text))
        .removed(move |_| removed.clone())
    }
}

/// A program that prints nothing has nothing to say: a branch name on a detached HEAD, the difference of a clean tree.
fn loaded(text: String) -> Loaded<String> {
    if text.is_empty() { Loaded::Absent } else { Loaded::Available(text) }
}

struct Looking {
    settings: ContextProgram,
    directory: PathBuf,
    last: Mutex<Option<(Instant, String)>>,
}

impl Looking {
    async fn look(&self) -> Loaded<String> {
        let mut last = self.last.lock().await;
        if let Some((at, text)) = &*last {
            let fresh = match self.settings.when {
                LookWhen::Boundary => false,
                LookWhen::Every(pause) => at.elapsed() < pause,
                LookWhen::Once => true,
            };
            if fresh {
                return loaded(text.clone());
            }
        }
        match self.settings.program.run(&self.directory, "").await {
            Ok(output) if output.exit == Some(0) => {
                let mut text = output.stdout.trim_end().to_owned();
                if text.len() > LONGEST {
                    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
                    text.truncate(end);
                    text.push_str("\n... the rest is left out ...");
                }
                *last = Some((Instant::now(), text.clone()));
                loaded(text)
            }
            Ok(output) => Loaded::unavailable(format!("{}: {}", self.settings.key, reason(&output))),
            Err(error) => Loaded::unavailable(format!("{}: {error}", self.settings.key)),
        }
    }
}
