//! Lines of text: wrapping by display width, and the sheet of three columns that timelines are drawn on.

use crate::escape::{unit_width, units, visible};
use crate::style::{Emphasis, Style};
use annals_core::event::Usage;
use annals_core::{ModelName, Seq};
use annals_inspect::pricing::{Cost, Pricing};
use std::collections::BTreeMap;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Columns of the Seq.
const SEQ: usize = 6;
/// Columns of the label, at least and at most; two blanks precede it.
const LABEL: std::ops::RangeInclusive<usize> = 9..=13;

/// A text as it is laid out: a tab is four blanks, a line ends in a line feed alone. What could steer a terminal stays in
/// it until it is written (see [`crate::escape`]); [`columns`] counts it as it is drawn then.
pub fn plain(text: &str) -> String {
    text.replace('\t', "    ").replace("\r\n", "\n")
}

/// A name in one line, so that it cannot imitate lines of the program.
pub fn name(text: &str) -> String {
    plain(text).replace('\n', "␊")
}

/// Display width in columns.
pub fn columns(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    UnicodeWidthStr::width(&*visible(text))
}

/// Breaks a text into lines of at most `width` columns at blanks; a line keeps its indentation. A longer path, address or
/// digest gets a line of its own, whole, so that it can be copied; anything else that is longer, such as JSON, is broken
/// anywhere.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.trim_end();
        if columns(line) <= width {
            lines.push(line.to_owned());
            continue;
        }
        let indent: String = line.chars().take_while(|c| *c == ' ').take(width / 2).collect();
        let (mut current, mut used) = (indent.clone(), indent.len());
        let mut empty = true;
        for word in line.trim_start().split(' ') {
            let wide = columns(word);
            if !empty && used + 1 + wide > width {
                lines.push(std::mem::replace(&mut current, indent.clone()));
                (used, empty) = (indent.len(), true);
            }
            if !empty {
                current.push(' ');
                used += 1;
            }
            empty = false;
            if used + wide <= width || is_copied_whole(word) {
                current.push_str(word);
                used += wide;
                continue;
            }
            for (_, unit) in units(word) {
                let wide = unit_width(unit);
                if used + wide > width {
                    lines.push(std::mem::replace(&mut current, indent.clone()));
                    used = indent.len();
                }
                current.push_str(unit);
                used += wide;
            }
            // Characters that are drawn as one are narrower together.
            used = columns(&current);
        }
        lines.push(current);
    }
    lines
}

/// Whether a word is a path, an address, a name or a digest, with or without quotes, brackets or a comma around it.
fn is_copied_whole(word: &str) -> bool {
    let copied = word.trim_matches(|c| "()[]<>\"'`,;".contains(c));
    copied.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-.:@~%#?&".contains(c))
}

/// A text whose lines after the first are indented, as lines of at most `width` columns.
pub fn hanging(text: &str, indent: usize, width: usize) -> String {
    let lines = wrap(text, width);
    let Some((first, _)) = lines.split_first().filter(|(_, rest)| !rest.is_empty()) else { return lines.concat() };
    let rest = text.get(first.len()..).unwrap_or_default();
    let rest = wrap(rest.trim_start(), width.saturating_sub(indent));
    rest.iter().fold(first.clone(), |all, line| format!("{all}\n{:indent$}{line}", ""))
}

/// The beginning of one line, with `…` when something is left out. For summaries, never for an answer.
pub fn clip(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for (_, unit) in units(line) {
        let wide = unit_width(unit);
        if used + wide > width {
            break;
        }
        used += wide;
        out.push_str(unit);
    }
    format!("{}…", out.trim_end())
}

/// Fills up with blanks on the right.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// A sheet that a timeline is drawn on: Seq, label, text.
pub struct Sheet<'a> {
    /// Where it goes.
    pub out: &'a mut dyn Write,
    /// How it looks.
    pub style: &'a Style,
    /// Columns of the label.
    label: usize,
    /// Whether what is drawn was undone.
    pub undone: bool,
    /// The prices of what has no recorded cost.
    pub pricing: Option<Pricing>,
}

impl<'a> Sheet<'a> {
    /// A sheet whose labels have room for the usual words.
    pub fn new(out: &'a mut dyn Write, style: &'a Style) -> Self {
        Self { out, style, label: *LABEL.start(), undone: false, pricing: None }
    }

