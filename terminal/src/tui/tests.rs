use super::draw::draw;
use super::follow::TuiSource;
use super::list::TuiList;
use super::load::TuiLoader;
use super::state::{TuiAction, TuiLoaded, TuiState};
use super::tab::TuiWanted;
use super::timeline::TuiTimeline;
use crate::style::Style;
use annals_core::{Seq, Time};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::{Reader, short_ids};
use annals_inspect::report::SessionIndex;
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_providers::catalog::Catalog;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const NOW: u64 = 1_795_305_600_000;

/// The time machine over a session of Claude Code, without a terminal and without threads.
struct Machine {
    reader: Reader,
    state: TuiState,
    loader: TuiLoader,
    loaded: Option<TuiWanted>,
    send: mpsc::UnboundedSender<TuiLoaded>,
    answers: mpsc::UnboundedReceiver<TuiLoaded>,
    runtime: Runtime,
    size: Rect,
}

fn style() -> Style {
    Style { width: 80, colour: true, json: false, markdown: false, zone: TimeZone::UTC, now: Time(NOW) }
}

impl Machine {
    fn new(size: (u16, u16)) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/claude-code");
        let read = async {
            let file = annals_import::open_file(&folder, Default::default(), &mut |_| {}).await.unwrap();
            let reader = Reader::new(file.log, None, folder.clone()).about(file.sessions);
            let catalogue = reader.catalogue().await.unwrap();
            (reader, catalogue)
        };
        let (reader, catalogue) = runtime.block_on(read);
        let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
        let pricing = Pricing::new(Catalog::built_in());
        let sessions = list(catalogue, &SessionFilter::default(), SessionOrder::default(), &pricing);
        let (send, answers) = mpsc::unbounded_channel();
        let mut machine = Self {
            reader: reader.clone(),
            state: TuiState::new(TuiList::new(sessions, &ids, |_| false), None),
            loader: TuiLoader::new(TuiSource::Fixed(reader), pricing, style()),
            loaded: None,
            send,
            answers,
            runtime,
            size: Rect::new(0, 0, size.0, size.1),
        };
        machine.load();
        machine
    }

    /// Loads what is wanted, until nothing else is.
    fn load(&mut self) {
        self.state.resize(self.size);
        while self.state.wanted() != self.loaded {
            self.loaded = self.state.wanted();
            self.runtime.block_on(self.loader.load(self.loaded, &self.send));
            while let Ok(answer) = self.answers.try_recv() {
                self.state.loaded(answer);
            }
        }
    }

    fn press(&mut self, code: KeyCode) -> TuiAction {
        self.state.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    /// Presses keys, one a character: `\n` is Enter, `\t` Tab, `>` and the like are themselves.
    fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '→' => KeyCode::Right,
                '←' => KeyCode::Left,
                '↓' => KeyCode::Down,
                '⎋' => KeyCode::Esc,
                key => KeyCode::Char(key),
            };
            assert_eq!(self.press(code), TuiAction::Stay, "{key}");
            self.load();
        }
    }

    fn screen(&mut self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.size.width, self.size.height)).unwrap();
        terminal.draw(|frame| draw(frame, &self.state, &style())).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| (0..self.size.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..self.size.height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
    }
}

/// Opens the session with tools and a compaction.
const OPEN: &str = "/inventory\n";

#[test]
fn the_screens_of_80_columns() {
    let mut machine = Machine::new((80, 24));
    insta::assert_snapshot!("list-80", machine.screen());
    machine.keys("?");
    insta::assert_snapshot!("help-80", machine.screen());
    machine.keys("?");
    machine.keys(OPEN);
    insta::assert_snapshot!("seen-80", machine.screen());
    machine.press(KeyCode::Home);
    machine.keys("e");
    machine.keys("8");
    insta::assert_snapshot!("error-80", machine.screen());
    machine.keys("2");
    insta::assert_snapshot!("changes-80", machine.screen());
}

#[test]
fn the_screens_of_120_columns() {
    let mut machine = Machine::new((120, 40));
    insta::assert_snapshot!("list-120", machine.screen());
    machine.keys(OPEN);
    machine.press(KeyCode::Home);
    machine.keys("e");
    insta::assert_snapshot!("error-120", machine.screen());
    machine.keys("m]2");
    insta::assert_snapshot!("changes-120", machine.screen());
}

#[test]
fn every_tab_shows_something_and_a_text_in_it_is_found() {
    let mut machine = Machine::new((100, 30));
    machine.keys(OPEN);
    for tab in "123456789".chars() {
        machine.keys(&tab.to_string());
        let (_, page) = machine.state.open.as_ref().unwrap().page.clone().unwrap();
        assert!(!page.lines.is_empty(), "tab {tab}");
    }
    machine.keys("1/compact\n");
    let open = machine.state.open.as_ref().unwrap();
    let first = open.found_at.unwrap();
    assert!(open.scroll <= first);
    machine.keys("nN");
    assert_eq!(machine.state.open.as_ref().unwrap().found_at, Some(first));
    machine.keys("⎋");
    assert!(machine.state.open.as_ref().unwrap().find.is_empty());
    machine.keys("⎋");
    assert!(machine.state.open.is_none());
    assert_eq!(machine.press(KeyCode::Esc), TuiAction::Stay, "the filter is cleared first");
    assert_eq!(machine.press(KeyCode::Char('q')), TuiAction::Quit);
}

