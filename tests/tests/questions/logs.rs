//! A log that has lost its blobs.

use annals_core::{Blobs, NoBlobs};
use annals_store::{EventLog, LogLayer};
use std::sync::Arc;

/// A log whose blobs are not there.
pub struct WithoutBlobs(pub Arc<dyn EventLog>);

impl LogLayer for WithoutBlobs {
    fn inner(&self) -> &dyn EventLog {
        &*self.0
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        Arc::new(NoBlobs)
    }
}
