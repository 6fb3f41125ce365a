//! The text that the user edits: several lines, with a cursor.

use crate::escape::{unit_width, units};

/// How a tab is drawn.
pub(super) const TAB: &str = "    ";

/// A text with a cursor between two of its units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InputEditor {
    text: String,
    /// A place in `text`, at the beginning of a character.
    at: usize,
    /// What was removed last by a key that removes more than one character.
    removed: String,
}

/// One row of the text as it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EditorRow {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Where a key moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

impl InputEditor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text before the cursor.
    pub(super) fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Another text, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.to_owned();
        self.at = self.text.len();
    }

    /// The whole text; nothing is left.
    pub(super) fn take(&mut self) -> String {
        self.at = 0;
        std::mem::take(&mut self.text)
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    /// Replaces the characters from `start` up to the cursor.
    pub(super) fn replace_from(&mut self, start: usize, text: &str) {
        if start <= self.at && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.at, text);
            self.at = start + text.len();
        }
    }

    pub(super) fn go(&mut self, motion: Motion) {
        self.at = self.place(motion);
    }

    /// Removes from the cursor to where a motion leads. Longer pieces can be inserted again.
    pub(super) fn remove(&mut self, motion: Motion) {
        let place = self.place(motion);
        let (start, end) = (place.min(self.at), place.max(self.at));
        let removed: String = self.text.drain(start..end).collect();
        self.at = start;
        if !matches!(motion, Motion::Left | Motion::Right) && !removed.is_empty() {
            self.removed = removed;
        }
    }

    /// Inserts what was removed last.
    pub(super) fn insert_removed(&mut self) {
        let removed = self.removed.clone();
        self.insert(&removed);
    }

    fn place(&self, motion: Motion) -> usize {
        let (before, after) = (self.before(), self.after());
        // Marks belong to the letter before them.
        let is_word = |unit: &str| unit.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match motion {
            Motion::Left => units(before).last().map_or(0, |(at, _)| at),
            Motion::Right => self.at + units(after).next().map_or(0, |(_, unit)| unit.len()),
            Motion::WordLeft => {
                let units: Vec<_> = units(before).collect();
                let mut back = units.iter().rev().skip_while(|(_, unit)| !is_word(unit)).peekable();
                let mut at = 0;
                while let Some((start, _)) = back.next_if(|(_, unit)| is_word(unit)) {
                    at = *start;
                }
                at
            }
            Motion::WordRight => {
                let rest = units(after).skip_while(|(_, unit)| !is_word(unit)).find(|(_, unit)| !is_word(unit));
                rest.map_or(self.text.len(), |(at, _)| self.at + at)
            }
            Motion::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            Motion::LineEnd => after.find('\n').map_or(self.text.len(), |at| self.at + at),
        }
    }

    /// The rows of the text in `columns`, and the row and column of the cursor. There is at least one row, and the cursor has a
    /// column of its own.
    pub(super) fn layout(&self, columns: usize) -> (Vec<EditorRow>, (usize, usize)) {
        let columns = columns.max(2);
        let (mut rows, mut cursor) = (Vec::new(), (0, 0));
        let (mut start, mut used) = (0, 0);
        for (at, unit) in units(&self.text) {
            let wide = columns_of(unit);
            if unit != "\n" && used + wide > columns {
                rows.push(EditorRow { start, end: at });
                (start, used) = (at, 0);
            }
            // A joiner that was just typed can make one unit of what is on both sides of the cursor.
            if (at..at + unit.len()).contains(&self.at) {
                cursor = (rows.len(), used);
            }
            if unit == "\n" {
                rows.push(EditorRow { start, end: at });
                (start, used) = (at + 1, 0);
            } else {
                used += wide;
            }
        }
        if self.at == self.text.len() {
            if used >= columns {
                rows.push(EditorRow { start, end: self.text.len() });
                (start, used) = (self.text.len(), 0);
            }
            cursor = (rows.len(), used);
        }
        rows.push(EditorRow { start, end: self.text.len() });
        (rows, cursor)
    }

    /// Moves by rows, as far as there are any; says whether it moved.
    pub(super) fn go_rows(&mut self, down: bool, columns: usize) -> bool {
        let (rows, (row, column)) = self.layout(columns);
        let Some(next) = (if down { row.checked_add(1) } else { row.checked_sub(1) }) else { return false };
        let Some(EditorRow { start, end }) = rows.get(next).copied() else { return false };
        let mut used = 0;
        self.at = end;
        for (at, unit) in units(self.text.get(start..end).unwrap_or_default()) {
            used += columns_of(unit);
            if used > column {
                self.at = start + at;
                break;
            }
        }
        true
    }
}

