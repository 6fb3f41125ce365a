//! Text of several styles, broken into lines.

use crate::escape;
use crate::style::{Emphasis, Style};

/// Text whose characters are painted in different ways.
#[derive(Clone, Debug, Default)]
pub(super) struct Paragraph {
    chars: Vec<(char, Emphasis)>,
}

impl Paragraph {
    pub(super) fn push(&mut self, text: &str, emphasis: Emphasis) {
        self.chars.extend(text.chars().map(|c| (c, emphasis)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// The columns of the text in one line.
    pub(super) fn columns(&self) -> usize {
        self.chars.iter().map(|(c, _)| escape::width(*c)).sum()
    }

    pub(super) fn ends_with(&self, text: &str) -> bool {
        let from = self.chars.len().checked_sub(text.chars().count());
        from.and_then(|from| self.chars.get(from..)).is_some_and(|end| end.iter().map(|(c, _)| *c).eq(text.chars()))
    }

    /// Painted lines, broken at blanks. A word that is wider gets its own line, whole.
    pub(super) fn lines(&self, width: usize, style: &Style) -> Vec<String> {
        let mut lines = Vec::new();
        for line in self.chars.split(|(c, _)| *c == '\n') {
            broken(line, width).into_iter().for_each(|line| lines.push(painted(line, style)));
        }
        lines
    }
}

/// A line in pieces of at most `width` columns.
fn broken(mut line: &[(char, Emphasis)], width: usize) -> Vec<&[(char, Emphasis)]> {
    let mut pieces = Vec::new();
    loop {
        let mut used = 0;
        let fits = line.iter().take_while(|(c, _)| {
            used += escape::width(*c);
            used <= width
        });
        let fits = fits.count();
        let Some(rest) = line.get(fits..).filter(|rest| !rest.is_empty()) else {
            pieces.push(trimmed(line));
            return pieces;
        };
        let is_blank = |(c, _): &(char, Emphasis)| *c == ' ';
        let before = line.get(..fits).unwrap_or_default().iter().rposition(is_blank).filter(|at| *at > 0);
        let at = match rest.first().is_some_and(is_blank) {
            true => Some(fits),
            false => before.or_else(|| rest.iter().position(is_blank).map(|at| fits + at)),
        };
        let Some(at) = at else {
            pieces.push(line);
            return pieces;
        };
        pieces.push(trimmed(line.get(..at).unwrap_or_default()));
        line = line.get(at + 1..).unwrap_or_default();
    }
}

fn trimmed(line: &[(char, Emphasis)]) -> &[(char, Emphasis)] {
    let end = line.iter().rposition(|(c, _)| *c != ' ').map_or(0, |at| at + 1);
    line.get(..end).unwrap_or_default()
}

fn painted(chars: &[(char, Emphasis)], style: &Style) -> String {
    let runs = chars.chunk_by(|(_, one), (_, next)| one == next);
    let run = |run: &[(char, Emphasis)]| {
        let text: String = run.iter().map(|(c, _)| c).collect();
        style.paint(run.first().map_or(Emphasis::Plain, |(_, emphasis)| *emphasis), &text)
    };
    runs.map(run).collect()
}
