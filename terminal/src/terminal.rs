//! The terminal that a command was given.

use crate::diagnostics::Diagnostics;
use crate::layout::hanging;
use crate::remarks::Remarks;
use crate::style::{Emphasis, Style};

/// The terminal that a command was given, or the pipe in its place.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// How answers look.
    pub style: Style,
    /// Where remarks go.
    pub remarks: Remarks,
    /// Whether the answer goes to a terminal.
    pub watched: bool,
    /// How wide lines may be, in columns; `None`: as they like, since the answer goes elsewhere.
    pub line_width: Option<usize>,
    /// What the program reports of trouble.
    pub diagnostics: Diagnostics,
}

impl Terminal {
    /// A line, wrapped where lines have a width; its other lines are indented by two more blanks than the first.
    pub fn fitted(&self, line: &str) -> String {
        let indent = line.len() - line.trim_start_matches(' ').len() + 2;
        self.line_width.map_or_else(|| line.to_owned(), |width| hanging(line, indent, width))
    }

    /// Prints a remark in addition to the answer.
    pub fn remark(&self, text: &str) {
        self.remarks.say(Emphasis::Dim, text);
    }
}
