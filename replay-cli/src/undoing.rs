//! A runtime that only undoes: over the store's log, with the files that hosts of the store keep.

use crate::error::CliError;
use crate::reader::Reader;
use annals_core::Time;
use annals_core::event::Location;
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{ManualClock, MemoryOutputs, ScriptedProvider, SeededIds};
use annals_runtime::settings::{FixedDefinitions, LocationServices, Locations, Settings};
use annals_runtime::{Ports, Runtime};
use annals_tools::worktree::files_once_kept_in;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that hosts have kept, by Location.
struct Kept(PathBuf);

impl Locations for Kept {
    fn at(&self, location: &Location) -> LocationServices {
        let files = files_once_kept_in(&self.0, Path::new(&location.directory));
        LocationServices { files: Some(files), ..LocationServices::default() }
    }
}

/// A runtime over what `reader` reads, whose clock stands at `now`. It takes no turns: no model is defined.
///
/// # Errors
/// When the system gives no randomness for ids.
pub fn runtime(reader: &Reader, now: Time) -> Result<Runtime, CliError> {
    let views = reader.saved().cloned();
    let clock = Arc::new(ManualClock::at(now));
    let ports = Ports {
        log: reader.log().clone(),
        provider: Arc::new(ScriptedProvider::new([])),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::from_entropy()?),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("annals")),
        locations: Arc::new(Kept(reader.store().clone())),
        definitions: Arc::new(FixedDefinitions::default()),
    };
    Ok(Runtime::new(ports, Settings { views, ..Settings::default() }))
}
