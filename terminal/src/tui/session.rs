//! One session at a cut: the timeline, the tab, and where both are.

use super::page::PageText;
use super::tab::{TuiCut, TuiPageKey, TuiTab, TuiWanted};
use super::timeline::TuiTimeline;
use annals_core::{Seq, SessionId};
use annals_inspect::message_ref::MessageRef;
use crossterm::event::KeyCode;
use std::sync::Arc;

/// The session that is open.
#[derive(Clone, Debug)]
pub struct TuiSession {
    /// Which one.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// Its timeline, once it is loaded.
    pub timeline: Option<Arc<TuiTimeline>>,
    /// The first event that there is not.
    pub end: Seq,
    /// The event that is wanted, or the last of the cut.
    pub at: Seq,
    /// The events that were written with it, once they are known.
    pub cut: Option<TuiCut>,
    /// The event that changes are counted from.
    pub mark: Option<Seq>,
    /// The tab.
    pub tab: TuiTab,
    /// Whether texts are whole.
    pub full: bool,
    /// The page that was loaded last, with its key.
    pub page: Option<(TuiPageKey, PageText)>,
    /// Lines of the page above the screen.
    pub scroll: usize,
    /// The text that is marked in the page.
    pub find: String,
    /// The line of the page that was found last.
    pub found_at: Option<usize>,
    /// Why the session cannot be shown.
    pub error: Option<String>,
    /// The end of what a model is still sending.
    pub arriving: String,
    begin_at: Option<Seq>,
}

impl TuiSession {
    /// A session at an event, or at its end.
    pub fn new(session: SessionId, title: &str, at: Option<Seq>) -> Self {
        Self {
            session,
            title: title.to_owned(),
            timeline: None,
            end: Seq::ZERO,
            at: Seq::ZERO,
            cut: None,
            mark: None,
            tab: TuiTab::default(),
            full: false,
            page: None,
            scroll: 0,
            find: String::new(),
            found_at: None,
            error: None,
            arriving: String::new(),
            begin_at: at,
        }
    }

    /// What has to be loaded.
    pub fn wanted(&self, width: u16) -> TuiWanted {
        let page = self.timeline.as_ref().filter(|_| self.end > Seq::ZERO).map(|_| TuiPageKey {
            tab: self.tab,
            seq: self.at,
            since: self.mark.filter(|mark| self.tab == TuiTab::Changes && *mark != self.at),
            full: self.full && self.tab == TuiTab::Seen,
            width,
        });
        TuiWanted { session: self.session, page }
    }

    /// The timeline is there, or it has grown: who is at its end goes along.
    pub fn begin(&mut self, timeline: Arc<TuiTimeline>, end: Seq) {
        let (is_first, follows) = (self.timeline.is_none(), self.last_of_cut() == self.last());
        (self.timeline, self.end) = (Some(timeline), end);
        if is_first {
            self.at = self.begin_at.unwrap_or(self.last()).min(self.last());
        } else if follows {
            let scroll = self.scroll;
            self.go(self.last());
            self.scroll = scroll;
        }
        self.at = self.at.min(self.last());
    }

    /// The batch of an event is known.
    pub fn cut_found(&mut self, seq: Seq, cut: TuiCut) {
        if seq == self.at {
            self.cut = Some(cut);
        }
    }

    /// Whether what is shown in the tab is what is wanted.
    pub fn is_current(&self, width: u16) -> bool {
        self.page.as_ref().map(|(key, _)| *key) == self.wanted(width).page
    }

    /// The last event of the cut.
    pub fn last_of_cut(&self) -> Seq {
        self.cut.map_or(self.at, |cut| Seq(cut.until.0.saturating_sub(1)))
    }

    fn last(&self) -> Seq {
        Seq(self.end.0.saturating_sub(1))
    }

