//! The terminal while keys are read one by one. It is restored when this is dropped, and before a panic is reported.

use super::handle::THREAD;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal, taken.
pub(super) struct RawTerminal(());

impl RawTerminal {
    pub(super) fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // A panic in any other thread is caught there, and the screen stays.
                if matches!(std::thread::current().name(), Some(THREAD | "main")) {
                    restore();
                }
                before(panic);
            }));
        });
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let raw = Self(());
        let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        execute!(stdout(), EnableBracketedPaste, PushKeyboardEnhancementFlags(keys))?;
        Ok(raw)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal once. One that is gone cannot be.
fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        drop(execute!(stdout(), PopKeyboardEnhancementFlags, DisableBracketedPaste, Show));
        drop(disable_raw_mode());
    }
}
