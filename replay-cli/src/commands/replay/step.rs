//! Walking through a Session event by event.

use crate::desk::{Desk, Found};
use crate::error::CliError;

/// Walks until the user leaves.
pub async fn run(found: &Found, desk: &Desk) -> Result<(), CliError> {
    let _ = (found, desk);
    Ok(())
}