    /// Applies a key; returns what is said about it. `page` is the number of lines on the screen.
    pub fn press(&mut self, code: KeyCode, page: usize) -> Option<&'static str> {
        match code {
            KeyCode::Tab => self.show(self.tab.next(1)),
            KeyCode::BackTab => self.show(self.tab.next(TuiTab::ALL.len() - 1)),
            KeyCode::Char(digit @ '1'..='9') => {
                let place = u32::from(digit).saturating_sub(u32::from('1'));
                let tab = usize::try_from(place).ok().and_then(|place| TuiTab::ALL.get(place));
                self.show(tab.copied().unwrap_or_default());
            }
            KeyCode::Down => self.scroll = self.scroll.saturating_add(1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(page),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(page),
            KeyCode::Char('<') => self.scroll = 0,
            KeyCode::Char('>') => self.scroll = usize::MAX,
            KeyCode::Char('n') => return self.find_next(true),
            KeyCode::Char('N') => return self.find_next(false),
            KeyCode::Char('f') => self.full = !self.full,
            KeyCode::Char('m') if self.timeline.is_some() => {
                self.mark = if self.mark == Some(self.at) { None } else { Some(self.at) };
                return Some(match self.mark {
                    Some(_) => "marked: Changes counts from here; m again removes the mark",
                    None => "mark removed",
                });
            }
            code => return self.travel(code),
        }
        None
    }

    /// Goes to another cut.
    fn travel(&mut self, code: KeyCode) -> Option<&'static str> {
        let timeline = self.timeline.as_ref()?;
        let known = self.cut.filter(|cut| cut.first <= self.at && self.at < cut.until);
        let (first, last) = known.map_or((self.at, self.at), |cut| (cut.first, Seq(cut.until.0.saturating_sub(1))));
        let (to, absent) = match code {
            KeyCode::Left => (first.0.checked_sub(1).map(Seq), "this is the first event"),
            KeyCode::Right => (Some(last.plus(1)).filter(|to| *to < self.end), "this is the last event"),
            KeyCode::Home => (Some(Seq::ZERO), ""),
            KeyCode::End => (Some(self.last()), ""),
            KeyCode::Char('[') => (timeline.turn_before(first), "this is the first turn"),
            KeyCode::Char(']') => (timeline.turn_after(last), "this is the last turn"),
            KeyCode::Char('e') => (timeline.error_after(last), "no error after this event"),
            KeyCode::Char('E') => (timeline.error_before(first), "no error before this event"),
            _ => return None,
        };
        match to {
            Some(to) => {
                self.go(to);
                None
            }
            None => Some(absent),
        }
    }

    fn go(&mut self, to: Seq) {
        if to != self.at {
            (self.at, self.cut, self.scroll, self.error) = (to, None, 0, None);
        }
    }

    fn show(&mut self, tab: TuiTab) {
        if tab != self.tab {
            (self.tab, self.scroll) = (tab, 0);
        }
    }

    /// Goes to an event as it was typed; returns why that is not possible.
    pub fn go_to(&mut self, text: &str) -> Option<String> {
        let timeline = self.timeline.as_ref()?;
        let text = text.trim();
        let back = text.strip_prefix('-').and_then(|number| number.parse::<u64>().ok()).filter(|number| *number > 0);
        let to = match (back, text.parse()) {
            (Some(back), _) => self.end.0.checked_sub(back).map(Seq),
            (None, Ok(MessageRef::Event(seq))) => Some(seq),
            (None, Ok(MessageRef::Turn(turn))) => timeline.turn(turn),
            (None, Err(_)) => return Some("expected an event number, turn:N, or -N from the end".to_owned()),
        };
        match to.filter(|to| *to < self.end) {
            Some(to) => self.go(to),
            None => return Some(format!("no event {text}; the last one is {}", self.last())),
        }
        None
    }

    /// Shows the first line with the text, from the screen on.
    pub fn find_from_here(&mut self) {
        let found = self.found();
        self.found_at = found.iter().find(|line| **line >= self.scroll).or(found.first()).copied();
        self.scroll = self.found_at.unwrap_or(self.scroll);
    }

    fn find_next(&mut self, forward: bool) -> Option<&'static str> {
        let found = self.found();
        let from = self.found_at.unwrap_or(self.scroll);
        self.found_at = match forward {
            true => found.iter().find(|line| **line > from).or(found.first()).copied(),
            false => found.iter().rev().find(|line| **line < from).or(found.last()).copied(),
        };
        self.scroll = self.found_at.unwrap_or(self.scroll);
        found.is_empty().then_some("no match in this tab")
    }

    /// The lines of the page with the text.
    fn found(&self) -> Vec<usize> {
        self.page.as_ref().map(|(_, page)| page.found(&self.find)).unwrap_or_default()
    }

    /// Keeps the end of the page at the end of the screen.
    pub fn settle(&mut self, height: usize) {
        let lines = self.page.as_ref().map_or(0, |(_, page)| page.lines.len());
        self.scroll = self.scroll.min(lines.saturating_sub(height.max(1)));
    }
}
