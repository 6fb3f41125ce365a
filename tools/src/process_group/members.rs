//! The members of a process group, as the system lists its processes.

use rustix::process::{Pid, getpid};
use std::fs;
use std::path::Path;

/// Whether a group has a member that still runs: a process that has ended stays a member until its parent asks how, which some
/// parents never do. `None` where `/proc` does not show the group, or belongs to other processes than ours.
pub(super) fn has_running_member(group: Pid) -> Option<bool> {
    let ours = getpid().as_raw_nonzero().to_string();
    fs::read_link("/proc/self").ok().filter(|own| own == Path::new(&ours))?;
    let mut states = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        if entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
            // One that ends meanwhile cannot be read.
            let status = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            states.extend(state_in(&status, group));
        }
    }
    (!states.is_empty()).then(|| states.iter().any(|state| !matches!(state, 'Z' | 'X' | 'x')))
}

/// The state of the process that a line of `/proc/PID/stat` is about, if it is a member of a group.
fn state_in(line: &str, group: Pid) -> Option<char> {
    // The name before may contain anything.
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let member_of: i32 = fields.nth(1)?.parse().ok()?;
    (member_of == group.as_raw_nonzero().get()).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_the_state_of_a_member() -> Result<(), &'static str> {
        let group = Pid::from_raw(70).ok_or("no group")?;
        assert_eq!(state_in("71 (a b) Z 1 70 70 0 -1", group), Some('Z'));
        assert_eq!(state_in("71 (a) R 1 9) S 1 70 70 0", group), Some('S'));
        assert_eq!(state_in("71 (sh) S 1 71 70 0 -1", group), None);
        assert_eq!(state_in("", group), None);
        Ok(())
    }
}
