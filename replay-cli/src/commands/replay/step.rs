//! Walking through a session event by event, in the terminal.

use crate::command_context::{CommandContext, FoundSession};
use crate::draw::changes;
use crate::draw::event;
use crate::error::CliError;
use crate::escape::{Escaping, EscapingWriter};
use crate::layout::clip;
use crate::style::{Emphasis, Style};
use annals_core::Seq;
use annals_inspect::SessionAt;
use annals_inspect::timeline::brief;
use annals_inspect::walk::EventWalk;
use crossterm::event::{Event as Input, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{self, ClearType};
use crossterm::{cursor, execute, queue};
use std::io::{self, IsTerminal, Write};

/// Events that are listed on each side of the current one.
const AROUND: u64 = 4;
/// Lines that are not for what an event says: title, list, two rules, keys.
const FRAME: usize = 2 * AROUND as usize + 5;

/// Walks until the user leaves; begins at an event, at the first one without it.
///
/// # Errors
/// If stdin or stdout is not a terminal, or the session cannot be read.
pub async fn run(found: &FoundSession, begin: Option<Seq>, cli: &CommandContext) -> Result<(), CliError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(CliError::NoTerminal { what: "--step" });
    }
    let directory = found.reader.directory(found.session).await?;
    let mut walker = StepView { walk: EventWalk::new(SessionAt::from(found)), directory, scroll: 0, number: None };
    if let Some(seq) = begin {
        walker.go(seq).await?;
    }
    let mut screen = StepScreen::enter()?;
    loop {
        let (width, height) = terminal::size()?;
        let style = Style { width: usize::from(width), ..cli.style.clone() };
        let page = walker.page(&style).await?;
        screen.show(&page, &mut walker, &style, usize::from(height)).await?;
        let Input::Key(key) = read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let half = usize::from(height) / 2;
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
            KeyCode::Char('c' | 'd') if ctrl => return Ok(()),
            KeyCode::Right | KeyCode::Char(' ' | 'l' | 'n') => walker.go(walker.walk.seq().plus(1)).await?,
            KeyCode::Left | KeyCode::Backspace | KeyCode::Char('h' | 'p') => {
                walker.go(Seq(walker.walk.seq().0.saturating_sub(1))).await?;
            }
            KeyCode::Home | KeyCode::Char('g') => walker.go(Seq::ZERO).await?,
            KeyCode::End | KeyCode::Char('G') => walker.go(walker.walk.last()).await?,
            KeyCode::Down | KeyCode::Char('j') => walker.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => walker.scroll = walker.scroll.saturating_sub(1),
            KeyCode::PageDown => walker.scroll += half,
            KeyCode::PageUp => walker.scroll = walker.scroll.saturating_sub(half),
            KeyCode::Tab | KeyCode::Char('t') => walker.next_turn().await?,
            KeyCode::Char(digit @ '0'..='9') => {
                let digit = u64::from(digit).saturating_sub(u64::from('0'));
                walker.number = Some(walker.number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            }
            KeyCode::Enter => match walker.number.take() {
                Some(number) => walker.go(Seq(number)).await?,
                None => walker.go(walker.walk.seq().plus(1)).await?,
            },
            _ => {}
        }
    }
}

struct StepView {
    walk: EventWalk,
    directory: String,
    /// Lines of the page that are scrolled away.
    scroll: usize,
    /// A number that is being typed.
    number: Option<u64>,
}

impl StepView {
    async fn go(&mut self, seq: Seq) -> Result<(), CliError> {
        self.walk.go(seq).await?;
        (self.scroll, self.number) = (0, None);
        Ok(())
    }

    /// Goes to the next input that is promoted.
    async fn next_turn(&mut self) -> Result<(), CliError> {
        if self.walk.next_turn().await? {
            (self.scroll, self.number) = (0, None);
        }
        Ok(())
    }

