//! The privileges of the administrator, of whom containers often make their user.

use rustix::io;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// What concerns the ownership of files, which the rules for files confine. Among the others are reading other processes,
/// mounts, raw packets and devices.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// Gives up privileges of this thread. A command does not get them back, since the thread may gain none by starting one.
pub(crate) fn drop() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    if KEPT.contains(sets.permitted) {
        return Ok(());
    }
    sets.permitted &= KEPT;
    sets.effective &= KEPT;
    sets.inheritable &= KEPT;
    set_capabilities(None, sets)
}
