//! What a shell command is judged as: each simple command in it, where it can be taken apart soundly.
//!
//! A rule such as `git *` must not allow `git log; rm -r .`, whose text it would match. So a compound command is judged
//! part by part, and every part must be allowed. Where the text may do more than its parts say (a substitution, a
//! here-document, a redirection into a file, a comment, an odd quotation), it is also judged whole, in parentheses, which
//! no rule for one command matches and `*` does. A part is not understood any further: `git *` allows whatever git can be
//! told to do.

/// Words that may stand before a command.
const BEFORE: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];

/// What a command is judged as, in order, each once.
pub(super) fn resources(command: &str) -> Vec<String> {
    let mut reading = Reading::default();
    reading.read(command);
    let mut resources: Vec<String> = Vec::new();
    let mut add = |resource: &str| {
        if !resources.iter().any(|known| known == resource) {
            resources.push(resource.into());
        }
    };
    for part in &reading.parts {
        add(part);
        // So that a rule which denies a command finds it behind these, too.
        let inner = behind(part);
        if inner != part && !inner.is_empty() {
            add(inner);
        }
    }
    let whole = command.trim();
    let everything = resources.iter().position(|resource| resource == "*");
    everything.map(|at| resources.remove(at));
    if !reading.plain || reading.parts.is_empty() || everything.is_some() {
        resources.push(format!("({whole})"));
    }
    resources
}

/// What stands behind keywords and assignments.
fn behind(part: &str) -> &str {
    let mut rest = part;
    while let Some((word, after)) = rest.split_once(char::is_whitespace) {
        let assigns = word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_name));
        if !assigns && !BEFORE.contains(&word) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

fn is_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_'
}

/// A command being taken apart.
struct Reading {
    parts: Vec<String>,
    part: String,
    /// Whether the parts say all that it does.
    plain: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { parts: Vec::new(), part: String::new(), plain: true }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Reading {
    fn read(&mut self, command: &str) {
        let mut chars = command.chars().peekable();
        while let Some(one) = chars.next() {
            match one {
                ';' | '\n' | '|' => self.end(),
                '&' if chars.peek() == Some(&'>') => self.part.push('&'),
                '&' => self.end(),
                '(' | ')' | '`' => {
                    self.plain = false;
                    self.end();
                }
                '\'' => self.single(&mut chars),
                '"' => self.double(&mut chars),
                '\\' => self.escape(&mut chars),
                '$' => {
                    // `$'` and `$"` are read differently by different shells.
                    self.plain &= !matches!(chars.peek(), Some('\'' | '"'));
                    self.expansion(&mut chars);
                }
                '<' => {
                    self.plain &= !matches!(chars.peek(), Some('<' | '(' | '>' | '&'));
                    self.part.push(one);
                }
                '>' => self.redirection(&mut chars),
                '#' => {
                    // If it begins a comment, quotes in it are none.
                    self.plain = false;
                    self.part.push(one);
                }
                one => self.part.push(one),
            }
        }
        self.end();
    }

    fn end(&mut self) {
        let part = std::mem::take(&mut self.part);
        // Only what shells take for blanks: another space would be a part of the command's name.
        let part = part.trim_matches([' ', '\t', '\n']);
        if !part.is_empty() {
            self.parts.push(part.into());
        }
    }

    fn single(&mut self, chars: &mut Chars<'_>) {
        self.part.push('\'');
        for one in chars.by_ref() {
            self.part.push(one);
            if one == '\'' {
                return;
            }
        }
        self.plain = false;
    }

    fn double(&mut self, chars: &mut Chars<'_>) {
        self.part.push('"');
        while let Some(one) = chars.next() {
            match one {
                '"' => {
                    self.part.push(one);
                    return;
                }
                '$' => self.expansion(chars),
                '`' => {
                    self.plain = false;
                    self.part.push(one);
                }
                '\\' => {
                    self.part.push(one);
                    self.part.extend(chars.next());
                }
                one => self.part.push(one),
            }
        }
        self.plain = false;
    }

    fn escape(&mut self, chars: &mut Chars<'_>) {
        // In patterns a backslash is a slash: `.\run` must not pass for `./run`.
        let names_the_command = !self.part.trim_start().contains(char::is_whitespace);
        self.part.push('\\');
        match chars.next() {
            Some('\n') | None => self.plain = false,
            Some(one) => {
                self.plain &= !names_the_command;
                self.part.push(one);
            }
        }
    }

    /// What follows a `$`: of a variable it only makes words, of anything else it may make a command.
    fn expansion(&mut self, chars: &mut Chars<'_>) {
        self.part.push('$');
        match chars.peek() {
            Some('(' | '[') => self.plain = false,
            Some('{') => {
                self.part.extend(chars.next());
                while let Some(one) = chars.next_if(|one| is_name(*one)) {
                    self.part.push(one);
                }
                match chars.next_if_eq(&'}') {
                    Some(close) => self.part.push(close),
                    None => self.plain = false,
                }
            }
            _ => {}
        }
    }

    /// Output into nothing, or into another stream, is none of a file.
    fn redirection(&mut self, chars: &mut Chars<'_>) {
        self.part.push('>');
        while let Some(more) = chars.next_if(|one| matches!(one, '>' | '|')) {
            self.part.push(more);
        }
        let stream = chars.next_if_eq(&'&').is_some();
        if stream {
            self.part.push('&');
        }
        while let Some(blank) = chars.next_if(|one| matches!(one, ' ' | '\t')) {
            self.part.push(blank);
        }
        let mut target = String::new();
        // Only what shells take for blanks: another space is a part of the name.
        while let Some(one) = chars.next_if(|one| !" \t\n;|&<>()".contains(*one)) {
            target.push(one);
        }
        let number = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit());
        self.plain &= if stream { number } else { target == "/dev/null" };
        self.part.push_str(&target);
    }
}

