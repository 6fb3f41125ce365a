//! Markdown that comes in pieces: each is painted as soon as its marks are read, and only marks wait.

use crate::style::{Emphasis, Style};

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownPiece {
    /// How it is painted.
    pub emphasis: Emphasis,
    /// The text.
    pub text: String,
    /// Whether its lines are not broken: code, which is copied, and tables.
    pub whole: bool,
}

/// How many characters of a table wait for its end.
const TABLE: usize = 1 << 16;

/// Takes a text in pieces.
#[derive(Clone, Debug, Default)]
pub struct MarkdownStream {
    /// What waits: the beginning of a line, or marks.
    held: String,
    /// Whether the line has begun.
    in_line: bool,
    /// The fence that ends the block of code that is open.
    fence: Option<String>,
    heading: bool,
    strong: bool,
    italic: bool,
    code: bool,
    /// The last character that was given.
    last: Option<char>,
    /// The lines of a table that is not over.
    table: String,
}

impl MarkdownStream {
    /// What can be shown after a piece.
    pub fn take(&mut self, text: &str, width: usize, style: &Style) -> Vec<MarkdownPiece> {
        let mut out = PieceList::default();
        for c in text.chars() {
            self.character(c, width, style, &mut out);
        }
        out.0
    }

    /// What was held back: nothing follows.
    pub fn rest(&mut self, width: usize, style: &Style) -> Vec<MarkdownPiece> {
        let mut out = PieceList::default();
        if !self.in_line && (self.fence.is_some() || is_fence(&self.held)) {
            // The line of a fence that was not ended.
            self.held.clear();
        }
        if !self.in_line && self.held.starts_with('|') {
            let row = std::mem::take(&mut self.held);
            self.table.push_str(&row);
        }
        self.end_table(width, style, &mut out);
        let held = std::mem::take(&mut self.held);
        self.marks(&held, None, style, &mut out);
        *self = Self::default();
        out.0
    }

    fn character(&mut self, c: char, width: usize, style: &Style, out: &mut PieceList) {
        match (c, self.in_line) {
            ('\n', false) => self.line_of_marks(width, style, out),
            ('\n', true) => {
                let held = std::mem::take(&mut self.held);
                self.marks(&held, Some('\n'), style, out);
                out.push(Emphasis::Plain, "\n");
                self.new_line();
            }
            (c, false) => {
                self.held.push(c);
                if let Some(begun) = self.beginning(style) {
                    self.end_table(width, style, out);
                    let held = std::mem::take(&mut self.held);
                    self.in_line = true;
                    match begun {
                        Beginning::Marked(mark, text) => {
                            out.push(Emphasis::Dim, &mark);
                            text.chars().for_each(|c| self.inline(c, style, out));
                        }
                        Beginning::Text => held.chars().for_each(|c| self.inline(c, style, out)),
                    }
                }
            }
            (c, true) => self.inline(c, style, out),
        }
    }

    /// What a line begins with, once that is known.
    fn beginning(&mut self, style: &Style) -> Option<Beginning> {
        let text = self.held.trim_start_matches(' ');
        let indent = self.held.len() - text.len();
        if let Some(fence) = &self.fence {
            let may_end = fence.starts_with(text) || text.starts_with(fence.as_str());
            return (!may_end).then_some(Beginning::Text);
        }
        let first = text.chars().next()?;
        match first {
            '`' | '~' if is_fence(text) || text.len() < 3 && text.chars().all(|c| c == first) => None,
            '|' if self.held.len() + self.table.len() < TABLE => None,
            '#' => {
                let marks = text.len() - text.trim_start_matches('#').len();
                match text.get(marks..) {
                    Some("") if marks <= 6 => None,
                    Some(" ") if marks <= 6 => {
                        self.heading = true;
                        let mark = if style.colour { String::new() } else { text.to_owned() };
                        Some(Beginning::Marked(mark, String::new()))
                    }
                    _ => Some(Beginning::Text),
                }
            }
            '-' | '*' | '+' => match text.get(1..) {
                Some("") => None,
                Some(" ") => Some(Beginning::Marked(format!("{}• ", " ".repeat(indent)), String::new())),
                _ => Some(Beginning::Text),
            },
            '>' => match text.get(1..) {
                Some("") => None,
                Some(rest) => {
                    let rest = rest.strip_prefix(' ').unwrap_or(rest).to_owned();
                    Some(Beginning::Marked(format!("{}▌ ", " ".repeat(indent)), rest))
                }
                None => None,
            },
            _ => Some(Beginning::Text),
        }
    }

