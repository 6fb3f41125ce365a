//! How far the beginning of a command says what it does.

mod programs;

use programs::{NESTED, NEVER, NEVER_SUBCOMMANDS, RUN_A_FILE, SYNTAX, WITH_SUBCOMMANDS};

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
    if NEVER.contains(&program) || is_syntax(command) || program.starts_with(['-', '.']) || program.starts_with("mkfs")
    {
        return None;
    }
    // `python3.12` is `python3`.
    let named = program.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
    let program = if NEVER.contains(&named) || RUN_A_FILE.contains(&named) { named } else { program };
    if NEVER.contains(&program) {
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
    // `printf -v PATH` sets a variable.
    if program == "printf" && words.get(1).is_some_and(|word| word.starts_with('-')) {
        return None;
    }
    let prefix = words.get(..wanted)?;
    prefix.iter().all(|word| is_plain(word)).then(|| prefix.join(" "))
}

/// Whether a part of a command begins with a word of the shell: as a beginning of commands it would mean anything.
pub(super) fn is_syntax(command: &str) -> bool {
    let word = command.split([' ', '\t', ';']).find(|word| !word.is_empty()).unwrap_or_default();
    SYNTAX.contains(&word) || word == "while" || word == "in"
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
            ("python3.12 tool.py", "python3.12 tool.py"),
            ("printf '%s' x", "printf"),
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
            "for i in 1 2",
            "while true",
            "if true",
            "until test -e x",
            "case $x in",
            "do cargo test",
            "done",
            "! git diff",
            "{ ls",
            "( ls",
            "((i++))",
            "[ -f x ]",
            "[[ -f x ]]",
            "function f",
            "time cargo test",
            "timeout 5 cargo test",
            "nice -n 5 make",
            "watch ls",
            "command ls",
            "builtin cd x",
            "exec ls",
            "doas ls",
            "env X=1 ls",
            "X=1 Y=2 ls",
            "X=1",
            "PATH=/tmp:$PATH",
            "export PATH=/tmp",
            "declare -x A=1",
            "set -e",
            "alias ls=rm",
            "trap x EXIT",
            "read PATH",
            "printf -v PATH x",
            "python3.12 -c 1",
            "/usr/bin/python3 -c 1",
            "bash",
            "sh -x a.sh",
            "pwsh -c x",
            "java -jar x.jar",
            "-p ls",
            "..",
            "cp a b",
            "mv a b",
            "tee x",
            "ln -s a b",
        ] {
            assert_eq!(command_prefix(command), None, "{command}");
        }
    }
}
