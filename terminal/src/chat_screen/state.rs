//! The state of the screen: keys and news in, actions out. Nothing here reads a clock or touches the terminal.

use super::card::{QuestionCard, ScreenQuestion};
use super::completion::{Completion, CompletionSource};
use super::editor::InputEditor;
use super::input_history::InputHistory;
use super::live::LiveView;
use super::painted::open_paint;
use crate::style::Style;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use std::time::{Duration, Instant};

/// A question that appears while the user types gets no keys until this long after the last one.
const TYPES: Duration = Duration::from_millis(700);

/// Something that the screen takes in.
#[derive(Clone, Debug)]
pub(super) enum ScreenEvent {
    Key(KeyEvent),
    Paste(String),
    Resized(u16, u16),
    /// A piece of what is shown above: safe to write, painted.
    Text(String),
    Live(Box<LiveView>),
    Ask(ScreenQuestion),
    /// The question was answered elsewhere or withdrawn.
    Settled,
    /// What Ctrl-O shows: a title and painted lines.
    Details(String, Vec<String>),
    /// The files below the directory.
    Files(Vec<String>),
    /// The text comes back from the user's editor.
    Edited(String),
    /// The terminal is gone.
    Broken,
    /// Everything is to be written and the terminal restored.
    End,
}

/// What the thread of the screen does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScreenAction {
    /// Write these whole lines above.
    Print(String),
    /// Give this to the chat.
    Send(ScreenInput),
    /// Show these painted lines on a screen of their own.
    Page(String, Vec<String>),
    /// Find the files below the directory.
    FindFiles,
    /// Keep this in the history of inputs.
    Remember(String),
    /// Open the text in the user's editor.
    Edit,
    Suspend,
    /// Draw the whole screen anew.
    Redraw,
}

/// What the user says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenInput {
    /// A message, or a command of the chat.
    Message(String),
    /// The answer to the question on the screen.
    Reply(String),
    /// What runs is to be interrupted.
    Interrupt,
    /// The user leaves.
    End,
}

/// The screen.
#[derive(Clone, Debug)]
pub(super) struct ScreenState {
    pub(super) editor: InputEditor,
    pub(super) history: InputHistory,
    pub(super) completion: Option<Completion>,
    pub(super) source: CompletionSource,
    pub(super) card: Option<QuestionCard>,
    pub(super) live: LiveView,
    /// The line that is not whole yet.
    pub(super) partial: String,
    pub(super) details: Option<(String, Vec<String>)>,
    /// The agents that Shift-Tab goes through.
    pub(super) agents: Vec<String>,
    pub(super) last_key: Option<Instant>,
    /// Whether what runs was asked to stop.
    pub(super) interrupting: bool,
    pub(super) size: (u16, u16),
    pub(super) style: Style,
}

impl ScreenState {
    pub(super) fn new(
        style: Style,
        size: (u16, u16),
        source: CompletionSource,
        agents: Vec<String>,
        earlier: Vec<String>,
    ) -> Self {
        Self {
            editor: InputEditor::default(),
            history: InputHistory::new(earlier),
            completion: None,
            source,
            card: None,
            live: LiveView::default(),
            partial: String::new(),
            details: None,
            agents,
            last_key: None,
            interrupting: false,
            size,
            style,
        }
    }

    /// Whether something moves by itself.
    pub(super) fn is_active(&self) -> bool {
        self.live.activity.is_some() || !self.live.calls.is_empty() || !self.live.tasks.is_empty()
    }

    /// Columns that are drawn in: the last one stays free, so that no row is broken.
    pub(super) fn width(&self) -> usize {
        usize::from(self.size.0).saturating_sub(1).max(10)
    }

    /// Columns of the text that the user edits.
    pub(super) fn input_width(&self) -> usize {
        self.width().saturating_sub(2).max(4)
    }

    pub(super) fn apply(&mut self, event: ScreenEvent, now: Instant) -> Vec<ScreenAction> {
        match event {
            ScreenEvent::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            ScreenEvent::Key(key) => {
                let actions = self.press(key);
                // After Enter the user is not typing any more.
                self.last_key = Some(now).filter(|_| key.code != KeyCode::Enter);
                actions
            }
            ScreenEvent::Paste(text) => {
                self.leave_card();
                self.editor.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
                self.edited()
            }
            ScreenEvent::Resized(width, height) => {
                self.size = (width, height);
                let width = self.width();
                if let Some(card) = &mut self.card {
                    card.resize(width);
                }
                Vec::new()
            }
            ScreenEvent::Text(text) => self.text(&text),
            ScreenEvent::Live(live) => {
                if live.activity.is_none() && live.calls.is_empty() {
                    self.interrupting = false;
                }
                self.live = *live;
                Vec::new()
            }
            ScreenEvent::Ask(question) => {
                let types = self.last_key.is_some_and(|at| now.saturating_duration_since(at) < TYPES);
                let focused = self.editor.is_empty() && !types;
                self.card = Some(QuestionCard::new(question, self.width(), focused));
                Vec::new()
            }
            ScreenEvent::Settled => {
                self.card = None;
                Vec::new()
            }
            ScreenEvent::Details(title, lines) => {
                self.details = Some((title, lines));
                Vec::new()
            }
            ScreenEvent::Files(files) => {
                self.source.files = Some(files);
                self.complete()
            }
            ScreenEvent::Edited(text) => {
                self.editor.set(text.trim_end());
                vec![ScreenAction::Redraw]
            }
            ScreenEvent::Broken => vec![ScreenAction::Send(ScreenInput::End)],
            ScreenEvent::End => self.rest(),
        }
    }

    /// Takes in a piece of what is shown above; whole lines are written.
    fn text(&mut self, text: &str) -> Vec<ScreenAction> {
        self.partial.push_str(text);
        let Some(at) = self.partial.rfind('\n') else { return Vec::new() };
        let rest = self.partial.split_off(at + 1);
        let mut whole = std::mem::take(&mut self.partial);
        if let Some(paint) = open_paint(&whole).map(str::to_owned) {
            self.partial = paint;
            whole.push_str("\x1b[0m");
        }
        self.partial.push_str(&rest);
        vec![ScreenAction::Print(whole)]
    }

    /// Nothing follows: an incomplete line is written as it is.
    fn rest(&mut self) -> Vec<ScreenAction> {
        match std::mem::take(&mut self.partial) {
            rest if rest.is_empty() => Vec::new(),
            rest => vec![ScreenAction::Print(format!("{rest}\x1b[0m\n"))],
        }
    }
}
