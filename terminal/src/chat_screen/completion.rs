//! What the word before the cursor could become: a command at the beginning, a file or an agent after `@`.

/// How many candidates are kept.
const MOST: usize = 200;

/// What could be completed.
#[derive(Clone, Debug, Default)]
pub(super) struct CompletionSource {
    /// Commands, with what they do.
    pub(super) commands: Vec<(String, String)>,
    /// Names after `@` besides files, with a description of each.
    pub(super) names: Vec<(String, String)>,
    /// Files below the directory; `None` while they are not known.
    pub(super) files: Option<Vec<String>>,
}

/// The candidates for a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    /// Where the word begins.
    pub(super) start: usize,
    /// The candidates to replace it, each with a description.
    pub(super) candidates: Vec<(String, String)>,
    pub(super) selected: usize,
    /// Whether it is a command.
    pub(super) is_command: bool,
}

/// The word before the cursor, if it can be completed: where it begins, and whether it is a command.
pub(super) fn word(before: &str) -> Option<(usize, bool)> {
    if before.starts_with('/') && !before.contains(char::is_whitespace) && !before.get(1..)?.contains('/') {
        return Some((0, true));
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |at| {
        let blank = before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        at + blank
    });
    before.get(start..)?.starts_with('@').then_some((start, false))
}

impl CompletionSource {
    /// The candidates for the word before the cursor.
    pub(super) fn complete(&self, before: &str) -> Option<Completion> {
        let (start, is_command) = word(before)?;
        let typed = before.get(start + 1..)?.to_lowercase();
        let mut found: Vec<(usize, String, String)> = Vec::new();
        let mut offer = |name: &str, what: &str, shown: String| {
            if let Some(rank) = rank(&name.to_lowercase(), &typed) {
                found.push((rank, shown, what.to_owned()));
            }
        };
        if is_command {
            for (name, what) in &self.commands {
                offer(name.trim_start_matches('/'), what, name.clone());
            }
        } else {
            for (name, what) in &self.names {
                offer(name, what, format!("@{name}"));
            }
            for file in self.files.iter().flatten() {
                offer(file, "", format!("@{file}"));
            }
        }
        // Of equal rank the shortest first, commands in their own order.
        found.sort_by(|(left, a, _), (right, b, _)| {
            left.cmp(right).then_with(|| if is_command { std::cmp::Ordering::Equal } else { a.len().cmp(&b.len()) })
        });
        found.truncate(MOST);
        let candidates: Vec<_> = found.into_iter().map(|(_, shown, what)| (shown, what)).collect();
        (!candidates.is_empty()).then_some(Completion { start, candidates, selected: 0, is_command })
    }
}

/// How well a name fits what was typed; less is better.
fn rank(name: &str, typed: &str) -> Option<usize> {
    let file = name.rsplit('/').next().unwrap_or(name);
    if name.starts_with(typed) {
        return Some(0);
    }
    if file.starts_with(typed) {
        return Some(1);
    }
    if name.contains(typed) {
        return Some(2);
    }
    let mut rest = name.chars();
    typed.chars().all(|c| rest.any(|other| other == c)).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> CompletionSource {
        CompletionSource {
            commands: vec![("/model".into(), "a model".into()), ("/new".into(), String::new())],
            names: vec![("explore".into(), "agent".into())],
            files: Some(["src/explain.rs", "docs/example.md", "README.md"].map(str::to_owned).to_vec()),
        }
    }

    fn shown(before: &str) -> Vec<String> {
        let found = source().complete(before);
        found.into_iter().flat_map(|found| found.candidates).map(|(shown, _)| shown).collect()
    }

    #[test]
    fn commands_are_completed_at_the_beginning_and_files_after_an_at() {
        assert_eq!(shown("/m"), ["/model"]);
        assert_eq!(shown("/"), ["/model", "/new"]);
        assert_eq!(shown("see @expl"), ["@explore", "@src/explain.rs", "@docs/example.md"]);
        assert_eq!(shown("@rdm"), ["@README.md"]);
        assert_eq!(shown("a /mo"), Vec::<String>::new());
        assert_eq!(shown("/etc/ho"), Vec::<String>::new());
        assert_eq!(shown("me@exp"), Vec::<String>::new());
    }

    #[test]
    fn the_word_before_the_cursor_is_found_after_any_blank() {
        assert_eq!(word("a\u{3000}@b"), Some((4, false)));
        assert_eq!((word("/mod"), word("a b"), word("/model x")), (Some((0, true)), None, None));
    }
}
