//! Matches as a person reads them, by session.

use crate::layout::{clip, columns, plain};
use crate::shown_title::shown_title;
use crate::style::{Emphasis, Style};
use annals_core::{Seq, SessionId};
use annals_inspect::search::{SearchMatch, TextAuthor};
use std::io::{self, Write};

/// Prints matches under a heading for each session.
pub struct MatchPrinter<'a> {
    style: &'a Style,
    /// Whether lines around each match are printed.
    context: bool,
    out: &'a mut (dyn Write + Send),
    last: Option<(SessionId, Seq)>,
    sessions: u64,
}

const fn emphasis(author: TextAuthor) -> Emphasis {
    match author {
        TextAuthor::User => Emphasis::User,
        TextAuthor::Model => Emphasis::Model,
        TextAuthor::Tool => Emphasis::Tool,
        TextAuthor::Context => Emphasis::Context,
    }
}

impl<'a> MatchPrinter<'a> {
    /// Prints to `out`; `context`: lines around each match as well.
    pub fn new(style: &'a Style, context: bool, out: &'a mut (dyn Write + Send)) -> Self {
        Self { style, context, out, last: None, sessions: 0 }
    }

    /// How many sessions have a match.
    pub const fn sessions(&self) -> u64 {
        self.sessions
    }

    /// Prints a match.
    pub fn print(&mut self, found: &SearchMatch) -> io::Result<()> {
        let is_new = self.last.is_none_or(|(session, _)| session != found.session);
        if is_new {
            self.sessions += 1;
            self.heading(found)?;
        } else if self.context {
            writeln!(self.out, "{:>6}", "--")?;
        }
        self.last = Some((found.session, found.seq));
        found.before.iter().try_for_each(|line| self.around(line))?;
        self.line(found)?;
        found.after.iter().try_for_each(|line| self.around(line))
    }

    /// The session, and the command that shows it at the match.
    fn heading(&mut self, found: &SearchMatch) -> io::Result<()> {
        if self.sessions > 1 {
            writeln!(self.out)?;
        }
        let title = if found.title.is_empty() { "(no title)".to_owned() } else { shown_title(&found.title) };
        let id = self.style.paint(Emphasis::Context, &found.session.to_string());
        writeln!(self.out, "{id}  {}", self.style.paint(Emphasis::Strong, &title))?;
        let jump = format!("        annals replay {} --at {}", found.session, found.seq);
        writeln!(self.out, "{}", self.style.paint(Emphasis::Dim, &jump))?;
        Ok(())
    }

    fn around(&mut self, line: &str) -> io::Result<()> {
        let room = self.style.width.saturating_sub(17).max(24);
        let line = self.style.paint(Emphasis::Dim, &clip(&plain(line), room));
        writeln!(self.out, "{}", format!("{:17}{line}", "").trim_end())?;
        Ok(())
    }

    fn line(&mut self, found: &SearchMatch) -> io::Result<()> {
        let SearchMatch { line, range, by, .. } = found;
        let head = format!("{:>6}  {:<7}  ", found.seq, by.name());
        let room = self.style.width.saturating_sub(columns(&head)).max(24);
        let (before, rest) = line.split_at_checked(range.start).unwrap_or(("", line.as_str()));
        let (hit, after) = rest.split_at_checked(range.len()).unwrap_or(("", rest));
        let (hit, after) = (plain(hit), plain(after));
        // A long line is shown around the place.
        let mut before = plain(before.trim_start());
        let half = room.saturating_sub(columns(&hit)) / 2;
        let most = room.saturating_sub(columns(&hit) + columns(&after).min(half));
        if columns(&before) > most {
            let keep: String = before.chars().rev().take(most.saturating_sub(1)).collect();
            before = format!("…{}", keep.chars().rev().collect::<String>());
        }
        let after = clip(&after, room.saturating_sub(columns(&before) + columns(&hit)).max(1));
        let (seq, label) = head.split_at(8);
        writeln!(
            self.out,
            "{}{}{before}{}{}",
            self.style.paint(Emphasis::Dim, seq),
            self.style.paint(emphasis(*by), label),
            self.style.paint(Emphasis::Found, &hit),
            after.trim_end()
        )?;
        Ok(())
    }
}
