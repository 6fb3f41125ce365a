//! Contents of files that are kept for secrets: `.env`, `credentials`, keys. In those every value counts, unless it is
//! plainly none.

use super::environment::{is_number, is_path, is_secret_name};
use super::placeholder::placeholder;
use super::{Redacted, Redactor, SHORTEST, formats};
use std::borrow::Cow;
use std::ops::Range;

/// The kind of a file that is kept for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretFileKind {
    /// Lines of `NAME=value` or `name: value`.
    Values,
    /// A key in PEM, of which a page may show neither the beginning nor the end.
    Pem,
}

/// Whether the file at a path is of a kind that is kept for secrets.
pub fn is_kept_for_secrets(path: &str) -> bool {
    SecretFileKind::of(path).is_some()
}

impl SecretFileKind {
    /// The kind of the file at a path; `None` of any other.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let is_template = ["example", "sample", "template", "dist", "defaults"].iter().any(|word| name.contains(word));
        let values = [".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".envrc", ".git-credentials"];
        if is_template {
            None
        } else if name.ends_with(".pem") || name.ends_with(".key") || ["id_rsa", "id_ed25519"].contains(&name.as_str())
        {
            Some(Self::Pem)
        } else if name.starts_with(".env") && !name.starts_with(".environment")
            || name.ends_with(".env")
            || values.contains(&name.as_str())
            || ["credentials", "credentials.json", "credentials.toml", "secrets.json"].contains(&name.as_str())
        {
            Some(Self::Values)
        } else {
            None
        }
    }

    /// Where the secrets of a line are.
    fn span(self, line: &str, in_public: &mut bool) -> Option<Range<usize>> {
        let (offset, content) = content(line);
        let found = match self {
            Self::Values => value(content)?,
            Self::Pem => encoded(content, in_public)?,
        };
        Some(offset + found.start..offset + found.end)
    }
}

impl Redactor {
    /// The same, knowing the values of a file that is kept for secrets, such as `.env`: they are found wherever they turn
    /// up. Of any other file nothing is learnt.
    #[must_use]
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        if SecretFileKind::of(path) == Some(SecretFileKind::Values) {
            for line in text.lines() {
                let Some(value) = value(line).and_then(|span| line.get(span)) else { continue };
                let name = line.split(['=', ':']).next().unwrap_or_default().trim().trim_start_matches("export ");
                if is_name(name) && (is_secret_name(name) || looks_drawn(value)) {
                    self.learn(name, value);
                }
            }
            self.index();
        }
        self
    }

    /// Redacts what a tool shows of the file at a path: of one that is kept for secrets every value, of any other what
    /// [`Self::redact`] finds.
    pub fn redact_file<'t>(&self, path: &str, text: &'t str) -> Redacted<'t> {
        SecretFileKind::of(path).map_or_else(|| self.redact(text), |kept| self.redact_contents(kept, text))
    }

    /// Redacts a text that shows the contents of files that are kept for secrets, after all else.
    pub(super) fn redact_contents<'t>(&self, kept: SecretFileKind, text: &'t str) -> Redacted<'t> {
        let mut redacted = self.redact(text);
        let kind = match kept {
            SecretFileKind::Values => formats::ASSIGNED,
            SecretFileKind::Pem => formats::PRIVATE_KEY,
        };
        let (mut out, mut found, mut in_public) = (String::with_capacity(redacted.text.len()), 0, false);
        for line in redacted.text.split_inclusive('\n') {
            match kept.span(line, &mut in_public) {
                Some(span) if !line.get(span.clone()).unwrap_or_default().contains("[redacted:") => {
                    found += 1;
                    out.push_str(line.get(..span.start).unwrap_or_default());
                    out.push_str(&placeholder(kind));
                    out.push_str(line.get(span.end..).unwrap_or_default());
                }
                _ => out.push_str(line),
            }
        }
        if found > 0 {
            *redacted.counts.entry(kind.to_owned()).or_default() += found;
            redacted.text = Cow::Owned(out);
        }
        redacted
    }
}

/// How programs say that a file cannot be used.
const ERRORS: [&str; 7] = [
    "No such file or directory",
    "Permission denied",
    "Operation not permitted",
    "Is a directory",
    "Not a directory",
    "Read-only file system",
    "File exists",
];

/// Whether a text can be part of a placeholder.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Whether a value is long, of letters and digits: a word or a title of that file would be found everywhere.
fn looks_drawn(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    value.len() >= 16 && digits >= 3 && value.bytes().any(|byte| byte.is_ascii_alphabetic()) && !value.contains(' ')
}

/// A line without the number or the place that a tool put before it, and where that begins.
pub(super) fn content(line: &str) -> (usize, &str) {
    let line = line.trim_end_matches(['\n', '\r']);
    let number = line.split_once('\t').filter(|(number, _)| number.trim().parse::<u64>().is_ok());
    let rest = number.map_or(line, |(_, rest)| rest);
    (line.len() - rest.len(), rest)
}

/// The value of a line such as `NAME="value" # remark`.
fn value(line: &str) -> Option<Range<usize>> {
    if line.trim_start().starts_with(['#', ';', '[']) {
        return None;
    }
    let at = line.find(['=', ':'])?;
    let name = line.get(..at)?.trim().trim_matches(['"', '\'']).trim_start_matches("export ");
    // A sentence, such as what is added to the output of a command, or what a program reports of a file.
    if name.split(' ').count() > 3 || ERRORS.iter().any(|error| line.trim_end().ends_with(error)) {
        return None;
    }
    let rest = line.get(at + 1..)?;
    let inner = rest.trim_start();
    let start = line.len() - inner.len();
    let quote = inner.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (start, length) = match quote {
        Some(quote) => (start + 1, inner.get(1..)?.find(quote).unwrap_or(inner.len() - 1)),
        None => (start, inner.split(" #").next().unwrap_or_default().trim_end_matches([' ', '\t', ',']).len()),
    };
    let value = line.get(start..start + length)?;
    (!is_none(name, value)).then_some(start..start + length)
}

/// Whether a value of such a file is plainly no secret.
fn is_none(name: &str, value: &str) -> bool {
    let word = value.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_')) && value.len() < 16;
    let host = value.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte))
        && value.contains('.')
        && !value.contains("..");
    let address = value.contains("://") && !value.contains(['@', '?']);
    value.len() < SHORTEST
        || value.starts_with(['$', '{', '<'])
        || is_number(value)
        || !is_secret_name(name) && (word || host || address || is_path(value))
}

/// A line of a key, if it is one: long, and only base64. Certificates and public keys are not secrets.
fn encoded(line: &str, in_public: &mut bool) -> Option<Range<usize>> {
    let content = line.trim();
    if content.starts_with("-----") {
        *in_public = content.starts_with("-----BEGIN ") && !content.contains("PRIVATE");
        return None;
    }
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let start = line.len() - line.trim_start().len();
    (!*in_public && content.len() >= 32 && content.bytes().all(base64)).then(|| start..start + content.len())
}
