//! What the time machine shows, as a pure state: keys and loaded answers change it, nothing is read here.

use super::layout::TuiLayout;
use super::list::TuiList;
use super::page::PageText;
use super::session::TuiSession;
use super::tab::{TuiCut, TuiPageKey, TuiWanted};
use super::timeline::TuiTimeline;
use crate::escape::remove_last_unit;
use annals_core::{Seq, SessionId};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use std::sync::Arc;

/// Characters that can be typed at most.
const TYPED: usize = 200;

/// What a key asks of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuiAction {
    /// A redraw.
    Stay,
    /// A redraw of everything: something else wrote on the screen.
    Clear,
    /// The end.
    Quit,
}

/// A text that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuiTyping {
    /// The filter of the list.
    Filter,
    /// A text to find in the tab.
    Find,
    /// An event to go to.
    Event(String),
}

/// What was loaded.
#[derive(Clone, Debug)]
pub enum TuiLoaded {
    /// The timeline of a session and the end of its log.
    Timeline {
        /// The session.
        session: SessionId,
        /// The timeline.
        timeline: Arc<TuiTimeline>,
        /// The first event that there is not.
        end: Seq,
    },
    /// The batch of an event.
    Cut {
        /// The session.
        session: SessionId,
        /// The event.
        seq: Seq,
        /// The events that were written with it.
        cut: TuiCut,
    },
    /// The text of a tab.
    Page {
        /// The session.
        session: SessionId,
        /// What was wanted.
        key: TuiPageKey,
        /// The text.
        text: PageText,
    },
    /// A model sends an answer.
    Arriving {
        /// The session.
        session: SessionId,
        /// The end of what it sent; empty when nothing is on its way any more.
        text: String,
    },
    /// The session cannot be shown.
    Failed {
        /// The session.
        session: SessionId,
        /// Why not.
        error: String,
    },
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct TuiState {
    /// The list of sessions.
    pub list: TuiList,
    /// The session that is open.
    pub open: Option<TuiSession>,
    /// What is being typed.
    pub typing: Option<TuiTyping>,
    /// Whether the keys are shown.
    pub help: bool,
    /// What is said in place of the keys until the next one.
    pub remark: Option<String>,
    area: Rect,
}

impl TuiState {
    /// The list; with a session, that one at an event or at its end.
    pub fn new(list: TuiList, open: Option<(SessionId, Option<Seq>)>) -> Self {
        let open = open.map(|(session, at)| TuiSession::new(session, list.title(session).unwrap_or_default(), at));
        Self { list, open, typing: None, help: false, remark: None, area: Rect::new(0, 0, 80, 24) }
    }

    /// The screen has this size from now on.
    pub fn resize(&mut self, area: Rect) {
        self.area = area;
        self.settle();
    }

    /// What has to be loaded.
    pub fn wanted(&self) -> Option<TuiWanted> {
        let layout = TuiLayout::of(self.area);
        self.open.as_ref().map(|open| open.wanted(layout.page.width))
    }

    /// Takes in what was loaded, if it is still wanted.
    pub fn loaded(&mut self, loaded: TuiLoaded) {
        let wanted = self.wanted();
        let Some(open) = &mut self.open else { return };
        match loaded {
            TuiLoaded::Timeline { session, timeline, end } if session == open.session => open.begin(timeline, end),
            TuiLoaded::Cut { session, seq, cut } if session == open.session => open.cut_found(seq, cut),
            TuiLoaded::Page { session, key, text } if wanted == Some(TuiWanted { session, page: Some(key) }) => {
                (open.page, open.found_at, open.error) = (Some((key, text)), None, None);
            }
            TuiLoaded::Arriving { session, text } if session == open.session => open.arriving = text,
            TuiLoaded::Failed { session, error } if session == open.session => open.error = Some(error),
            _ => return,
        }
        self.settle();
    }

    /// Applies a key.
    pub fn press(&mut self, key: KeyEvent) -> TuiAction {
        if key.kind == KeyEventKind::Release {
            return TuiAction::Stay;
        }
        self.remark = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let action = match key.code {
            KeyCode::Char('c' | 'd') if control => return TuiAction::Quit,
            KeyCode::Char('l') if control => TuiAction::Clear,
            _ if self.help => self.leave_help(key.code),
            code => match self.typing.take() {
                Some(typing) => self.typed(typing, code, control),
                None if control => TuiAction::Stay,
                None if self.open.is_some() => self.in_session(code),
                None => self.in_list(code),
            },
        };
        self.settle();
        action
    }

