//! What keys do with the text that is typed, and what could complete it.

use super::editor::Motion;
use super::state::{ScreenAction, ScreenState};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

impl ScreenState {
    /// Keys of the text.
    pub(super) fn edit(&mut self, key: KeyEvent) -> Vec<ScreenAction> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let by_word = control || key.modifiers.contains(KeyModifiers::ALT);
        let width = self.input_width();
        let editor = &mut self.editor;
        match key.code {
            KeyCode::Up => {
                if !editor.go_rows(false, width)
                    && let Some(text) = self.history.older(self.editor.text())
                {
                    self.editor.set(&text);
                }
                return Vec::new();
            }
            KeyCode::Down => {
                if !editor.go_rows(true, width)
                    && let Some(text) = self.history.newer()
                {
                    self.editor.set(&text);
                }
                return Vec::new();
            }
            KeyCode::Left => editor.go(if by_word { Motion::WordLeft } else { Motion::Left }),
            KeyCode::Right => editor.go(if by_word { Motion::WordRight } else { Motion::Right }),
            KeyCode::Home => editor.go(Motion::LineStart),
            KeyCode::End => editor.go(Motion::LineEnd),
            KeyCode::Backspace => editor.remove(if by_word { Motion::WordLeft } else { Motion::Left }),
            KeyCode::Delete => editor.remove(if by_word { Motion::WordRight } else { Motion::Right }),
            KeyCode::Char(c) if control => match c {
                'a' => editor.go(Motion::LineStart),
                'e' => editor.go(Motion::LineEnd),
                'b' => editor.go(Motion::Left),
                'f' => editor.go(Motion::Right),
                'd' => editor.remove(Motion::Right),
                'h' => editor.remove(Motion::Left),
                'w' => editor.remove(Motion::WordLeft),
                'u' => editor.remove(Motion::LineStart),
                'k' => editor.remove(Motion::LineEnd),
                'y' => editor.insert_removed(),
                'j' => editor.insert("\n"),
                'p' => return self.edit(KeyCode::Up.into()),
                'n' => return self.edit(KeyCode::Down.into()),
                'r' => return self.search(),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::ALT) => match c {
                'b' => editor.go(Motion::WordLeft),
                'f' => editor.go(Motion::WordRight),
                'd' => editor.remove(Motion::WordRight),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) => {
                editor.insert(c.encode_utf8(&mut [0; 4]));
                self.leave_card();
            }
            _ => return Vec::new(),
        }
        self.edited()
    }

    /// The next older input that contains what is typed.
    pub(super) fn search(&mut self) -> Vec<ScreenAction> {
        if let Some(text) = self.history.containing(self.editor.text()) {
            self.editor.set(&text);
        }
        Vec::new()
    }

    /// The text has changed.
    pub(super) fn edited(&mut self) -> Vec<ScreenAction> {
        self.history.leave();
        self.complete()
    }

    pub(super) fn complete(&mut self) -> Vec<ScreenAction> {
        if self.editor.is_empty() {
            self.enter_card();
        }
        let before = self.editor.before().to_owned();
        self.completion = self.source.complete(&before);
        match super::completion::word(&before) {
            Some((_, false)) if self.source.files.is_none() => {
                self.source.files = Some(Vec::new());
                vec![ScreenAction::FindFiles]
            }
            None => {
                // The next name after `@` sees files that were created meanwhile.
                self.source.files = None;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}
