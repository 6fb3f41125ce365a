//! Errors in an expression, with the place in it.

use std::fmt;

/// A part of an expression, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExprSpan {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl ExprSpan {
    /// From the beginning of one part to the end of another.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.end) }
    }
}

/// An expression is not one of the language. Shows the line with a mark below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong.
    pub message: String,
    /// What to write instead; empty if nothing is certain.
    pub hint: String,
    /// The line of the place, from 1.
    pub line: usize,
    /// The column of the place, from 1, in characters.
    pub column: usize,
    /// The text of that line.
    pub text: String,
    /// How many characters are wrong.
    pub width: usize,
}

/// How much of a line is shown on each side of the place, in characters.
const AROUND: usize = 60;

impl ExprError {
    /// An error at a part of a source.
    pub fn at(source: &str, span: ExprSpan, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let before = source.get(..span.start).unwrap_or(source);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let text = source.get(begin..).unwrap_or_default().lines().next().unwrap_or_default();
        let column = before.get(begin..).unwrap_or_default().chars().count() + 1;
        let inside = source.get(span.start..span.end).unwrap_or_default();
        let width = inside.lines().next().unwrap_or_default().chars().count().max(1);
        Self {
            message: message.into(),
            hint: hint.into(),
            line: before.matches('\n').count() + 1,
            column,
            text: text.to_owned(),
            width,
        }
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        // A tab would shift the mark, and a long line would wrap.
        let line: Vec<char> = self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let from = (self.column - 1).saturating_sub(AROUND);
        let shown: String = line.iter().skip(from).take(2 * AROUND).collect();
        let mark = "^".repeat(self.width.min(AROUND));
        write!(f, "\n  {}\n  {:at$}{mark}", shown.trim_end(), "", at = self.column - 1 - from)
    }
}

impl std::error::Error for ExprError {}
