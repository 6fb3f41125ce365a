use super::screen::draw;
use super::*;
use annals_core::{ModelName, Seq, Time};
use annals_inspect::pricing::Pricing;
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_projections::{Catalogue, CatalogueEntry};
use annals_providers::catalog::Catalog;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::Path;

const NOW: u64 = 1_795_305_600_000;

fn sessions() -> Vec<SessionOverview> {
    let entry = |n: u64, title: &str, directory: &str, origin: &str| {
        let entry = CatalogueEntry {
            title: title.into(),
            directory: directory.into(),
            origin: Some(origin.into()),
            model: ModelName::from("anthropic/claude-sonnet-4-5"),
            branch: Some("main".into()),
            updated: Time(NOW - n * 3_600_000),
            next: Seq(10 * n),
            turns: n,
            cost: n * 1_000_000,
            ..CatalogueEntry::default()
        };
        (SessionId::from_parts(n, n.into()), entry)
    };
    let all = [
        entry(1, "Fix the parser", "/work/shop", "claude-code"),
        entry(2, "Write the release notes of the version that nobody remembers any more", "/work/shop/api", "codex"),
        entry(3, "hidden \u{202e}txet\u{1b}[31m red\nsecond line", "/work/blog", "opencode"),
        entry(4, "今日の天気を教えてください", "/work/blog", "opencode"),
    ];
    let catalogue = Catalogue { sessions: all.into_iter().collect(), ..Catalogue::default() };
    list(catalogue, &SessionFilter::default(), SessionOrder::Updated, &Pricing::new(Catalog::built_in()))
}

fn style() -> Style {
    Style { width: 80, colour: false, json: false, markdown: false, zone: TimeZone::UTC, now: Time(NOW) }
}

fn picker(here: &str) -> PickerState {
    Picker::new(sessions(), Path::new(here), &style()).state
}

fn press(state: &mut PickerState, code: KeyCode) -> PickerAction {
    state.press(KeyEvent::new(code, KeyModifiers::NONE), 10)
}

fn control(state: &mut PickerState, c: char) -> PickerAction {
    state.press(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), 10)
}

fn type_in(state: &mut PickerState, text: &str) {
    text.chars().for_each(|c| assert_eq!(press(state, KeyCode::Char(c)), PickerAction::Stay));
}

fn titles(state: &PickerState) -> Vec<String> {
    state.shown().map(|row| row.title.chars().take(6).collect()).collect()
}

fn screen(state: &PickerState, preview: &[&str], (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let preview: Vec<String> = preview.iter().map(|line| (*line).to_owned()).collect();
    terminal.draw(|frame| draw(frame, state, &preview, false)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn what_is_typed_filters_by_every_word_in_title_directory_branch_agent_and_model() {
    let mut state = picker("/elsewhere");
    assert_eq!(titles(&state).len(), 4);
    type_in(&mut state, "MAIN shop");
    assert_eq!(titles(&state), ["Fix th", "Write "]);
    type_in(&mut state, " codex sonnet");
    assert_eq!(titles(&state), ["Write "]);
    press(&mut state, KeyCode::Backspace);
    assert_eq!(state.filter(), "MAIN shop codex sonne");
    assert_eq!(press(&mut state, KeyCode::Esc), PickerAction::Stay);
    assert_eq!((state.filter(), titles(&state).len()), ("", 4));
    assert_eq!(press(&mut state, KeyCode::Esc), PickerAction::Quit);
}

#[test]
fn the_selected_session_stays_selected_while_it_is_shown() {
    let mut state = picker("/elsewhere");
    press(&mut state, KeyCode::Down);
    let selected = state.selected().map(|row| row.id);
    type_in(&mut state, "release");
    assert_eq!((state.at(), state.selected().map(|row| row.id)), (0, selected));
    control(&mut state, 'u');
    assert_eq!((state.at(), state.selected().map(|row| row.id)), (1, selected));
    assert_eq!(press(&mut state, KeyCode::Enter), PickerAction::Replay(selected.unwrap()));
    assert_eq!(control(&mut state, 'o'), PickerAction::Usage(selected.unwrap()));
    assert_eq!(control(&mut state, 'r'), PickerAction::Continue(selected.unwrap()));
}

#[test]
fn keys_never_leave_the_list() {
    let mut state = picker("/elsewhere");
    for code in [KeyCode::Up, KeyCode::PageUp, KeyCode::Home] {
        press(&mut state, code);
        assert_eq!(state.at(), 0);
    }
    for code in [KeyCode::End, KeyCode::Down, KeyCode::PageDown] {
        press(&mut state, code);
        assert_eq!(state.at(), 3);
    }
    type_in(&mut state, "no such session");
    for code in [KeyCode::Down, KeyCode::Up, KeyCode::PageDown, KeyCode::PageUp, KeyCode::End, KeyCode::Enter] {
        assert_eq!(press(&mut state, code), PickerAction::Stay);
    }
    assert_eq!(control(&mut state, 'f'), PickerAction::Search("no such session".into()));
}

#[test]
fn a_project_with_sessions_is_shown_alone_until_tab() {
    let mut state = picker("/work/shop");
    assert_eq!(titles(&state), ["Fix th", "Write "]);
    press(&mut state, KeyCode::Tab);
    assert_eq!(titles(&state).len(), 4);
    press(&mut state, KeyCode::Tab);
    assert_eq!(titles(&state).len(), 2);
    let mut elsewhere = picker("/work/sho");
    press(&mut elsewhere, KeyCode::Tab);
    assert_eq!(titles(&elsewhere).len(), 4, "there is nothing here to show");
}

#[test]
fn the_screen_at_usual_and_small_sizes() {
    let preview = ["Fix the parser", "claude-code · main", "", "1  you  fix it"];
    let mut state = picker("/elsewhere");
    press(&mut state, KeyCode::Down);
    let mut shown = String::new();
    for size in [(120, 10), (80, 18), (60, 8), (20, 4)] {
        shown += &format!("{} x {}\n{}\n", size.0, size.1, screen(&state, &preview, size));
    }
    type_in(&mut state, "xyz");
    shown += &screen(&state, &[], (80, 6));
    insta::assert_snapshot!(shown);
}

#[test]
fn no_size_and_no_key_panics() {
    for width in [1, 2, 7, 33, 109, 110, 300] {
        for height in [1, 2, 3, 5, 16, 60] {
            let mut state = picker("/work/shop");
            for code in [KeyCode::Down, KeyCode::Tab, KeyCode::End, KeyCode::Char('a'), KeyCode::Char('\u{202e}')] {
                press(&mut state, code);
                screen(&state, &["a line", "今日"], (width, height));
            }
        }
    }
}
