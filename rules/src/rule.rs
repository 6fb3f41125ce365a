//! A rule: an expression with a name, a level and words for people. Rules are files (`docs/rules.md#files`).

use crate::compile::compile;
use crate::plan::RulePlan;
use crate::position::ExprError;
use crate::shipped::SHIPPED;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file of a rule, in bytes.
const LONGEST: u64 = 64 * 1024;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RuleLevel {
    /// To know.
    Note,
    /// To look at.
    #[default]
    Warning,
    /// To prevent.
    Error,
}

impl RuleLevel {
    /// Its name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule.
#[derive(Clone, Debug)]
pub struct AuditRule {
    /// Its name: of a file, without `.rule`.
    pub id: String,
    /// What a finding is, in a few words.
    pub title: String,
    /// How much a finding matters.
    pub level: RuleLevel,
    /// What a finding means and what to do.
    pub help: String,
    /// The expression.
    pub expression: String,
    pub(crate) plan: Arc<RulePlan>,
}

/// A rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The expression of an option.
    #[error("the expression is wrong at {0}")]
    Where(#[source] Box<ExprError>),
    /// The expression of a file.
    #[error("{}:{error}", file.display())]
    Expression {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        error: Box<ExprError>,
    },
    /// Lines before the expression.
    #[error("{}:{line}: {message}", file.display())]
    Header {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is too long.
    #[error("{}: longer than {LONGEST} bytes; a rule is one expression", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
    },
    /// A folder has no rules.
    #[error("{}: no file in this folder ends with .rule", folder.display())]
    NoRules {
        /// The folder.
        folder: PathBuf,
    },
    /// It is neither a file nor the name of a rule.
    #[error("there is no rule or file {name:?}; the rules of the program are {}", SHIPPED.map(|(id, _)| id).join(", "))]
    NoRule {
        /// What was asked for.
        name: String,
    },
}

impl AuditRule {
    /// The rule of an expression without a file.
    ///
    /// # Errors
    /// When the expression is wrong.
    pub fn of_expression(expression: &str) -> Result<Self, RuleError> {
        let plan = Arc::new(compile(expression).map_err(|error| RuleError::Where(Box::new(error)))?);
        Ok(Self {
            id: "where".to_owned(),
            title: expression.split_whitespace().collect::<Vec<_>>().join(" "),
            level: RuleLevel::Warning,
            help: String::new(),
            expression: expression.to_owned(),
            plan,
        })
    }

    /// The rules that a name means: one of the program, a file, or the files of a folder that end with `.rule`.
    ///
    /// # Errors
    /// When there is none, or one is wrong.
    pub fn named(name: &str) -> Result<Vec<Self>, RuleError> {
        let path = Path::new(name);
        if let Some((id, text)) = SHIPPED.iter().find(|(id, _)| *id == name).filter(|_| !path.is_file()) {
            return Ok(vec![Self::read(id, text, path)?]);
        }
        if path.is_dir() {
            return Self::of_folder(path);
        }
        if !path.exists() {
            return Err(RuleError::NoRule { name: name.to_owned() });
        }
        Ok(vec![Self::of_file(path)?])
    }

    fn of_folder(folder: &Path) -> Result<Vec<Self>, RuleError> {
        let failed = |source| RuleError::File { file: folder.to_owned(), source };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "rule") {
                files.push(path);
            }
        }
        if files.is_empty() {
            return Err(RuleError::NoRules { folder: folder.to_owned() });
        }
        files.sort();
        files.iter().map(|file| Self::of_file(file)).collect()
    }

    fn of_file(file: &Path) -> Result<Self, RuleError> {
        let failed = |source| RuleError::File { file: file.to_owned(), source };
        if std::fs::metadata(file).map_err(failed)?.len() > LONGEST {
            return Err(RuleError::TooLong { file: file.to_owned() });
        }
        let text = std::fs::read_to_string(file).map_err(failed)?;
        let id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::read(&id, &text, file)
    }

    /// Reads the text of a file: lines `NAME: VALUE`, then `where:` and the expression. A line that begins with a space continues the
    /// one before it.
    ///
    /// # Errors
    /// With the place in the text.
    pub fn read(id: &str, text: &str, file: &Path) -> Result<Self, RuleError> {
        let (mut title, mut level, mut help) = (String::new(), RuleLevel::default(), String::new());
        let mut last = "";
        let mut before = 0;
        let mut expression = None;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let wrong = |message: String| RuleError::Header { file: file.to_owned(), line: number + 1, message };
            let content = line.trim();
            if let Some(rest) = content.strip_prefix("where:") {
                let at = before + line.find("where:").unwrap_or_default() + "where:".len();
                // Blank lines in the place of the header: the places of errors are those of the file.
                let lines = "\n".repeat(number);
                let same_line = if rest.trim().is_empty() { String::new() } else { " ".repeat(at - before) };
                expression = Some(lines + &same_line + text.get(at..).unwrap_or_default());
                break;
            }
            before += line.len();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let continues = line.starts_with([' ', '\t']);
            let (name, value) = match content.split_once(':') {
                _ if continues => (last, content),
                Some((name, value)) => (name.trim_end(), value.trim()),
                None => return Err(wrong("expected `title:`, `level:`, `help:` or `where:`".to_owned())),
            };
            match name {
                "title" => join(&mut title, value),
                "help" => join(&mut help, value),
                "level" => {
                    let known = [RuleLevel::Note, RuleLevel::Warning, RuleLevel::Error];
                    let found = known.into_iter().find(|level| level.name() == value);
                    level =
                        found.ok_or_else(|| wrong(format!("the level is note, warning or error, not {value:?}")))?;
                }
                name => return Err(wrong(format!("unknown `{name}:`; a rule has title, level, help and where"))),
            }
            last = match name {
                "title" => "title",
                "help" => "help",
                _ => "level",
            };
        }
        let Some(expression) = expression else {
            let line = text.lines().count().max(1);
            let message = "the line `where:` with the expression is missing".to_owned();
            return Err(RuleError::Header { file: file.to_owned(), line, message });
        };
        let plan = compile(&expression)
            .map_err(|error| RuleError::Expression { file: file.to_owned(), error: Box::new(error) })?;
        let title = if title.is_empty() { id.to_owned() } else { title };
        let expression = expression.trim().to_owned();
        Ok(Self { id: id.to_owned(), title, level, help, expression, plan: Arc::new(plan) })
    }
}

/// The rules of the program.
///
/// # Errors
/// Never for the files of this version: a test reads them.
pub fn shipped() -> Result<Vec<AuditRule>, RuleError> {
    SHIPPED.iter().map(|(id, text)| AuditRule::read(id, text, Path::new(id))).collect()
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}
