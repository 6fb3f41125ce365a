//! Settings of a repository that name no program and lead nowhere.

/// The configuration of a repository that has none.
pub(crate) const MINIMAL: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// Settings, by section and key, that `git init`, `clone`, `submodule` and `worktree` make, and those of a person.
const HARMLESS: [(&str, &[&str]); 9] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "worktree",
            "sparsecheckout",
            "sparsecheckoutcone",
            "autocrlf",
            "eol",
        ],
    ),
    ("extensions", &["objectformat", "compatobjectformat", "refstorage"]),
    ("remote", &["url", "fetch", "promisor", "partialclonefilter", "tagopt", "prune"]),
    ("branch", &["remote", "merge", "rebase", "description"]),
    ("submodule", &["url", "active"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
];

/// Whether a configuration of git has harmless settings alone. What is written in an unusual way is not read here, and not harmless.
pub(crate) fn only_harmless(text: &str) -> bool {
    let mut keys: &[&str] = &[];
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(head) = line.strip_prefix('[') {
            let Some(head) = head.strip_suffix(']') else { return false };
            let section = head.split([' ', '\t', '.']).next().unwrap_or_default().to_ascii_lowercase();
            let plain = head.matches('"').count() == if head.contains('"') { 2 } else { 0 } && !head.contains(']');
            let known = HARMLESS.iter().find(|(name, _)| *name == section);
            keys = known.map_or(&[], |(_, keys)| *keys);
            return plain && known.is_some();
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        keys.contains(&key.as_str()) && !value.ends_with('\\') && !value.contains("ext::")
    })
}

#[cfg(test)]
mod tests {
    use super::{MINIMAL, only_harmless};

    #[test]
    fn settings_that_name_programs_or_further_files_are_not_harmless() {
        assert!(only_harmless(MINIMAL));
        assert!(only_harmless(
            "[remote \"o\"]\n\turl = https://x/y\n\tfetch = +a:b\n# x\n[branch \"m\"]\nmerge = refs/heads/m\n"
        ));
        for text in [
            "[core]\n\tfsmonitor = ./evil",
            "[core] fsmonitor = ./evil",
            "[core]\nfsmonitor",
            "[CORE]\nHooksPath=x",
            "[include]\npath = x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[alias]\nst = !evil",
            "[filter \"x\"]\nclean = evil",
            "[diff \"x\"]\ntextconv = evil",
            "[core]\nbare = false \\\nfsmonitor = x\n",
            "[core \"]\"]fsmonitor=x",
            "[remote \"o\"]\nuploadpack = evil",
            "[remote \"o\"]\nurl = ext::sh -c evil",
            "[submodule \"x\"]\nupdate = !evil",
            "[core]\nsshcommand = evil",
            "[credential]\nhelper = !evil",
            "[extensions]\nworktreeconfig = true",
        ] {
            assert!(!only_harmless(text), "{text}");
        }
    }
}
