//! What keys do: with candidates, with a question, with what runs.

use super::card::{CardAction, QuestionCard};
use super::painted::painted;
use super::state::{ScreenAction, ScreenInput, ScreenState};
use crate::escape::visible_line;
use crate::layout::{clip, columns, name};
use crate::style::Emphasis;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How many columns of what was asked are kept above at least, next to the answer.
const ASKED: usize = 24;

impl ScreenState {
    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<ScreenAction> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return self.control_c(),
            KeyCode::Char('d') if control && self.editor.is_empty() => {
                return vec![ScreenAction::Send(ScreenInput::End)];
            }
            KeyCode::Char('l') if control => return vec![ScreenAction::Redraw],
            KeyCode::Char('z') if control => return vec![ScreenAction::Suspend],
            KeyCode::Char('g') if control => return vec![ScreenAction::Edit],
            KeyCode::Char('o') if control => return self.details(),
            KeyCode::BackTab => return self.next_agent(),
            _ => {}
        }
        if let Some(actions) = self.press_completion(key) {
            return actions;
        }
        if let Some(actions) = self.press_card(key) {
            return actions;
        }
        match key.code {
            KeyCode::Esc => self.escape(),
            KeyCode::Tab => {
                if let Some(card) = &mut self.card {
                    card.focused = true;
                }
                Vec::new()
            }
            KeyCode::Enter => self.enter(key.modifiers),
            _ => self.edit(key),
        }
    }

    fn control_c(&mut self) -> Vec<ScreenAction> {
        if self.editor.is_empty() {
            self.interrupting = true;
            return vec![ScreenAction::Send(ScreenInput::Interrupt)];
        }
        self.clear()
    }

    /// Takes the text away; it can be had again from the history.
    fn clear(&mut self) -> Vec<ScreenAction> {
        let text = self.editor.take();
        self.history.add(&text);
        self.completion = None;
        self.enter_card();
        Vec::new()
    }

    /// The last output or change in full, or what the question is about.
    fn details(&mut self) -> Vec<ScreenAction> {
        if let Some(card) = &self.card
            && let Some(actions) = self.page_of(card)
        {
            return actions;
        }
        self.details.clone().map(|(title, lines)| ScreenAction::Page(title, lines)).into_iter().collect()
    }

    fn page_of(&self, card: &QuestionCard) -> Option<Vec<ScreenAction>> {
        let whole = card.question.whole.as_ref()?(self.width().saturating_sub(1));
        let lines = whole.iter().map(|(emphasis, line)| painted(&self.style, *emphasis, line)).collect();
        Some(vec![ScreenAction::Page(card.question.head.clone(), lines)])
    }

    fn next_agent(&mut self) -> Vec<ScreenAction> {
        let at = self.agents.iter().position(|agent| *agent == self.live.agent);
        let next = at.map_or(0, |at| at + 1);
        match self.agents.get(next % self.agents.len().max(1)) {
            Some(agent) if *agent != self.live.agent => {
                vec![ScreenAction::Send(ScreenInput::Message(format!("/agent {agent}")))]
            }
            _ => Vec::new(),
        }
    }

    /// A key while candidates are shown; `None` if it is not for them.
    fn press_completion(&mut self, key: KeyEvent) -> Option<Vec<ScreenAction>> {
        let completion = self.completion.as_mut()?;
        let last = completion.candidates.len().saturating_sub(1);
        match key.code {
            KeyCode::Up => completion.selected = completion.selected.checked_sub(1).unwrap_or(last),
            KeyCode::Down => {
                completion.selected = if completion.selected >= last { 0 } else { completion.selected + 1 };
            }
            KeyCode::Esc => self.completion = None,
            KeyCode::Tab => self.accept(),
            KeyCode::Enter if key.modifiers.is_empty() => {
                // A command that is typed in full is sent.
                let whole = completion.candidates.get(completion.selected).map(|(name, _)| name.clone());
                if completion.is_command && whole.as_deref() == Some(self.editor.text()) {
                    self.completion = None;
                    return None;
                }
                self.accept();
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn accept(&mut self) {
        let Some(completion) = self.completion.take() else { return };
        if let Some((name, _)) = completion.candidates.get(completion.selected) {
            self.editor.replace_from(completion.start, &format!("{name} "));
        }
    }

    /// A key while a question is open; `None` if it is not for it.
    fn press_card(&mut self, key: KeyEvent) -> Option<Vec<ScreenAction>> {
        let card = self.card.as_mut()?;
        if let Some(before) = card.typing.clone() {
            return match key.code {
                KeyCode::Enter if key.modifiers.is_empty() => {
                    let text = self.editor.take();
                    self.completion = None;
                    let reply = format!("{before}{text}");
                    Some(self.reply(reply.clone(), &reply))
                }
                KeyCode::Esc if !card.question.options.is_empty() => {
                    card.typing = None;
                    Some(Vec::new())
                }
                _ => None,
            };
        }
        if !card.focused {
            return None;
        }
        match card.press(key) {
            CardAction::Stay | CardAction::Type => Some(Vec::new()),
            CardAction::Reply(reply, label) => Some(self.reply(reply, &label)),
            CardAction::Details => Some(self.details()),
            CardAction::Pass => {
                if key.code == KeyCode::Tab {
                    self.leave_card();
                    return Some(Vec::new());
                }
                None
            }
        }
    }

    /// Answers the question, and keeps one line above that says what was asked and answered.
    fn reply(&mut self, reply: String, label: &str) -> Vec<ScreenAction> {
        let Some(card) = self.card.take() else { return Vec::new() };
        let about = card.about.first().map_or("", |(_, line)| line.trim());
        let more = if card.about.len() > 1 { " …" } else { "" };
        let asked = visible_line(&format!("? {}: {about}{more}", card.question.head));
        let answer = format!(" › {}", name(label.trim()));
        let room = self.width().saturating_sub(columns(&answer)).max(ASKED);
        let asked = painted(&self.style, Emphasis::Warn, &clip(&asked, room));
        let answer = painted(&self.style, Emphasis::User, &answer);
        vec![ScreenAction::Print(format!("{asked}{answer}\n")), ScreenAction::Send(ScreenInput::Reply(reply))]
    }

    /// Keys are for the text from now on.
    pub(super) fn leave_card(&mut self) {
        if let Some(card) = &mut self.card {
            card.focused = false;
        }
    }

    /// Keys are for the question, if there is one.
    pub(super) fn enter_card(&mut self) {
        if let Some(card) = &mut self.card {
            card.focused = true;
        }
    }

    fn escape(&mut self) -> Vec<ScreenAction> {
        let runs = self.live.activity.is_some() || !self.live.calls.is_empty();
        if (runs || self.card.is_some()) && !self.interrupting {
            self.interrupting = true;
            return vec![ScreenAction::Send(ScreenInput::Interrupt)];
        }
        if runs || self.editor.is_empty() { Vec::new() } else { self.clear() }
    }

    fn enter(&mut self, modifiers: KeyModifiers) -> Vec<ScreenAction> {
        if modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) {
            self.editor.insert("\n");
            return self.edited();
        }
        if self.editor.before().ends_with('\\') {
            let start = self.editor.before().len() - 1;
            self.editor.replace_from(start, "\n");
            return self.edited();
        }
        let text = self.editor.take();
        self.completion = None;
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.history.add(&text);
        self.enter_card();
        vec![ScreenAction::Remember(text.clone()), ScreenAction::Send(ScreenInput::Message(text))]
    }
}
