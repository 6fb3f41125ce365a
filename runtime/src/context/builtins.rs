//! The contribution `core/builtins`: the environment and the date (`docs/reference/context.md#environment`).
//!
//! Neither has a removal text: without it, their disappearance begins a new epoch.

use super::source::{ContextSource, Loaded, Source};
use super::{Boundary, Fault, Producer, SystemContext, own_key};
use crate::Boxed;
use crate::ports::{Clock, Filesystem, filesystem};
use annals_core::{Key, Time};
use std::sync::Arc;

/// Produces the built-in sources of a location, either one if wanted.
///
/// ```
/// # use annals_runtime::context::{Builtins, Registry};
/// # use annals_runtime::ports::{RealFilesystem, SystemClock};
/// # use std::sync::Arc;
/// let registry = Registry::default();
/// let builtins = Builtins {
///     files: Arc::new(RealFilesystem),
///     clock: Arc::new(SystemClock::local()),
///     platform: std::env::consts::OS.into(),
///     environment: true,
///     date: true,
/// };
/// registry.register(Builtins::key(), builtins)?.detach();
/// # Ok::<(), annals_runtime::context::DuplicateContribution>(())
/// ```
#[derive(Clone)]
pub struct Builtins {
    /// For the environment: where to look for the project.
    pub files: Arc<dyn Filesystem>,
    /// For the date.
    pub clock: Arc<dyn Clock>,
    /// What the environment calls the platform; `std::env::consts::OS` for the host's.
    pub platform: String,
    /// Whether the environment is included.
    pub environment: bool,
    /// Whether the date is included.
    pub date: bool,
}

impl Builtins {
    /// The contribution key `core/builtins`.
    pub fn key() -> Key {
        own_key("core/builtins")
    }
}

impl Producer for Builtins {
    fn produce<'a>(&'a self, boundary: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>> {
        Box::pin(async move {
            let environment =
                || environment(self.files.clone(), boundary.location.directory.clone(), self.platform.clone());
            let sources = [self.environment.then(environment), self.date.then(|| date(self.clock.clone()))];
            SystemContext::new(sources.into_iter().flatten()).map_err(|error| Fault::Failed(error.to_string()))
        })
    }
}

/// The source `core/environment`: where the agent works, observed at every boundary. Its value is the rendered block.
pub fn environment(files: Arc<dyn Filesystem>, directory: String, platform: String) -> Arc<dyn ContextSource> {
    let load = move || {
        let (files, directory, platform) = (files.clone(), directory.clone(), platform.clone());
        async move {
            match filesystem::project(files.as_ref(), &directory).await {
                Ok((root, git)) => Loaded::Available(format!(
                    "<env>\n  Working directory: {directory}\n  Workspace root folder: {root}\n  \
                     Is directory a git repo: {}\n  Platform: {platform}\n</env>",
                    if git { "yes" } else { "no" },
                )),
                Err(error) => Loaded::unavailable(error.to_string()),
            }
        }
    };
    let baseline =
        |block: &String| format!("Here is some useful information about the environment you are running in:\n{block}");
    Arc::new(
        Source::new(own_key("core/environment"), load, baseline)
            .update(|_, block| format!("The environment you are running in is now:\n{block}")),
    )
}

/// The source `core/date`: the calendar day in the clock's zone, observed at every boundary.
pub fn date(clock: Arc<dyn Clock>) -> Arc<dyn ContextSource> {
    let load = move || {
        let now = clock.now();
        std::future::ready(day(now, clock.offset_minutes(now)))
    };
    Arc::new(
        Source::new(own_key("core/date"), load, |day: &String| format!("Today's date: {day}"))
            .update(|_, day| format!("Today's date is now: {day}")),
    )
}

/// `Wed Jun 03 2026`.
fn day(now: Time, offset_minutes: i32) -> String {
    const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = now.civil(offset_minutes);
    let weekday = WEEKDAYS.get(usize::from(now.weekday(offset_minutes))).copied().unwrap_or_default();
    let month = MONTHS.get(usize::from(month).saturating_sub(1)).copied().unwrap_or_default();
    format!("{weekday} {month} {day:02} {year:04}")
}