#[cfg(test)]
mod tests {
    use super::resources;
    use annals_core::event::{Effect, Rule};
    use annals_core::permission::authorise;

    fn judged(allowed: &str, command: &str) -> Effect {
        let rule = Rule { action: "bash".into(), resource: allowed.into(), effect: Effect::Allow };
        let resources = resources(command);
        authorise(&[rule], &[], "bash", &resources.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_simple_command_is_judged_as_it_stands() {
        for command in [
            "git",
            "git log --oneline -5",
            "git commit -m 'a; b && c | d > e $(f)'",
            "git commit -m \"it's; fine & <dandy>\"",
            "git log -- \\*.rs",
            "git log $RANGE ${RANGE}",
            "git log 2>&1",
            "git log >/dev/null 2> /dev/null",
            "git log &> /dev/null",
            "git apply < patch",
            "git log *.rs {a,b} ~ !x",
        ] {
            assert_eq!((resources(command), judged("git *", command)), (vec![command.into()], Effect::Allow));
        }
    }

    #[test]
    fn each_part_of_a_compound_command_must_be_allowed() {
        assert_eq!(
            resources("git log && git status | git x; git log\ngit y &"),
            ["git log", "git status", "git x", "git y"]
        );
        assert_eq!(judged("git *", "git log && git status"), Effect::Allow);
        for command in [
            "git log; rm -r .",
            "git log\nrm -r .",
            "git log & rm -r .",
            "git log || rm -r .",
            "git log | sh",
            "git log |& sh",
            "rm -r . ; git log",
        ] {
            assert_eq!(judged("git *", command), Effect::Ask, "{command}");
        }
    }

    #[test]
    fn what_its_parts_do_not_tell_is_never_allowed_by_a_rule_for_one_command() {
        for command in [
            "git log $(rm -r .)",
            "git log `rm -r .`",
            "git log \"$(rm -r .)\"",
            "git log \"`rm -r .`\"",
            "git log $[x[$(rm)]]",
            "git log ${x:-$(rm -r .)}",
            "git log \"${x@P}\"",
            "git log <(rm -r .)",
            "git log > ~/.bashrc",
            "git log >> x",
            "git log >| x",
            "git log >& x",
            "git log >&1\u{a0}x",
            "git log >&1\rx",
            "git log 2> x",
            "git log &> x",
            "git log <> x",
            "git log > /dev/null/../x",
            "git log << END\nit's\nEND\nrm -r .",
            "git log # it's\nrm -r . # it's",
            "git log $'\\'; rm -r . #'",
            "git log 'open",
            "git log \"open",
            "git log \\",
            "git lo\\\ng; rm",
            "gi\\t log",
            "\u{a0}git log",
            "git() { rm -r .; }; git log",
            "(git log)",
            "GIT_PAGER=rm git log",
            "{ git log; }",
            "if git log; then git log; fi",
            "",
            ";",
        ] {
            assert_eq!(judged("git *", command), Effect::Ask, "{command}");
            assert_eq!(judged("*", command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn a_denied_command_is_found_within_others() {
        let rules = [("*", Effect::Allow), ("rm *", Effect::Deny)].map(|(resource, effect)| Rule {
            action: "bash".into(),
            resource: resource.into(),
            effect,
        });
        for command in
            ["ls; rm x", "echo $(rm x)", "echo `rm x`", "if true; then rm x; fi", "A=1 rm x", "! rm x", "(rm x)"]
        {
            let resources = resources(command);
            let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
            assert_eq!(authorise(&rules, &[], "bash", &resources), Effect::Deny, "{command}");
        }
    }

    #[test]
    fn no_command_is_judged_as_everything() {
        assert_eq!(resources("*"), ["(*)"]);
        assert_eq!(resources("ls; *"), ["ls", "(ls; *)"]);
    }
}
