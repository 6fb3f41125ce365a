//! Files that make other programs run: a permission for all edits leaves them to be asked for, and the sandbox keeps what programs
//! obey unasked (`docs/reference/permissions.md#files-that-other-programs-obey`).

use annals_core::permission::wildcard;

/// Files and folders, in any folder, from which programs start commands without being asked to: git, agents, editors, shells and package
/// managers, when a person opens or enters the project, commits or installs. In lower case.
pub const OBEYED_UNASKED: [&str; 36] = [
    ".git",
    ".annals",
    ".claude",
    ".codex",
    ".cursor",
    ".opencode",
    ".gemini",
    ".windsurf",
    ".continue",
    ".aider.conf.yml",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".vs",
    ".devcontainer",
    ".devcontainer.json",
    ".envrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".lvimrc",
    ".husky",
    ".githooks",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook-local.yml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "mise.toml",
    ".mise.toml",
];

/// Further ones that decide what services, package managers and programs run with the project, and start-up files for a project that is a
/// home folder. Each may be a pattern. In lower case. Builds and tests are not guarded: changing those is ordinary work.
pub const OBEYED_IN_USE: [&str; 38] = [
    ".env*",
    ".cargo",
    ".yarn",
    ".mvn",
    ".bundle",
    ".direnv",
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".pre-commit-hooks.yaml",
    ".huskyrc*",
    ".lintstagedrc*",
    "lefthook.*",
    ".lefthook.*",
    "lefthook-local.*",
    ".github",
    ".gitlab",
    ".gitlab-ci.yml",
    ".circleci",
    ".buildkite",
    ".woodpecker*",
    ".ci",
    ".drone.yml",
    ".travis.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    ".ssh",
    ".bashrc",
    ".bash_*",
    ".profile",
    ".zsh*",
    ".zprofile",
    ".zlog*",
    ".local/bin",
    ".config/annals",
    ".config/autostart",
];

/// The patterns of permission rules for these files. A file in another folder, or with letters of another case, is judged as its
/// [guarded resource](guarded_resource), too, so that one pattern each is enough.
pub fn guarded_patterns() -> impl Iterator<Item = String> {
    let names = OBEYED_UNASKED.iter().chain(&OBEYED_IN_USE);
    names.flat_map(|name| [(*name).to_owned(), format!("{name}/*")])
}

/// Whether a path leads to something from which programs start commands unasked.
pub fn is_obeyed_unasked(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']).map(|part| part.trim_end_matches([' ', '.']).to_lowercase());
    parts.any(|part| OBEYED_UNASKED.contains(&part.as_str()))
}

/// What such a file is judged as besides its path: from the name that is guarded on, which is in lower case, such as `.git/config` of
/// `sub/.GIT/config`. `None` of other files.
///
/// ```
/// use annals_guard::guarded_resource;
/// assert_eq!(guarded_resource("sub/.GIT/Config").as_deref(), Some(".git/Config"));
/// assert_eq!(guarded_resource(".gitignore"), None);
/// ```
pub fn guarded_resource(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    (0..parts.len()).find_map(|at| {
        let names = || OBEYED_UNASKED.iter().chain(&OBEYED_IN_USE);
        let length = names().find_map(|name| {
            let length = name.split('/').count();
            // Names that some file systems take for the same.
            let found = parts.get(at..at + length)?.join("/").to_lowercase();
            wildcard(name, found.trim_end_matches([' ', '.'])).then_some(length)
        })?;
        let name = parts[at..at + length].join("/").to_lowercase();
        let rest = &parts[at + length..];
        Some([&[name.trim_end_matches([' ', '.'])], rest].concat().join("/"))
    })
}

#[cfg(test)]
mod tests {
    use super::{guarded_patterns, guarded_resource};
    use annals_core::permission::matches;

    #[test]
    fn files_that_make_programs_run_are_guarded_in_any_folder_and_case() {
        let patterns: Vec<String> = guarded_patterns().collect();
        for path in [
            ".git",
            ".git/config",
            "sub/.git",
            "a/b/.git/hooks/x",
            ".GIT/config",
            "sub/.Git/hooks/y",
            ".git./config",
            ".husky/pre-commit",
            ".mcp.json",
            "web/.mcp.json",
            ".cursor/mcp.json",
            ".idea/workspace.xml",
            ".vscode/tasks.json",
            "sub/.VSCode/tasks.json",
            ".npmrc",
            ".envrc",
            ".env",
            ".env.local",
            "api/.env.production",
            ".claude/settings.json",
            ".codex/config.toml",
            ".opencode/x",
            ".githooks/pre-push",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            "lefthook.toml",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".circleci/config.yml",
            "Jenkinsfile",
            ".annals/config.toml",
            ".config/annals/config.toml",
            ".bashrc",
        ] {
            let judged = guarded_resource(path);
            assert!(
                judged.as_deref().is_some_and(|one| patterns.iter().any(|p| matches(p, one))),
                "{path}: {judged:?}"
            );
        }
        for path in [
            "src/main.rs",
            "Makefile",
            "package.json",
            ".gitignore",
            "docs/environment.md",
            "git/config",
            "vscode/x",
            "env",
            "config.toml",
            "a.git/x",
        ] {
            assert_eq!(guarded_resource(path), None, "{path}");
        }
    }
}
