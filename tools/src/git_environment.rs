//! What git obeys in every command that is started here, against the settings of the repository in which it runs (`docs/security.md`).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variable with the number of settings that the environment gives git.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// A folder that looks like a repository without a worktree is none, unless it is named: such a folder can be a part of any repository. And no
/// program is asked which files changed.
const SETTINGS: [(&str, &str); 2] = [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false")];

/// The same for a command that inherits the environment of this process, as far as it is `shown`.
pub(super) fn inherited_git_settings(shown: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
    git_settings(std::env::var_os(COUNT).filter(|_| shown(COUNT)).as_deref())
}

/// The variables with these settings, behind those that the environment of the command gives already.
pub(super) fn git_settings(count: Option<&OsStr>) -> Vec<(OsString, OsString)> {
    // With another text than a number git refuses to run.
    let before = count.and_then(OsStr::to_str).and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or(0);
    let mut all = vec![(COUNT.into(), (before + SETTINGS.len()).to_string().into())];
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{}", before + at).into(), (*key).into()));
        all.push((format!("GIT_CONFIG_VALUE_{}", before + at).into(), (*value).into()));
    }
    all
}

/// Adds them to an environment that is complete.
pub(super) fn add_git_settings(environment: &mut BTreeMap<OsString, OsString>) {
    let count = environment.get(OsStr::new(COUNT)).cloned();
    environment.extend(git_settings(count.as_deref()));
}

#[cfg(test)]
mod tests {
    use super::git_settings;

    #[test]
    fn settings_of_the_environment_stay_before_them() {
        let set = |count: Option<&str>| -> Vec<String> {
            let all = git_settings(count.map(AsRef::as_ref));
            all.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
        };
        assert_eq!(set(Some("2"))[..2], ["GIT_CONFIG_COUNT=4", "GIT_CONFIG_KEY_2=safe.bareRepository"]);
        for none in [None, Some(""), Some("many")] {
            assert_eq!(
                set(none),
                [
                    "GIT_CONFIG_COUNT=2",
                    "GIT_CONFIG_KEY_0=safe.bareRepository",
                    "GIT_CONFIG_VALUE_0=explicit",
                    "GIT_CONFIG_KEY_1=core.fsmonitor",
                    "GIT_CONFIG_VALUE_1=false",
                ]
            );
        }
    }
}
