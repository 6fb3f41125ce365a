//! What the screen shows and does, drawn on a terminal in memory.

use super::card::{LinesOf, QuestionAnswer, QuestionOption, ScreenQuestion};
use super::completion::CompletionSource;
use super::frame::draw;
use super::inline::InlineTerminal;
use super::live::{LiveCall, LiveView};
use super::page::TextPage;
use super::state::{ScreenAction, ScreenEvent, ScreenInput, ScreenState};
use crate::style::{Emphasis, Style};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod goldens;
mod keys;
mod terminal;

fn style() -> Style {
    Style {
        width: 80,
        colour: true,
        json: false,
        markdown: true,
        zone: jiff::tz::TimeZone::UTC,
        now: annals_core::Time(1_780_488_000_000),
    }
}

/// A screen with a clock that the test moves.
struct TestScreen {
    state: ScreenState,
    now: Instant,
}

impl TestScreen {
    fn new(width: u16, height: u16) -> Self {
        let source = CompletionSource {
            commands: [("/model", "show the model, or switch"), ("/new", "start a new session"), ("/undo", "undo")]
                .map(|(name, does)| (name.to_owned(), does.to_owned()))
                .to_vec(),
            names: vec![("explore".into(), "agent".into())],
            files: None,
        };
        let agents = ["build", "plan"].map(str::to_owned).to_vec();
        let state = ScreenState::new(style(), (width, height), source, agents, vec!["an earlier prompt".into()]);
        let mut screen = Self { state, now: Instant::now() };
        screen.live(LiveView::default());
        screen
    }

    fn live(&mut self, view: LiveView) {
        let view = LiveView {
            model: "test/alpha".into(),
            agent: "build".into(),
            mode: "asks".into(),
            window: Some("12 % of 128,000 tokens · $0.03".into()),
            ..view
        };
        self.apply(ScreenEvent::Live(Box::new(view)));
    }

    fn apply(&mut self, event: ScreenEvent) -> Vec<ScreenAction> {
        self.state.apply(event, self.now)
    }

    fn press(&mut self, code: KeyCode) -> Vec<ScreenAction> {
        self.apply(ScreenEvent::Key(code.into()))
    }

    fn control(&mut self, c: char) -> Vec<ScreenAction> {
        self.apply(ScreenEvent::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }

    fn waits(&mut self, passed: Duration) {
        self.now += passed;
    }

    /// What is drawn, with `▏` where the cursor is.
    fn drawn(&self) -> String {
        let lower = draw(&self.state, self.now);
        let height = u16::try_from(lower.rows.len()).unwrap_or(u16::MAX);
        assert!(height < self.state.size.1.max(5), "{height} rows in {:?}", self.state.size);
        let backend = TestBackend::new(self.state.size.0, height);
        let Ok(mut terminal) = Terminal::new(backend);
        let Ok(_) = terminal.draw(|frame| frame.render_widget(Paragraph::new(lower.rows.clone()), frame.area()));
        let cells = terminal.backend().buffer();
        let mut lines = Vec::new();
        for row in 0..height {
            let mut line = String::new();
            let mut skips = 0;
            for column in 0..self.state.size.0 {
                if lower.cursor == Some((usize::from(row), usize::from(column))) {
                    line.push('▏');
                }
                let symbol = cells[(column, row)].symbol();
                if skips > 0 {
                    skips -= 1;
                    continue;
                }
                skips = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}

/// A permission question for a command.
fn asked(lines: usize) -> ScreenQuestion {
    let about = move |_| (1..=lines).map(|n| (Emphasis::Strong, format!("echo {n}"))).collect();
    let option = |key, label: &str, answer: &str| QuestionOption {
        key,
        label: label.into(),
        answer: QuestionAnswer::Reply(answer.into()),
    };
    let typed =
        QuestionOption { key: 'r', label: "no, and say why".into(), answer: QuestionAnswer::Typed("n ".into()) };
    ScreenQuestion {
        head: "bash asks for permission".into(),
        about: Arc::new(about),
        whole: Some(Arc::new(about) as LinesOf),
        notes: vec!["also open: read  a.rs".into()],
        options: vec![option('y', "yes, once", "y"), option('a', "always: echo *", "a"), option('n', "no", "n"), typed],
        multiple: false,
    }
}

/// A question of a model.
fn choice(multiple: bool) -> ScreenQuestion {
    let option = |key: char, label: &str| QuestionOption {
        key,
        label: label.into(),
        answer: QuestionAnswer::Reply(key.to_string()),
    };
    ScreenQuestion {
        head: "the model asks".into(),
        about: Arc::new(|_| vec![(Emphasis::Strong, "Which colours?".into())]),
        whole: None,
        notes: Vec::new(),
        options: vec![option('1', "red"), option('2', "blue"), option('3', "green")],
        multiple,
    }
}

fn sent(input: ScreenInput) -> ScreenAction {
    ScreenAction::Send(input)
}

#[test]
fn a_text_on_a_screen_of_its_own_is_scrolled_within_its_bounds() {
    let lines = (1..=30).map(|n| format!("line {n}")).collect();
    let mut page = TextPage::new("a title".into(), lines);
    page.resize(Rect::new(0, 0, 40, 12));
    let drawn = |page: &TextPage| {
        let Ok(mut terminal) = Terminal::new(TestBackend::new(40, 12));
        let Ok(_) = terminal.draw(|frame| page.draw(frame, false));
        terminal.backend().to_string()
    };
    assert!(drawn(&page).contains("1-10 of 30"), "{}", drawn(&page));
    for code in [KeyCode::End, KeyCode::Down, KeyCode::Up] {
        assert!(page.press(code.into()));
    }
    assert!(drawn(&page).contains("20-29 of 30") && drawn(&page).contains("line 29"), "{}", drawn(&page));
    page.resize(Rect::new(0, 0, 5, 12));
    assert!(!page.press(KeyCode::Char('q').into()));
}
