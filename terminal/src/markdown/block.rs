//! Blocks of Markdown: paragraphs, lists, quotes, code, tables.

use super::paragraph::Paragraph;
use crate::layout::columns;
use crate::style::{Emphasis, Style};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What precedes the lines of a block: of its first line, and of the others.
#[derive(Clone, Debug)]
struct Indent {
    first: String,
    others: String,
}

/// A list that is open: the number of its next item, or none.
type ListNumber = Option<u64>;

/// A table that is being read.
#[derive(Clone, Debug, Default)]
struct Table {
    rows: Vec<Vec<Paragraph>>,
}

/// Draws blocks as painted lines.
pub(super) struct Blocks<'a> {
    width: usize,
    style: &'a Style,
    lines: Vec<String>,
    indents: Vec<Indent>,
    lists: Vec<ListNumber>,
    /// The emphases that are open, the innermost last.
    emphases: Vec<Emphasis>,
    text: Paragraph,
    /// The target of the link that is open.
    link: Option<String>,
    /// The text of the block of code that is open.
    code: Option<String>,
    table: Option<Table>,
    /// Whether a blank line is due before the next block.
    gap: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(width: usize, style: &'a Style) -> Self {
        Self {
            width,
            style,
            lines: Vec::new(),
            indents: Vec::new(),
            lists: Vec::new(),
            emphases: Vec::new(),
            text: Paragraph::default(),
            link: None,
            code: None,
            table: None,
            gap: false,
        }
    }

    /// The lines of a text.
    pub(super) fn drawn(mut self, text: &str) -> Vec<String> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        Parser::new_ext(text, options).for_each(|event| self.event(event));
        self.flush();
        self.lines
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => self.code_span(&text),
            // HTML is shown as text: it is what the model wrote.
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => {
                self.flush();
                self.blank();
                let width = self.room().min(40);
                self.put(&[self.style.paint(Emphasis::Dim, &"─".repeat(width))]);
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.push(&format!("[^{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.flush(),
            Tag::Heading { level, .. } => {
                self.flush();
                self.emphases.push(Emphasis::Strong);
                if !self.style.colour {
                    self.push(&format!("{} ", "#".repeat(depth(level))));
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.blank();
                let bar = format!("{} ", self.style.paint(Emphasis::Dim, "▌"));
                self.indents.push(Indent { first: bar.clone(), others: bar });
            }
            Tag::CodeBlock(_) => {
                self.flush();
                self.code = Some(String::new());
            }
            Tag::List(number) => {
                self.flush();
                if self.lists.is_empty() {
                    self.blank();
                }
                self.gap = false;
                self.lists.push(number);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", number.saturating_sub(1))
                    }
                    _ => "• ".to_owned(),
                };
                let others = " ".repeat(columns(&mark));
                self.indents.push(Indent { first: self.style.paint(Emphasis::Dim, &mark), others });
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
                if matches!(tag, Tag::TableHead) {
                    self.emphases.push(Emphasis::Strong);
                }
            }
            Tag::Emphasis => self.open(Emphasis::Italic, "*"),
            Tag::Strong => self.open(Emphasis::Strong, "**"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link = Some(dest_url.into_string()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.emphases.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indents.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.blank();
                let style = self.style;
                let lines: Vec<String> =
                    code.trim_end().lines().map(|line| format!("  {}", style.paint(Emphasis::Code, line))).collect();
                self.put(&lines);
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.indents.pop();
                self.gap = false;
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.blank();
                let lines = table.lines(self.room(), self.style);
                self.put(&lines);
                self.gap = true;
            }
            TagEnd::TableHead => drop(self.emphases.pop()),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis => self.close("*"),
            TagEnd::Strong => self.close("**"),
            TagEnd::Link | TagEnd::Image => {
                let target = self.link.take().unwrap_or_default();
                if !target.is_empty() && !self.text.ends_with(&target) {
                    self.text.push(&format!(" ({target})"), Emphasis::Dim);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, emphasis: Emphasis, mark: &str) {
        if !self.style.colour {
            self.push(mark);
        }
        self.emphases.push(emphasis);
    }

    fn close(&mut self, mark: &str) {
        self.emphases.pop();
        if !self.style.colour {
            self.push(mark);
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push(text, self.emphases.last().copied().unwrap_or(Emphasis::Plain));
    }

    fn code_span(&mut self, text: &str) {
        if self.style.colour {
            self.text.push(text, Emphasis::Code);
        } else {
            self.push(&format!("`{text}`"));
        }
    }

    /// Columns of the text of a block.
    fn room(&self) -> usize {
        let used: usize = self.indents.iter().map(|indent| columns_of(&indent.others)).sum();
        self.width.saturating_sub(used).max(8)
    }

    /// Ends the paragraph.
    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        self.blank();
        let lines = text.lines(self.room(), self.style);
        self.put(&lines);
        self.gap = self.lists.is_empty();
    }

    /// The blank line that is due.
    fn blank(&mut self) {
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            self.put(&[String::new()]);
        }
    }

    fn put(&mut self, lines: &[String]) {
        for line in lines {
            let indent: String = match line.is_empty() {
                // Marks of items wait for the first line with a text.
                true => self.indents.iter().map(|indent| indent.others.as_str()).collect(),
                false => {
                    self.indents.iter_mut().map(|it| std::mem::replace(&mut it.first, it.others.clone())).collect()
                }
            };
            self.lines.push(format!("{indent}{line}").trim_end().to_owned());
        }
    }
}

impl Table {
    /// The rows with their columns aligned; the widest columns are cut until a row has its place.
    fn lines(&self, width: usize, style: &Style) -> Vec<String> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(Paragraph::columns).max();
        let mut widths: Vec<usize> = (0..count).map(|at| widest(at).unwrap_or(0)).collect();
        while widths.iter().sum::<usize>() + 3 * count.saturating_sub(1) > width {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 6 => *widest -= 1,
                _ => break,
            }
        }
        let bar = style.paint(Emphasis::Dim, " │ ");
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| row.get(at).map(|cell| cell.lines(*width, style)).unwrap_or_default())
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let cell = |(cell, width): (&Vec<String>, &usize)| {
                    let text = cell.get(line).map_or("", String::as_str);
                    format!("{text}{}", " ".repeat(width.saturating_sub(columns_of(text))))
                };
                let cells: Vec<String> = cells.iter().zip(&widths).map(cell).collect();
                lines.push(cells.join(&bar));
            }
            if number == 0 {
                let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(style.paint(Emphasis::Dim, &dashes.join("─┼─")));
            }
        }
        lines
    }
}

/// The columns of a painted text.
fn columns_of(painted: &str) -> usize {
    let mut used = 0;
    let mut pieces = painted.split('\x1b');
    used += columns(pieces.next().unwrap_or_default());
    for piece in pieces {
        used += columns(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    used
}

fn depth(level: HeadingLevel) -> usize {
    level as usize
}