    /// The end of a line of which all waits.
    fn line_of_marks(&mut self, width: usize, style: &Style, out: &mut PieceList) {
        let held = std::mem::take(&mut self.held);
        let text = held.trim();
        if let Some(fence) = &self.fence {
            if !text.is_empty() && text.starts_with(fence.as_str()) {
                self.fence = None;
                return;
            }
        } else if is_fence(text) {
            self.end_table(width, style, out);
            let mark = text.chars().next().unwrap_or('`');
            self.fence = Some(text.chars().take_while(|c| *c == mark).collect());
            return;
        } else if text.starts_with('|') {
            self.table.push_str(&held);
            self.table.push('\n');
            return;
        }
        self.end_table(width, style, out);
        let is_code = self.fence.is_some();
        out.add(if is_code { Emphasis::Code } else { Emphasis::Plain }, &held, is_code);
        out.push(Emphasis::Plain, "\n");
        self.new_line();
    }

    fn new_line(&mut self) {
        let (fence, table) = (self.fence.take(), std::mem::take(&mut self.table));
        *self = Self { fence, table, ..Self::default() };
    }

    fn end_table(&mut self, width: usize, style: &Style, out: &mut PieceList) {
        if self.table.is_empty() {
            return;
        }
        let table = std::mem::take(&mut self.table);
        for line in super::lines(&table, width, style) {
            out.add(Emphasis::Plain, &format!("{line}\n"), true);
        }
    }

    fn inline(&mut self, c: char, style: &Style, out: &mut PieceList) {
        let is_mark = matches!(c, '*' | '`') && self.fence.is_none() && (c == '`' || !self.code);
        if is_mark && self.held.chars().next().is_none_or(|held| held == c) {
            self.held.push(c);
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.marks(&held, Some(c), style, out);
        if is_mark {
            self.held.push(c);
            return;
        }
        out.add(self.emphasis(), c.encode_utf8(&mut [0; 4]), self.fence.is_some());
        self.last = Some(c);
    }

    /// Marks that are whole: they begin or end an emphasis, or are text.
    fn marks(&mut self, held: &str, next: Option<char>, style: &Style, out: &mut PieceList) {
        if held.is_empty() {
            return;
        }
        let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let (opens, closes) = (!is_blank(next), !is_blank(self.last));
        let was = self.emphasis();
        let is_mark = match held {
            "`" | "``" if self.code || next.is_some_and(|c| c != '\n') => {
                self.code = !self.code;
                true
            }
            "**" if self.strong && closes || !self.strong && opens => {
                self.strong = !self.strong;
                true
            }
            "*" if self.italic && closes || !self.italic && opens && is_blank(self.last) => {
                self.italic = !self.italic;
                true
            }
            _ => false,
        };
        if !is_mark || !style.colour {
            out.push(was, held);
        }
        self.last = held.chars().last().filter(|_| !is_mark).or(self.last);
    }

    fn emphasis(&self) -> Emphasis {
        match self {
            Self { fence: Some(_), .. } | Self { code: true, .. } => Emphasis::Code,
            Self { heading: true, .. } | Self { strong: true, .. } => Emphasis::Strong,
            Self { italic: true, .. } => Emphasis::Italic,
            _ => Emphasis::Plain,
        }
    }
}

/// What a line begins with.
enum Beginning {
    /// A mark as it is drawn, and the text after it.
    Marked(String, String),
    /// Text.
    Text,
}

/// Pieces of one emphasis each.
#[derive(Default)]
struct PieceList(Vec<MarkdownPiece>);

impl PieceList {
    fn push(&mut self, emphasis: Emphasis, text: &str) {
        self.add(emphasis, text, false);
    }

    fn add(&mut self, emphasis: Emphasis, text: &str, whole: bool) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.emphasis == emphasis && last.whole == whole => last.text.push_str(text),
            _ => self.0.push(MarkdownPiece { emphasis, text: text.to_owned(), whole }),
        }
    }
}

/// Whether a line begins or ends a block of code. A fence of backticks has none after it.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix("```").is_some_and(|rest| !rest.trim_start_matches('`').contains('`')) || line.starts_with("~~~")
}
