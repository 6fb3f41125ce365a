//! The terminal that a command was given.

use crate::diagnostics::Diagnostics;
use crate::remarks::Remarks;
use crate::style::Style;

/// The terminal that a command was given, or the pipe in its place.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// How answers look.
    pub style: Style,
    /// Where remarks go.
    pub remarks: Remarks,
    /// Whether the answer goes to a terminal.
    pub watched: bool,
    /// What the program reports of trouble.
    pub diagnostics: Diagnostics,
}
