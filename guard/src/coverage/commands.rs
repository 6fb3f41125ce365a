//! How far the beginning of a command says what it does.

mod programs;

use programs::{READING, READING_SUBCOMMANDS, SYNTAX};

/// The words of a simple command that say what it does, such as `git log` of `git log -3`: of programs that are known, where they only read,
/// or run the tests of the project. `None` of everything else: only the whole command says what that does.
///
/// ```
/// use annals_guard::command_prefix;
/// assert_eq!(command_prefix("git log --oneline -5").as_deref(), Some("git log"));
/// assert_eq!(command_prefix("git branch -D x"), None);
/// ```
pub fn command_prefix(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let program = *words.first()?;
    // What is read elsewhere was asked for by itself, and says nothing of other places.
    if words.iter().skip(1).any(|word| may_lead_elsewhere(word)) {
        return None;
    }
    if READING.contains(&program) {
        // `printf -v PATH` sets a variable.
        if program == "printf" && words.get(1).is_some_and(|word| word.starts_with('-')) {
            return None;
        }
        return Some(program.to_owned());
    }
    // A toolchain comes first: `cargo +nightly test`.
    let toolchain = usize::from(program == "cargo" && words.get(1).is_some_and(|word| word.starts_with('+')));
    let known =
        READING_SUBCOMMANDS.iter().filter(|(name, _)| *name == program).flat_map(|(_, subcommands)| *subcommands);
    let rest = words.get(1 + toolchain..)?;
    let begins = |subcommand: &&&str| {
        let named: Vec<&str> = subcommand.split(' ').collect();
        rest.starts_with(&named)
    };
    let subcommand = known.into_iter().find(begins)?;
    let prefix = words.get(..1 + toolchain + subcommand.split(' ').count())?;
    prefix.iter().all(|word| is_plain(word)).then(|| prefix.join(" "))
}

/// Whether a part of a command begins with a word of the shell: as a beginning of commands it would mean anything.
pub(super) fn is_syntax(command: &str) -> bool {
    let word = command.split([' ', '\t', ';']).find(|word| !word.is_empty()).unwrap_or_default();
    SYNTAX.contains(&word) || word == "while" || word == "in"
}

/// Whether a word names, or may name, a file outside of the folder in which the command runs.
fn may_lead_elsewhere(word: &str) -> bool {
    let word = word.replace(['"', '\'', '\\'], "");
    let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
    [&word, value].iter().any(|text| text.starts_with(['/', '~', '$']))
        || word.split(['/', '=', '{', ',', '}']).any(|part| part == "..")
        || ["{/", ",/", "{~", ",~"].iter().any(|part| word.contains(part))
        || word.starts_with('-') && word.contains(['/', '~'])
}

/// Whether a shell takes a word as it is written, and a pattern of a rule does, too.
fn is_plain(word: &str) -> bool {
    word.chars().all(|one| one.is_ascii_alphanumeric() || "-_./:+@,%".contains(one))
}

#[cfg(test)]
mod tests {
    use super::command_prefix;

    #[test]
    fn the_beginning_of_a_command_that_reads_says_what_it_does() {
        for (command, prefix) in [
            ("cargo test --lib a", "cargo test"),
            ("cargo +nightly check --all", "cargo +nightly check"),
            ("git status --short", "git status"),
            ("git log -3 -- src", "git log"),
            ("git stash list", "git stash list"),
            ("git worktree list", "git worktree list"),
            ("go test ./...", "go test"),
            ("pytest tests/a.py", "pytest"),
            ("printf '%s' x", "printf"),
            ("ls", "ls"),
            ("grep -rn 'a b' src", "grep"),
            ("wc -l a b", "wc"),
        ] {
            assert_eq!(command_prefix(command).unwrap_or_default(), prefix, "{command}");
        }
    }

    #[test]
    fn what_is_not_known_to_read_is_covered_exactly() {
        for command in [
            // Shells of databases, services and archives.
            "sqlite3 a.db 'select 1'",
            "psql -c 'select 1'",
            "mysql shop",
            "redis-cli get x",
            "mongosh",
            "duckdb a",
            "aws s3 ls",
            "gh pr list",
            "kubectl get pods",
            "docker ps",
            "docker compose up -d",
            "podman ps",
            "helm list",
            "terraform plan",
            "gcloud info",
            "tar tf a.tar",
            "unzip -l a.zip",
            "zip a b",
            // Package managers and interpreters.
            "npm install x",
            "npm test",
            "npm run build -- --watch",
            "npx x",
            "pnpm i",
            "yarn add x",
            "pip install x",
            "pip3 list",
            "uv run pytest -q",
            "poetry add x",
            "cargo install x",
            "cargo add x",
            "cargo run -- x",
            "cargo publish",
            "cargo fmt",
            "apt install x",
            "apt-get update",
            "brew install x",
            "gem install x",
            "composer install",
            "go run .",
            "go install x",
            "go env -w X=y",
            "python -m pytest -x",
            "python3.12 tool.py",
            "python",
            "node -e 1",
            "ruby x.rb",
            "perl -e 1",
            "bash -c ls",
            "make test",
            "make SHELL=./x",
            "./gradlew test",
            "just x",
            "mvn test",
            "java -jar x.jar",
            "deno run x",
            // Programs that change something, or run others.
            "git branch -D x",
            "git checkout -b x",
            "git config --list",
            "git commit -m x",
            "git push origin main",
            "git stash pop",
            "git remote -v",
            "git tag -d x",
            "git reflog expire",
            "git -C sub log",
            "git worktree add x",
            "git submodule foreach x",
            "git",
            "date",
            "date -s x",
            "hostname x",
            "find . -name x",
            "xargs ls",
            "awk '{print}' x",
            "sed -n 1p x",
            "rm -rf build",
            "cp a b",
            "mv a b",
            "tee x",
            "ln -s a b",
            "touch x",
            "mkdir x",
            "chmod 755 x",
            "curl https://example.org",
            "wget x",
            "ssh x",
            "rsync a b",
            "crontab -l",
            "systemctl status x",
            "sudo ls",
            "env A=1 ls",
            "A=1 ls",
            "time cargo test",
            "timeout 5 ls",
            "watch ls",
            "nice ls",
            "kill 1",
            "export PATH=x",
            "PATH=/tmp:$PATH",
            "eval ls",
            "source x",
            ". x",
            "alias ls=rm",
            "set -e",
            "read X",
            "printf -v PATH x",
            "less x",
            "man x",
            "vim x",
            // Places elsewhere.
            "rg foo ~/.ssh",
            "grep -r x /etc",
            "grep x ../y",
            "cat $HOME/.netrc",
            "wc -l --files0-from=/etc/passwd",
            "head '/etc/passwd'",
            "cat \"$FILE\"",
            "jq --rawfile a ~/x . y",
            "ls ..",
            "ls -l /",
            // Other programs of the same name, words of the shell, and what the shell changes.
            "./ls",
            "/tmp/ls x",
            "no-such-program list",
            "$PROGRAM x",
            "'ls' x",
            "(ls > x)",
            "",
            "for i in 1 2",
            "while true",
            "if true",
            "do cargo test",
            "done",
            "! git diff",
            "{ ls",
            "[ -f x ]",
            "function f",
            "cargo '+x' test",
            "git st\\atus",
        ] {
            assert_eq!(command_prefix(command), None, "{command}");
        }
    }
}
