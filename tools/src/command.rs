//! What a shell command is judged as: each simple command in it, where it can be taken apart soundly.
//!
//! A rule such as `git *` must not allow `git log; rm -r .`, whose text it would match. So a compound command is judged
//! part by part, and every part must be allowed. Where the text may do more than its parts say (a substitution, a
//! here-document, a redirection into a file, a comment, an odd quotation), it is also judged whole, in parentheses, which
//! no rule for one command matches and `*` does. Of a part no more is understood than whether its words are known to run
//! something else (`find -exec`, `git -c`): it is then judged whole, too.

mod leaving;
mod wrapped;

pub(super) use leaving::{Departure, PathJudge, departure};
use wrapped::{WRAPPERS, goes_further};

/// Words that may precede a command.
const BEFORE: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];

/// What a command is judged as, in order, each once. `beyond`: as a whole in any case.
pub(super) fn resources(command: &str, beyond: bool) -> Vec<String> {
    let mut parser = CommandParser::default();
    parser.read(command);
    let mut resources: Vec<String> = Vec::new();
    let mut add = |resource: &str| {
        if !resources.iter().any(|known| known == resource) {
            resources.push(resource.into());
        }
    };
    let mut plain = parser.plain && !beyond;
    for part in parser.parts() {
        add(part);
        // So that a rule which denies a command finds it behind these, too.
        let inner = behind(part);
        if inner != part && !inner.is_empty() {
            add(inner);
        }
        plain &= !goes_further(inner);
    }
    let whole = command.trim();
    let none = resources.is_empty();
    let everything = resources.iter().position(|resource| resource == "*");
    everything.map(|at| resources.remove(at));
    if !plain || none || everything.is_some() {
        resources.push(format!("({whole})"));
    }
    resources
}

/// What follows keywords, assignments and words that run the rest of their line.
fn behind(part: &str) -> &str {
    let mut rest = part;
    while let Some((word, after)) = rest.split_once(char::is_whitespace) {
        let assigns = word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_name));
        let after = after.trim_start();
        if !assigns && !BEFORE.contains(&word) && (!WRAPPERS.contains(&word) || after.starts_with('-')) {
            break;
        }
        rest = after;
    }
    rest
}

fn is_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_'
}

/// A piece of a command.
enum CommandToken {
    /// A simple command with its keywords, and where its redirections lead.
    Part(String, Vec<String>),
    Join(Join),
}

/// What joins two simple commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
    /// `;`, or the end of a line.
    Then,
    Open,
    Close,
}

/// A command being taken apart.
struct CommandParser {
    tokens: Vec<CommandToken>,
    part: String,
    /// Where redirections of the current part lead.
    files: Vec<String>,
    /// Whether the parts say all that it does.
    plain: bool,
}

impl Default for CommandParser {
    fn default() -> Self {
        Self { tokens: Vec::new(), part: String::new(), files: Vec::new(), plain: true }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl CommandParser {
    fn read(&mut self, command: &str) {
        let mut chars = command.chars().peekable();
        while let Some(one) = chars.next() {
            match one {
                ';' | '\n' => self.join(Join::Then),
                '|' if chars.next_if_eq(&'|').is_some() => self.join(Join::Or),
                '|' => {
                    chars.next_if_eq(&'&');
                    self.join(Join::Pipe);
                }
                '&' if chars.peek() == Some(&'>') => self.part.push('&'),
                '&' if chars.next_if_eq(&'&').is_some() => self.join(Join::And),
                '&' => self.join(Join::Background),
                '(' | ')' | '`' => {
                    self.plain = false;
                    self.join(if one == '(' { Join::Open } else { Join::Close });
                }
                '\'' => self.single(&mut chars),
                '"' => self.double(&mut chars),
                '\\' => self.escape(&mut chars),
                '$' => {
                    // `$'` and `$"` are read differently by different shells.
                    self.plain &= !matches!(chars.peek(), Some('\'' | '"'));
                    self.expansion(&mut chars);
                }
                '<' => self.input(&mut chars),
                '>' => self.output(&mut chars),
                '#' => {
                    // Quotes in a comment have no meaning.
                    self.plain = false;
                    self.part.push(one);
                }
                one => self.part.push(one),
            }
        }
        self.end();
    }

    /// The simple commands, with the keywords before them.
    fn parts(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().filter_map(|token| match token {
            CommandToken::Part(part, _) => Some(part.as_str()),
            CommandToken::Join(_) => None,
        })
    }

    fn join(&mut self, join: Join) {
        self.end();
        self.tokens.push(CommandToken::Join(join));
    }

    fn end(&mut self) {
        let (part, files) = (std::mem::take(&mut self.part), std::mem::take(&mut self.files));
        // Only what shells take for blanks: another space would be a part of the command's name.
        let part = part.trim_matches([' ', '\t', '\n']);
        if !part.is_empty() {
            self.tokens.push(CommandToken::Part(part.into(), files));
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

    /// Input from a file below the working directory only makes what a command reads. What lies elsewhere is not what
    /// the command names, and `/dev/tcp/HOST/PORT` is a connection.
    fn input(&mut self, chars: &mut Chars<'_>) {
        self.part.push('<');
        if matches!(chars.peek(), Some('<' | '(' | '>' | '&')) {
            self.plain = false;
            return;
        }
        let target = self.target(chars);
        let below = !target.starts_with('/') && target.split('/').all(|part| part != "..");
        // Anything that a shell would replace could be anything.
        let literal =
            !target.is_empty() && target.chars().all(|one| one.is_alphanumeric() || "_-./+,@%=:".contains(one));
        self.plain &= (literal && below) || target == "/dev/null";
        self.part.push_str(&target);
        self.files.push(target);
    }

    /// Output to `/dev/null`, or to another stream, writes no file.
    fn output(&mut self, chars: &mut Chars<'_>) {
        self.part.push('>');
        while let Some(more) = chars.next_if(|one| matches!(one, '>' | '|')) {
            self.part.push(more);
        }
        let stream = chars.next_if_eq(&'&').is_some();
        if stream {
            self.part.push('&');
        }
        let target = self.target(chars);
        let number = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit());
        self.plain &= if stream { number } else { target == "/dev/null" };
        self.part.push_str(&target);
        self.files.extend((!number).then_some(target));
    }

    /// The blanks and the word after a redirection; the blanks are a part of the command already.
    fn target(&mut self, chars: &mut Chars<'_>) -> String {
        while let Some(blank) = chars.next_if(|one| matches!(one, ' ' | '\t')) {
            self.part.push(blank);
        }
        let mut target = String::new();
        // Only what shells take for blanks: another space is a part of the name.
        while let Some(one) = chars.next_if(|one| !" \t\n;|&<>()".contains(*one)) {
            target.push(one);
        }
        target
    }
}

#[cfg(test)]
mod tests;