    /// A sheet whose labels have room for these names, as far as that goes.
    pub fn for_names<'n>(out: &'a mut dyn Write, style: &'a Style, names: impl IntoIterator<Item = &'n str>) -> Self {
        let widest = names.into_iter().map(columns).filter(|width| width <= LABEL.end()).max().unwrap_or_default();
        Self { label: widest.max(*LABEL.start()), ..Self::new(out, style) }
    }

    /// The same with prices for what has no recorded cost.
    #[must_use]
    pub fn priced(self, pricing: Pricing) -> Self {
        Self { pricing: Some(pricing), ..self }
    }

    /// What an answer cost, as one item of a list; `None` without a cost.
    pub fn cost(&self, recorded: u64, model: &ModelName, usage: Usage) -> Option<String> {
        let is_unpriced = recorded == 0 && usage != Usage::default();
        match &self.pricing {
            Some(pricing) if is_unpriced => pricing.cost(0, &BTreeMap::from([(model.clone(), usage)])).fact(),
            _ => Cost::of_log(recorded, is_unpriced).fact(),
        }
    }

    /// Where the text begins.
    fn text(&self) -> usize {
        SEQ + 2 + self.label + 1
    }

    /// Columns of the text.
    pub fn room(&self) -> usize {
        self.style.width.saturating_sub(self.text()).max(20)
    }

    fn emphasis(&self, emphasis: Emphasis) -> Emphasis {
        if self.undone { Emphasis::Dim } else { emphasis }
    }

    /// A line across the sheet, with words in it: `── 3 ───────── 20:11:19 ──`.
    pub fn rule(&mut self, left: &str, right: &str, emphasis: Emphasis) -> io::Result<()> {
        let sides = columns(left) + columns(right) + 8 + if right.is_empty() { 0 } else { 2 };
        if sides + 2 > self.style.width && !right.is_empty() {
            self.rule(left, "", emphasis)?;
            return writeln!(self.out, "     {}", self.style.paint(Emphasis::Dim, right));
        }
        if sides > self.style.width {
            let lines = wrap(left, self.style.width.saturating_sub(5));
            for (at, line) in lines.iter().enumerate() {
                let dash = if at == 0 { "────" } else { "    " };
                let (dash, line) = (self.style.paint(Emphasis::Dim, dash), self.style.paint(emphasis, line));
                writeln!(self.out, "{dash} {line}")?;
            }
            return Ok(());
        }
        let line = "─".repeat(self.style.width.saturating_sub(sides));
        let (dash, style) = (|text: &str| self.style.paint(Emphasis::Dim, text), self.style);
        let right = match right {
            "" => dash("──"),
            right => format!(" {} {}", style.paint(Emphasis::Dim, right), dash("──")),
        };
        writeln!(self.out, "{} {} {}{right}", dash("────"), style.paint(emphasis, left), dash(&line))
    }

    /// A row: its Seq, its label, its text wrapped, and something at the right end of its first line.
    pub fn row(
        &mut self,
        seq: Option<Seq>,
        label: (&str, Emphasis),
        text: (&str, Emphasis),
        right: (&str, Emphasis),
    ) -> io::Result<()> {
        let mark = if self.undone { "×" } else { "" };
        let seq = seq.map(|seq| format!("{mark}{seq}")).unwrap_or_default();
        let (style, text_at, label_width) = (self.style, self.text(), self.label);
        let (named, right_text) = (name(label.0), name(right.0));
        let (label, right) = ((named.as_str(), label.1), (right_text.as_str(), right.1));
        let (label, text, right) =
            ((label.0, self.emphasis(label.1)), (text.0, self.emphasis(text.1)), (right.0, self.emphasis(right.1)));
        let reserved = if right.0.is_empty() { 0 } else { columns(right.0) + 2 };
        let (mut label_text, mut body) = (clip(label.0, label_width), text.0.to_owned());
        if columns(label.0) > label_width {
            // A long name is said in full: it leads the text.
            label_text = clip(label.0, label_width);
            body = if body.is_empty() { label.0.to_owned() } else { format!("{} {body}", label.0) };
        }
        let lines = first_narrower(&body, self.room(), reserved);
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                writeln!(self.out, "{:text_at$}{}", "", style.paint(text.1, line))?;
                continue;
            }
            let head = format!(
                "{}  {} ",
                style.paint(Emphasis::Dim, &format!("{seq:>SEQ$}")),
                style.paint(label.1, &pad(&label_text, label_width))
            );
            if right.0.is_empty() {
                writeln!(self.out, "{}", format!("{head}{}", style.paint(text.1, line)).trim_end())?;
            } else {
                let room = self.room();
                let (line_width, right_width) = (columns(line), columns(right.0));
                let (line, right) = (style.paint(text.1, line), style.paint(right.1, right.0));
                if line_width + 2 + right_width > room {
                    writeln!(
                        self.out,
                        "{head}{line}\n{:text_at$}{}{right}",
                        "",
                        " ".repeat(room.saturating_sub(right_width))
                    )?;
                } else {
                    writeln!(self.out, "{head}{line}{}{right}", " ".repeat(room - line_width - right_width))?;
                }
            }
        }
        Ok(())
    }

    /// A row whose text is laid out and painted already.
    pub fn painted_row(&mut self, seq: Option<Seq>, label: (&str, Emphasis), lines: &[String]) -> io::Result<()> {
        let (first, rest) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let seq = seq.map(|seq| seq.to_string()).unwrap_or_default();
        let head = self.style.paint(Emphasis::Dim, &format!("{seq:>SEQ$}"));
        let label = self.style.paint(label.1, &pad(&clip(&name(label.0), self.label), self.label));
        writeln!(self.out, "{}", format!("{head}  {label} {first}").trim_end())?;
        let at = self.text();
        rest.iter().try_for_each(|line| writeln!(self.out, "{}", format!("{:at$}{line}", "").trim_end()))
    }

    /// Whether a label has its place before the text.
    pub fn has_room_for(&self, label: &str) -> bool {
        columns(label) <= self.label
    }

    /// A row with the beginning of a text: at most `most` lines, then how many are left.
    pub fn row_brief(
        &mut self,
        seq: Option<Seq>,
        label: (&str, Emphasis),
        text: (&str, Emphasis),
        most: usize,
    ) -> io::Result<()> {
        let lines = wrap(text.0.trim(), self.room());
        let shown = if lines.len() <= most.saturating_add(1) { lines.len() } else { most };
        self.row(seq, label, (&lines.get(..shown).unwrap_or_default().join("\n"), text.1), ("", Emphasis::Dim))?;
        if lines.len() > shown {
            let left = crate::style::counted((lines.len() - shown) as u64, "more line");
            let at = self.text();
            writeln!(self.out, "{:at$}{}", "", self.style.paint(Emphasis::Dim, &format!("… {left}")))?;
        }
        Ok(())
    }

    /// More text below a row, whole and wrapped, behind a bar.
    pub fn quote(&mut self, text: &str, emphasis: Emphasis) -> io::Result<()> {
        let lines = wrap(text, self.room() - 2);
        self.quoted(&lines, emphasis, usize::MAX)
    }

    /// The beginning of a text below a row, behind a bar: at most `most` wrapped lines, then how many are left.
    pub fn quote_brief(&mut self, text: &str, emphasis: Emphasis, most: usize) -> io::Result<()> {
        let lines = wrap(text.trim_end().trim_start_matches('\n'), self.room() - 2);
        self.quoted(&lines, emphasis, most)
    }

    /// The same for a text with its own lines, such as a listing: they are clipped, not wrapped, unless `most` is all.
    pub fn quote_lines(&mut self, text: &str, emphasis: Emphasis, most: usize) -> io::Result<()> {
        if most == WHOLE {
            return self.quote(text.trim_end(), emphasis);
        }
        let text = text.trim_end().trim_start_matches('\n');
        let lines: Vec<String> = text.lines().map(|line| clip(line, self.room() - 2)).collect();
        self.quoted(&lines, emphasis, most)
    }

    /// The end of a text below a row, after a bar, with the number of lines before it; lines are clipped.
    pub fn quote_end(&mut self, before: usize, text: &str, emphasis: Emphasis) -> io::Result<()> {
        let mut lines: Vec<String> = text.lines().map(|line| clip(line, self.room() - 2)).collect();
        if before > 0 {
            lines.insert(0, format!("… {}", crate::style::counted(before as u64, "earlier line")));
        }
        self.quoted(&lines, emphasis, WHOLE)
    }

    fn quoted(&mut self, lines: &[String], emphasis: Emphasis, most: usize) -> io::Result<()> {
        if lines.iter().all(String::is_empty) {
            return Ok(());
        }
        let (style, at, emphasis) = (self.style, self.text(), self.emphasis(emphasis));
        let bar = style.paint(Emphasis::Dim, "│");
        // One line more costs no more than saying that it is left out.
        let shown = if lines.len() <= most.saturating_add(1) { lines.len() } else { most };
        for line in lines.iter().take(shown) {
            writeln!(self.out, "{}", format!("{:at$}{bar} {}", "", style.paint(emphasis, line)).trim_end())?;
        }
        if lines.len() > shown {
            let left = crate::style::counted((lines.len() - shown) as u64, "more line");
            writeln!(self.out, "{:at$}{bar} {}", "", style.paint(Emphasis::Dim, &format!("… {left}")))?;
        }
        Ok(())
    }
}

/// The number of lines that means all.
pub const WHOLE: usize = usize::MAX;

/// Wraps with a first line that leaves `reserved` columns free.
fn first_narrower(text: &str, width: usize, reserved: usize) -> Vec<String> {
    if reserved == 0 {
        return wrap(text, width);
    }
    let mut lines = wrap(text, width.saturating_sub(reserved));
    if lines.len() > 1 {
        let first = lines.remove(0);
        // The rest after the first line is wrapped again to the whole width.
        let taken = text.find(first.trim()).map_or(0, |at| at + first.trim().len());
        let rest = text.get(taken..).unwrap_or_default();
        let rest = rest.strip_prefix(['\n', ' ']).unwrap_or(rest);
        lines = wrap(rest, width);
        lines.insert(0, first);
    }
    lines
}

#[cfg(test)]
mod tests;