    /// What the current event says and what it changes.
    async fn page(&self, style: &Style) -> Result<Vec<String>, CliError> {
        let mut out = Vec::new();
        if let Some(event) = self.walk.event().await?
            && let Some(record) = event.record()
        {
            let past = self.walk.past();
            event::draw(&record, &event.slice.batch, past.session, style, past.blobs(), &mut out)?;
            writeln!(out)?;
            if event.changes.is_empty() {
                writeln!(out, "{}", style.paint(Emphasis::Dim, "changes no view"))?;
            } else {
                writeln!(out, "{}", style.paint(Emphasis::Dim, "changes in the views:"))?;
                changes::draw(&event.changes, style, &mut out)?;
            }
        }
        Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect())
    }

    /// The events around the current one, one a line.
    async fn list(&self, style: &Style) -> Result<Vec<String>, CliError> {
        let (past, here) = (self.walk.past(), self.walk.seq());
        let from = Seq(here.0.saturating_sub(AROUND));
        let until = Seq(from.0 + 2 * AROUND + 1);
        let mut lines = Vec::new();
        past.each(from, until, |record| {
            let name = record.event.kind().name();
            let head = format!("{:>6}  {}  ", record.seq, style.clock(record.at));
            let text = brief(record.event, &self.directory, past.blobs());
            let room = style.width.saturating_sub(head.len() + 20 + 2);
            let line = format!("{head}{name:<18}  {}", clip(&text, room));
            let here = record.seq == here;
            let mark = if here { style.paint(Emphasis::Good, "▸") } else { " ".to_owned() };
            let emphasis = if here { Emphasis::Strong } else { Emphasis::Dim };
            lines.push(format!("{mark}{}", style.paint(emphasis, &line)));
        })
        .await?;
        lines.resize(2 * AROUND as usize + 1, String::new());
        Ok(lines)
    }
}

/// The terminal while it is ours.
struct StepScreen {
    out: EscapingWriter<io::Stdout>,
}

impl StepScreen {
    fn enter() -> Result<Self, CliError> {
        terminal::enable_raw_mode()?;
        let mut screen = Self { out: EscapingWriter::new(io::stdout(), Escaping::Text) };
        execute!(screen.out.inner(), terminal::EnterAlternateScreen, terminal::DisableLineWrap, cursor::Hide)?;
        Ok(screen)
    }

    async fn show(
        &mut self,
        page: &[String],
        walker: &mut StepView,
        style: &Style,
        height: usize,
    ) -> Result<(), CliError> {
        let room = height.saturating_sub(FRAME).max(1);
        walker.scroll = walker.scroll.min(page.len().saturating_sub(room));
        let title = walker.walk.view().session.title.clone().unwrap_or_else(|| "session".to_owned());
        let place = match walker.number {
            Some(number) => format!("go to {number}"),
            None => format!("{} of {}", walker.walk.seq(), walker.walk.last()),
        };
        let title = clip(&crate::layout::plain(&title), style.width.saturating_sub(place.len() + 2));
        let gap = " ".repeat(style.width.saturating_sub(crate::layout::columns(&title) + place.len()));
        let rule = style.paint(Emphasis::Dim, &"─".repeat(style.width));
        let mut lines = vec![format!("{}{gap}{place}", style.paint(Emphasis::Strong, &title)), rule.clone()];
        lines.extend(walker.list(style).await?);
        lines.push(rule);
        lines.extend(page.iter().skip(walker.scroll).take(room).cloned());
        lines.resize(height.saturating_sub(1), String::new());
        let more = page.len().saturating_sub(walker.scroll + room);
        let more = if more > 0 { format!("  ({more} more lines: ↓)") } else { String::new() };
        let keys = format!("← → event   tab turn   ↑ ↓ scroll   NUMBER enter   q quit{more}");
        lines.push(style.paint(Emphasis::Dim, &clip(&keys, style.width)));
        queue!(self.out.inner(), cursor::MoveTo(0, 0))?;
        for (at, line) in lines.iter().take(height).enumerate() {
            let row = u16::try_from(at).unwrap_or(u16::MAX);
            queue!(self.out.inner(), cursor::MoveTo(0, row), terminal::Clear(ClearType::CurrentLine))?;
            write!(self.out, "{line}")?;
        }
        self.out.flush()?;
        Ok(())
    }
}

impl Drop for StepScreen {
    fn drop(&mut self) {
        // The terminal is restored; if that fails, the error cannot be shown.
        drop(execute!(self.out.inner(), cursor::Show, terminal::EnableLineWrap, terminal::LeaveAlternateScreen));
        drop(terminal::disable_raw_mode());
    }
}