    /// Any key leaves the help; `q` still quits.
    fn leave_help(&mut self, code: KeyCode) -> TuiAction {
        self.help = false;
        if code == KeyCode::Char('q') { TuiAction::Quit } else { TuiAction::Stay }
    }

    fn in_list(&mut self, code: KeyCode) -> TuiAction {
        let page = isize::try_from(self.list_rows().max(1)).unwrap_or(isize::MAX);
        match code {
            KeyCode::Char('q') => return TuiAction::Quit,
            KeyCode::Esc if self.list.filter().is_empty() => return TuiAction::Quit,
            KeyCode::Esc => self.list.set_filter(String::new()),
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('/') => self.typing = Some(TuiTyping::Filter),
            KeyCode::Enter => self.enter(),
            KeyCode::Tab | KeyCode::BackTab => self.list.switch(),
            KeyCode::Down => self.list.go(1),
            KeyCode::Up => self.list.go(-1),
            KeyCode::PageDown => self.list.go(page),
            KeyCode::PageUp => self.list.go(-page),
            KeyCode::Home => self.list.go(isize::MIN),
            KeyCode::End => self.list.go(isize::MAX),
            _ => {}
        }
        TuiAction::Stay
    }

    /// Rows of sessions on the screen.
    fn list_rows(&self) -> usize {
        usize::from(TuiLayout::of(self.area).body.height.saturating_sub(1))
    }

    fn enter(&mut self) {
        let Some(session) = self.list.selected() else { return };
        self.open = Some(TuiSession::new(session, self.list.title(session).unwrap_or_default(), None));
    }

    fn in_session(&mut self, code: KeyCode) -> TuiAction {
        let page = usize::from(TuiLayout::of(self.area).page.height).max(1);
        let Some(open) = &mut self.open else { return TuiAction::Stay };
        match code {
            KeyCode::Char('q') => return TuiAction::Quit,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Esc if !open.find.is_empty() => open.find.clear(),
            KeyCode::Esc => self.open = None,
            KeyCode::Char('/') => {
                open.find.clear();
                self.typing = Some(TuiTyping::Find);
            }
            KeyCode::Char('g') => self.typing = Some(TuiTyping::Event(String::new())),
            code => self.remark = open.press(code, page).map(str::to_owned),
        }
        TuiAction::Stay
    }

    /// Applies a key to what is being typed.
    fn typed(&mut self, typing: TuiTyping, code: KeyCode, control: bool) -> TuiAction {
        let mut text = match &typing {
            TuiTyping::Filter => self.list.filter().to_owned(),
            TuiTyping::Find => self.open.as_ref().map(|open| open.find.clone()).unwrap_or_default(),
            TuiTyping::Event(text) => text.clone(),
        };
        match code {
            KeyCode::Esc => text.clear(),
            KeyCode::Char('u' | 'w') if control => text.clear(),
            KeyCode::Char(c) if !control && text.chars().count() < TYPED => text.push(c),
            KeyCode::Backspace => remove_last_unit(&mut text),
            _ => {}
        }
        let ends = matches!(code, KeyCode::Esc | KeyCode::Enter);
        match typing {
            TuiTyping::Filter => {
                if matches!(code, KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown) {
                    self.in_list(code);
                } else if text != self.list.filter() {
                    self.list.set_filter(text);
                }
                if code == KeyCode::Enter {
                    self.enter();
                }
                self.typing = (!ends).then_some(TuiTyping::Filter);
            }
            TuiTyping::Find => {
                if let Some(open) = self.open.as_mut().filter(|open| open.find != text) {
                    open.find = text;
                    open.find_from_here();
                }
                self.typing = (!ends).then_some(TuiTyping::Find);
            }
            TuiTyping::Event(_) if code == KeyCode::Enter => {
                self.remark = self.open.as_mut().and_then(|open| open.go_to(&text));
            }
            TuiTyping::Event(_) => self.typing = (!ends).then_some(TuiTyping::Event(text)),
        }
        TuiAction::Stay
    }

    /// Keeps the end of a page at the end of the screen.
    fn settle(&mut self) {
        let height = usize::from(TuiLayout::of(self.area).page.height);
        if let Some(open) = &mut self.open {
            open.settle(height);
        }
    }
}
