//! What configuration, environment and options make of a host.

use super::opening::{Found, here};
use super::{Equipment, HostError};
use crate::desk::Desk;
use crate::error::CliError;
use annals_core::{AgentName, ModelName};
use std::path::PathBuf;

/// What was said on the command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where answers are recorded.
    pub record: Option<PathBuf>,
    /// Where recorded answers are taken from.
    pub replay: Option<PathBuf>,
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The agent.
    pub agent: AgentName,
    /// The model.
    pub model: ModelName,
    /// Where it works.
    pub directory: String,
}

/// The equipment for a Session that is there, or for a new one in the current directory.
///
/// # Errors
/// When there is no such agent or model, or the model cannot be asked.
pub async fn configured(
    desk: &Desk,
    options: &Options,
    found: Option<&Found>,
) -> Result<(Equipment, Chosen), CliError> {
    let _ = (desk, options, found, here()?);
    Err(HostError::NoModel { advice: String::new() }.into())
}
