//! Restricts the current thread, and says what of it the kernel enforces.

use crate::policy::SandboxPolicy;
use crate::trouble::EnforceError;
use serde::{Deserialize, Serialize};

/// What is enforced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The version of Landlock's interface that the kernel offers; 0 without Landlock.
    pub landlock: u32,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether bubblewrap makes the file system read-only.
    pub bubblewrap: bool,
    /// Whether the command has a network.
    pub network: bool,
    /// Whether the command may change the project.
    pub writable: bool,
}

impl Enforced {
    /// Whether files are confined at all, and as the policy says.
    pub fn confines(&self) -> bool {
        self.seccomp && (self.landlock > 0 || self.bubblewrap)
    }
}

/// Restricts the current thread and what it starts. `mounted`: within bubblewrap, whose mounts keep parts of writable places closed.
///
/// # Errors
/// When a restriction that this kernel offers is refused.
#[cfg(target_os = "linux")]
pub(crate) fn enforce(policy: &SandboxPolicy, mounted: bool) -> Result<Enforced, EnforceError> {
    let landlock = crate::rules::restrict(policy, mounted)?;
    crate::privileges::drop().map_err(|error| EnforceError::Privileges(error.into()))?;
    crate::filter::apply(policy.network)?;
    Ok(Enforced { landlock, seccomp: true, bubblewrap: false, network: policy.network, writable: policy.writable })
}

/// No other system is supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn enforce(policy: &SandboxPolicy, _: bool) -> Result<Enforced, EnforceError> {
    Ok(Enforced { network: policy.network, writable: policy.writable, ..Enforced::default() })
}
