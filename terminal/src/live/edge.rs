//! The right edge of a terminal: what streams is broken at blanks, never within a word that fits.

use unicode_width::UnicodeWidthChar;

/// Breaks a stream of text into lines at blanks. A word is given once it is whole.
#[derive(Debug, Default)]
pub(super) struct Edge {
    /// The columns that are used of the line.
    used: usize,
    /// The columns of the blanks that wait for a word, and those of the word.
    blanks: usize,
    word: String,
    columns: usize,
    /// Whether the text is in a fenced block of code, whose lines stay whole: they are copied.
    fenced: bool,
}

impl Edge {
    /// What can be written of it now.
    pub(super) fn broken(&mut self, text: &str, width: usize) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\n' => {
                    self.place(&mut out, width);
                    *self = Self { fenced: self.fenced, ..Self::default() };
                    out.push('\n');
                }
                ' ' => {
                    self.place(&mut out, width);
                    self.blanks += 1;
                }
                c => {
                    self.word.push(c);
                    self.columns += c.width().unwrap_or(0);
                    // A word that fills a line has no better place to be broken.
                    if self.columns >= width {
                        self.place(&mut out, width);
                    }
                }
            }
        }
        out
    }

    /// The word that waits: what follows it is written in another way.
    pub(super) fn word(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.place(&mut out, width);
        out
    }

    /// What was not written yet; the line begins anew.
    pub(super) fn rest(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.place(&mut out, width);
        *self = Self::default();
        out
    }

    fn place(&mut self, out: &mut String, width: usize) {
        if self.word.is_empty() {
            return;
        }
        if self.used == 0 && self.word.starts_with("```") {
            self.fenced = !self.fenced;
        }
        if !self.fenced && self.used > 0 && self.used + self.blanks + self.columns > width {
            out.push('\n');
            self.used = 0;
        } else {
            out.extend(std::iter::repeat_n(' ', self.blanks));
            self.used += self.blanks;
        }
        out.push_str(&self.word);
        self.used += self.columns;
        // What filled more than a line was broken by the terminal.
        self.used %= width.max(1);
        self.word.clear();
        (self.blanks, self.columns) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Edge;

    fn streamed(text: &str, width: usize) -> String {
        let mut edge = Edge::default();
        let mut out: String = text.chars().map(|c| edge.broken(&c.to_string(), width)).collect();
        out.push_str(&edge.rest(width));
        out
    }

    #[test]
    fn words_are_not_broken_at_the_edge() {
        assert_eq!(streamed("the quick brown fox jumps", 12), "the quick\nbrown fox\njumps");
        assert_eq!(streamed("  indented\n\ntwo  blanks", 40), "  indented\n\ntwo  blanks");
        assert_eq!(streamed("a äöüäöüäöü 狐狐狐狐", 10), "a\näöüäöüäöü\n狐狐狐狐");
    }

    #[test]
    fn code_stays_as_it_is() {
        let code = "```sh\ncargo test --workspace --all-targets\n```\nand some more text";
        assert_eq!(streamed(code, 12), "```sh\ncargo test --workspace --all-targets\n```\nand some\nmore text");
    }

    #[test]
    fn a_word_that_is_wider_than_the_line_stays_whole() {
        let long = "x".repeat(30);
        assert_eq!(streamed(&format!("see {long} there"), 12), format!("see\n{long} there"));
    }
}
