//! How far the beginning of a command says what it does.

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: [&str; 62] = [
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "bun",
    "bundle",
    "bunx",
    "cabal",
    "cargo",
    "cmake",
    "composer",
    "conda",
    "dart",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "fly",
    "gcloud",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "hatch",
    "helm",
    "heroku",
    "jj",
    "just",
    "kubectl",
    "lein",
    "make",
    "meson",
    "mix",
    "mvn",
    "mvnw",
    "nix",
    "nox",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pipenv",
    "pnpm",
    "pnpx",
    "podman",
    "poetry",
    "rails",
    "rake",
    "rustup",
    "sbt",
    "stack",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "uvx",
    "yarn",
    "zig",
];

/// Subcommands whose own argument says what they do.
const NESTED: [&str; 6] = ["compose", "exec", "run", "run-script", "stash", "workspace"];

/// Programs that run a file, which says what they do.
const RUN_A_FILE: [&str; 11] =
    ["bash", "deno", "node", "perl", "php", "python", "python3", "Rscript", "ruby", "sh", "zsh"];

/// Programs that do anything, or what is hard to undo: only the same call is covered.
const NEVER: [&str; 53] = [
    ".",
    "at",
    "awk",
    "busybox",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "chroot",
    "command",
    "crontab",
    "curl",
    "dash",
    "dd",
    "doas",
    "env",
    "eval",
    "exec",
    "fdisk",
    "fish",
    "gawk",
    "gdb",
    "halt",
    "ksh",
    "kill",
    "killall",
    "mkfs",
    "mount",
    "nc",
    "ncat",
    "nohup",
    "nsenter",
    "osascript",
    "parallel",
    "pkill",
    "reboot",
    "rm",
    "rmdir",
    "rsync",
    "scp",
    "screen",
    "setsid",
    "shred",
    "shutdown",
    "socat",
    "source",
    "ssh",
    "su",
    "sudo",
    "tmux",
    "unshare",
    "wget",
    "xargs",
];

/// Subcommands that publish, delete, or run anything elsewhere.
const NEVER_SUBCOMMANDS: [(&str, &[&str]); 9] = [
    ("docker", &["run", "exec", "rm", "rmi", "system", "volume"]),
    ("podman", &["run", "exec", "rm", "rmi", "system", "volume"]),
    ("git", &["clean", "config", "filter-branch", "push", "reset", "remote", "update-ref"]),
    ("kubectl", &["apply", "delete", "exec", "run"]),
    ("npm", &["exec", "publish", "unpublish"]),
    ("cargo", &["login", "owner", "publish", "yank"]),
    ("gh", &["api", "auth", "repo", "secret"]),
    ("terraform", &["apply", "destroy"]),
    ("systemctl", &["disable", "mask", "poweroff", "reboot", "stop"]),
];

/// The words of a simple command that say what it does, such as `cargo test` of `cargo test --lib a`. `None` if only the
/// whole command does, or if nothing that begins so should be allowed unseen.
///
/// ```
/// use annals_runtime::permission::command_prefix;
/// assert_eq!(command_prefix("npm run build -- --watch").as_deref(), Some("npm run build"));
/// assert_eq!(command_prefix("rm -r build"), None);
/// ```
pub fn command_prefix(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let first = *words.first()?;
    // The last part of a path names the program: `./gradlew test`.
    let program = first.rsplit('/').next()?;
    if NEVER.contains(&program) || program.starts_with("mkfs") {
        return None;
    }
    let mut wanted = 1;
    if RUN_A_FILE.contains(&program) && program != "deno" {
        // `-m MODULE` names a program, any other option may be one.
        wanted = if words.get(1) == Some(&"-m") { 3 } else { 2 };
        if wanted == 2 && words.get(1).is_none_or(|word| word.starts_with('-')) {
            return None;
        }
    } else if WITH_SUBCOMMANDS.contains(&program) {
        // A toolchain comes first: `cargo +nightly test`.
        wanted = if words.get(1).is_some_and(|word| word.starts_with('+')) { 3 } else { 2 };
        let subcommand = *words.get(wanted - 1)?;
        let never = NEVER_SUBCOMMANDS.iter().find(|(name, _)| *name == program).map(|(_, never)| *never);
        if subcommand.starts_with('-') || subcommand.contains('=') || never.is_some_and(|all| all.contains(&subcommand))
        {
            return None;
        }
        let runs_itself = ["cargo", "go"].contains(&program) && subcommand == "run";
        if NESTED.contains(&subcommand) && !runs_itself && words.get(wanted).is_some_and(|word| !word.starts_with('-'))
        {
            wanted += 1;
            if NEVER.contains(words.get(wanted - 1)?) {
                return None;
            }
        }
    }
    let prefix = words.get(..wanted)?;
    prefix.iter().all(|word| is_plain(word)).then(|| prefix.join(" "))
}

/// Whether a shell takes a word as it is written, and a pattern of a rule does, too.
fn is_plain(word: &str) -> bool {
    word.chars().all(|one| one.is_ascii_alphanumeric() || "-_./:+@,%".contains(one))
}

#[cfg(test)]
mod tests {
    use super::command_prefix;

    #[test]
    fn the_beginning_of_a_command_says_what_it_does() {
        for (command, prefix) in [
            ("cargo test --lib a", "cargo test"),
            ("cargo +nightly fmt --all", "cargo +nightly fmt"),
            ("cargo run -- x", "cargo run"),
            ("git commit -m 'a *'", "git commit"),
            ("git stash pop", "git stash pop"),
            ("npm test", "npm test"),
            ("npm run build -- --watch", "npm run build"),
            ("uv run pytest -q", "uv run pytest"),
            ("docker compose up -d", "docker compose up"),
            ("./gradlew test", "./gradlew test"),
            ("make -j4", ""),
            ("make test", "make test"),
            ("pytest tests/a.py", "pytest"),
            ("python -m pytest -x", "python -m pytest"),
            ("python3 tool.py --all", "python3 tool.py"),
            ("ls", "ls"),
            ("grep -rn 'a b' src", "grep"),
        ] {
            assert_eq!(command_prefix(command).unwrap_or_default(), prefix, "{command}");
        }
    }

    #[test]
    fn what_runs_anything_or_cannot_be_undone_has_no_beginning_to_allow() {
        for command in [
            "rm -rf build",
            "/bin/rm x",
            "sudo ls",
            "env A=1 ls",
            "A=1 ls",
            "bash -c 'ls'",
            "python -c 'print(1)'",
            "python",
            "node -e 1",
            "xargs ls",
            "curl https://example.org",
            "git push origin main",
            "git -C /tmp log",
            "git",
            "docker run x",
            "uv run rm x",
            "make SHELL=./x",
            "$PROGRAM x",
            "'ls' x",
            "(ls > x)",
            "",
        ] {
            assert_eq!(command_prefix(command), None, "{command}");
        }
    }
}