#[test]
fn keys_go_from_cut_to_cut_and_never_leave_the_session() {
    let mut machine = Machine::new((100, 30));
    machine.keys(OPEN);
    let end = machine.state.open.as_ref().unwrap().end;
    machine.keys("→");
    assert_eq!(machine.state.remark.as_deref(), Some("this is the last event"));
    let mut cuts = 0;
    while machine.state.open.as_ref().unwrap().at > Seq::ZERO {
        let before = machine.state.open.as_ref().unwrap().cut.unwrap();
        machine.keys("←");
        let open = machine.state.open.as_ref().unwrap();
        let Some(cut) = open.cut else { break };
        assert!(cut.until <= before.first || cut == before, "{cut:?} then {before:?}");
        if open.cut.unwrap().first == Seq::ZERO {
            break;
        }
        cuts += 1;
        assert!(cuts < end.0);
    }
    machine.keys("←");
    assert_eq!(machine.state.remark.as_deref(), Some("this is the first event"));
    machine.keys("gturn:1\n");
    assert_eq!(machine.state.remark, None);
    machine.keys("g-1\n");
    assert_eq!(machine.state.open.as_ref().unwrap().at, Seq(end.0 - 1));
    machine.keys("g99999\n");
    assert!(machine.state.remark.as_deref().is_some_and(|remark| remark.starts_with("no event 99999")));
}

#[test]
fn a_session_that_grows_is_followed_at_its_end_and_elsewhere_it_stays() {
    let mut machine = Machine::new((80, 24));
    machine.keys(OPEN);
    let open = machine.state.open.clone().unwrap();
    let (session, end, last) = (open.session, open.end, open.cut.unwrap());
    let until = |end: Seq| {
        let mut index = SessionIndex::default();
        machine.runtime.block_on(index.extend(&machine.reader.session_at(session, end))).unwrap();
        let timeline = Arc::new(TuiTimeline::new(index, String::new()));
        TuiLoaded::Timeline { session, timeline, end }
    };
    // The last batch was not written yet.
    let (before, after) = (until(last.first), until(end));
    machine.state.loaded(before);
    machine.load();
    assert_eq!(machine.state.open.as_ref().unwrap().last_of_cut().plus(1), last.first);
    machine.state.loaded(TuiLoaded::Arriving { session, text: "answers: seven jars, I".to_owned() });
    let last = machine.screen().lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("answers: seven jars, I"), "{last}");
    machine.state.loaded(after.clone());
    machine.state.loaded(TuiLoaded::Arriving { session, text: String::new() });
    machine.load();
    let here = machine.state.open.as_ref().unwrap().at;
    assert_eq!((here, machine.state.open.as_ref().unwrap().end), (Seq(end.0 - 1), end));
    assert!(!machine.screen().contains("answers: seven"), "it has arrived");
    machine.keys("←←");
    let here = machine.state.open.as_ref().unwrap().at;
    machine.state.loaded(after);
    assert_eq!(machine.state.open.as_ref().unwrap().at, here);
}

/// A key, a size, or time to load.
#[derive(Clone, Debug)]
enum Happening {
    Key(KeyCode, KeyModifiers),
    Size(u16, u16),
    Load,
}

/// What may happen to a screen that becomes at most `width` wide and `height` high.
fn happening(width: u16, height: u16) -> impl Strategy<Value = Happening> {
    let known = "/gmefnN[]<>?123456789 a-:q\u{202e}今";
    let chars = proptest::sample::select(known.chars().collect::<Vec<_>>()).prop_map(KeyCode::Char);
    let others = [
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Esc,
        KeyCode::F(3),
    ];
    let others = proptest::sample::select(others.to_vec());
    let modifiers = proptest::sample::select(vec![KeyModifiers::NONE, KeyModifiers::NONE, KeyModifiers::CONTROL]);
    let keys = (prop_oneof![chars, others], modifiers).prop_map(|(code, modifiers)| Happening::Key(code, modifiers));
    let sizes = (1..=width, 1..=height).prop_map(|(width, height)| Happening::Size(width, height));
    prop_oneof![8 => keys, 2 => sizes, 2 => Just(Happening::Load)]
}

fn survives(happenings: Vec<Happening>) {
    let mut machine = Machine::new((80, 24));
    machine.keys("\n");
    for happening in happenings {
        match happening {
            Happening::Key(code, modifiers) => drop(machine.state.press(KeyEvent::new(code, modifiers))),
            Happening::Size(width, height) => {
                machine.size = Rect::new(0, 0, width, height);
                machine.state.resize(machine.size);
            }
            Happening::Load => machine.load(),
        }
        machine.screen();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_key_and_no_size_panics(happenings in proptest::collection::vec(happening(140, 60), 1..60)) {
        survives(happenings);
    }

    #[test]
    fn no_key_panics_on_the_smallest_screens(happenings in proptest::collection::vec(happening(12, 6), 1..60)) {
        survives(happenings);
    }
}
