//! A runtime that only undoes: over the store's log, with the files that hosts of the store keep.

use crate::error::CliError;
use crate::reader::Reader;
use annals_core::Time;
use annals_core::event::Location;
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{ManualClock, MemoryOutputs, ScriptedProvider, SeededIds};
use annals_runtime::settings::{FixedDefinitions, LocationServices, Locations, Settings};
use annals_runtime::worktree::{files_kept_in, files_once_kept_in};
use annals_runtime::{Ports, Runtime};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where captures of files are looked for.
#[derive(Clone, Debug)]
pub enum Captures {
    /// Where hosts of this store have kept some.
    Kept(PathBuf),
    /// In this folder, made where there are none.
    In(PathBuf),
}

impl Locations for Captures {
    fn at(&self, location: &Location) -> LocationServices {
        let directory = Path::new(&location.directory);
        let files = match self {
            Self::Kept(store) => files_once_kept_in(store, directory),
            Self::In(folder) => files_kept_in(folder, directory),
        };
        LocationServices { files: Some(files), ..LocationServices::default() }
    }
}

/// A runtime over what `reader` reads, whose clock stands at `now`. It takes no turns: no model is defined.
///
/// # Errors
/// When the system gives no randomness for ids.
pub fn runtime(reader: &Reader, now: Time) -> Result<Runtime, CliError> {
    with_captures(reader, now, Captures::Kept(reader.store().clone()))
}

/// The same with captures of files from elsewhere.
///
/// # Errors
/// See [`runtime`].
pub fn with_captures(reader: &Reader, now: Time, captures: Captures) -> Result<Runtime, CliError> {
    let views = reader.saved().cloned();
    let clock = Arc::new(ManualClock::at(now));
    let ports = Ports {
        log: reader.log().clone(),
        provider: Arc::new(ScriptedProvider::new([])),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::from_entropy()?),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("annals")),
        locations: Arc::new(captures),
        definitions: Arc::new(FixedDefinitions::default()),
    };
    Ok(Runtime::new(ports, Settings { views, ..Settings::default() }))
}
