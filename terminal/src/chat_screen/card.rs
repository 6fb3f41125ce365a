//! A question with its answers, which stays on the screen until it is answered or withdrawn.

use crate::style::Emphasis;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Lines in about so many columns.
pub type LinesOf = Arc<dyn Fn(usize) -> Vec<(Emphasis, String)> + Send + Sync>;

/// A question to the user.
#[derive(Clone)]
pub struct ScreenQuestion {
    /// Who asks for what, in a line.
    pub head: String,
    /// The text that it asks about.
    pub about: LinesOf,
    /// All of that, if `about` may leave something out.
    pub whole: Option<LinesOf>,
    /// Lines below.
    pub notes: Vec<String>,
    /// The answers.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    pub multiple: bool,
}

impl fmt::Debug for ScreenQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScreenQuestion").field("head", &self.head).finish_non_exhaustive()
    }
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionOption {
    /// The key that chooses it.
    pub key: char,
    /// What it does.
    pub label: String,
    /// What is answered.
    pub answer: QuestionAnswer,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// This.
    Reply(String),
    /// What the user types, after this.
    Typed(String),
}

/// The question on the screen.
#[derive(Clone, Debug)]
pub(super) struct QuestionCard {
    pub(super) question: ScreenQuestion,
    /// The text that it asks about, for the width of the screen.
    pub(super) about: Vec<(Emphasis, String)>,
    /// How many lines there are in all.
    pub(super) all: usize,
    pub(super) selected: usize,
    pub(super) chosen: BTreeSet<usize>,
    /// Whether keys are for it and not for the text that is typed.
    pub(super) focused: bool,
    /// The answer that is typed now, and what it begins with.
    pub(super) typing: Option<String>,
}

/// What a key did to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CardAction {
    Stay,
    /// It is answered: the answer, and how it is shown.
    Reply(String, String),
    /// The user types the answer.
    Type,
    /// All of it is to be shown.
    Details,
    /// The key is for someone else.
    Pass,
}

impl QuestionCard {
    pub(super) fn new(question: ScreenQuestion, width: usize, focused: bool) -> Self {
        let mut card =
            Self { about: Vec::new(), all: 0, question, selected: 0, chosen: BTreeSet::new(), focused, typing: None };
        card.resize(width);
        if card.question.options.is_empty() {
            card.typing = Some(String::new());
        }
        card
    }

    pub(super) fn resize(&mut self, width: usize) {
        let width = width.saturating_sub(4).max(8);
        self.about = (self.question.about)(width);
        self.all = self.question.whole.as_ref().map_or(self.about.len(), |whole| whole(width).len());
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> CardAction {
        let last = self.question.options.len().saturating_sub(1);
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return CardAction::Pass;
        }
        match key.code {
            KeyCode::Up => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            KeyCode::Down => self.selected = if self.selected >= last { 0 } else { self.selected + 1 },
            KeyCode::Char(' ') if self.question.multiple => {
                if !self.chosen.remove(&self.selected) {
                    self.chosen.insert(self.selected);
                }
            }
            KeyCode::Char('d') if self.question.whole.is_some() => return CardAction::Details,
            KeyCode::Enter if self.question.multiple && !self.chosen.is_empty() => return self.several(),
            KeyCode::Enter => return self.choose(self.selected),
            KeyCode::Char(c) => {
                let found = self.question.options.iter().position(|option| option.key == c);
                return found.map_or(CardAction::Stay, |at| {
                    self.selected = at;
                    self.choose(at)
                });
            }
            _ => return CardAction::Pass,
        }
        CardAction::Stay
    }

    fn choose(&mut self, at: usize) -> CardAction {
        match self.question.options.get(at) {
            None => CardAction::Stay,
            Some(QuestionOption { answer: QuestionAnswer::Reply(reply), label, .. }) => {
                CardAction::Reply(reply.clone(), label.clone())
            }
            Some(QuestionOption { answer: QuestionAnswer::Typed(before), .. }) => {
                self.typing = Some(before.clone());
                CardAction::Type
            }
        }
    }

    /// The answers that were marked.
    fn several(&self) -> CardAction {
        let options = self.chosen.iter().filter_map(|at| self.question.options.get(*at));
        let (mut replies, mut labels) = (Vec::new(), Vec::new());
        for option in options {
            if let QuestionAnswer::Reply(reply) = &option.answer {
                replies.push(reply.clone());
                labels.push(option.label.clone());
            }
        }
        CardAction::Reply(replies.join(", "), labels.join(", "))
    }
}