/// Columns of a unit in the box.
fn columns_of(unit: &str) -> usize {
    if unit == "\t" { TAB.len() } else { unit_width(unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, motions: &[Motion]) -> InputEditor {
        let mut editor = InputEditor::default();
        editor.insert(text);
        motions.iter().for_each(|motion| editor.go(*motion));
        editor
    }

    #[test]
    fn words_and_lines_are_moved_over_and_removed() {
        let mut editor = edited("one two_3, four\nfive", &[Motion::LineStart, Motion::Left, Motion::WordLeft]);
        assert_eq!(editor.before(), "one two_3, ");
        editor.remove(Motion::WordLeft);
        assert_eq!(editor.text(), "one four\nfive");
        editor.remove(Motion::LineEnd);
        editor.insert_removed();
        assert_eq!(editor.text(), "one four\nfive");
        editor.remove(Motion::LineStart);
        assert_eq!((editor.take().as_str(), editor.is_empty()), ("\nfive", true));
    }

    #[test]
    fn a_mark_is_removed_with_its_character() {
        let mut editor = edited("ae\u{301}", &[]);
        editor.remove(Motion::Left);
        assert_eq!(editor.text(), "a");
        let mut editor = edited("e\u{301}b", &[Motion::LineStart]);
        editor.remove(Motion::Right);
        assert_eq!(editor.text(), "b");
        let mut editor = edited("a cafe\u{301}s\u{301} b", &[Motion::WordLeft, Motion::WordLeft]);
        assert_eq!(editor.before(), "a ");
        editor.remove(Motion::WordRight);
        assert_eq!(editor.text(), "a  b");
    }

    #[test]
    fn pictures_that_are_drawn_as_one_are_moved_over_and_removed_as_one() {
        let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
        let mut editor = edited(&format!("a{family}{family}b"), &[Motion::Left]);
        editor.remove(Motion::Left);
        assert_eq!(editor.text(), format!("a{family}b"));
        assert_eq!(editor.layout(20).1, (0, 3));
        editor.go(Motion::Left);
        assert_eq!((editor.before(), editor.layout(2).1), ("a", (1, 0)));
        editor.remove(Motion::Right);
        assert_eq!(editor.text(), "ab");
        // A joiner that joins nothing is drawn and removed alone.
        let mut editor = edited("👩\u{200d}", &[]);
        assert_eq!(editor.layout(20).1, (0, 10));
        editor.remove(Motion::Left);
        assert_eq!(editor.text(), "👩");
        // One that is typed between two pictures joins them; the cursor stays in a place that exists.
        let mut editor = edited("👩👩", &[Motion::Left]);
        editor.insert("\u{200d}");
        assert_eq!(editor.layout(20), (vec![EditorRow { start: 0, end: editor.text().len() }], (0, 0)));
        editor.remove(Motion::Left);
        assert_eq!(editor.text(), "👩👩");
    }

    #[test]
    fn rows_break_where_the_box_ends_and_the_cursor_moves_between_them() {
        let mut editor = edited("abcdef\n日本語x", &[]);
        let (rows, cursor) = editor.layout(4);
        let texts: Vec<&str> = rows.iter().map(|row| &editor.text()[row.start..row.end]).collect();
        assert_eq!((texts, cursor), (vec!["abcd", "ef", "日本", "語x"], (3, 3)));
        assert!(editor.go_rows(false, 4) && editor.before().ends_with('日'));
        assert!(editor.go_rows(false, 4) && editor.before() == "abcdef");
        assert!(editor.go_rows(false, 4) && !editor.go_rows(false, 4));
        assert_eq!(editor.before(), "ab");
        assert_eq!(edited("abcd", &[]).layout(4).1, (1, 0));
        assert_eq!(edited("", &[]).layout(4), (vec![EditorRow { start: 0, end: 0 }], (0, 0)));
    }
}
