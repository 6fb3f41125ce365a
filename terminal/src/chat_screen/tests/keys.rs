//! What keys do.

use super::*;

/// A painted text without its colours.
fn plain(painted: &str) -> String {
    super::super::painted::rows(painted.trim_end(), usize::MAX).iter().map(ToString::to_string).collect::<String>()
        + "\n"
}

#[test]
fn enter_sends_and_alt_enter_or_a_backslash_begins_another_line() {
    let mut screen = TestScreen::new(80, 24);
    screen.types("one\\");
    assert_eq!(screen.press(KeyCode::Enter), []);
    screen.types("two");
    screen.control('j');
    screen.types("three");
    let text = "one\ntwo\nthree".to_owned();
    assert_eq!(
        screen.press(KeyCode::Enter),
        [ScreenAction::Remember(text.clone()), sent(ScreenInput::Message(text.clone()))]
    );
    assert_eq!(screen.press(KeyCode::Enter), [], "nothing is sent twice");
    screen.press(KeyCode::Up);
    assert_eq!(screen.state.editor.text(), text);
}

#[test]
fn a_paste_of_several_lines_is_one_text() {
    let mut screen = TestScreen::new(80, 24);
    screen.apply(ScreenEvent::Paste("a\r\nb\rc".into()));
    assert_eq!(screen.state.editor.text(), "a\nb\nc");
}

#[test]
fn esc_interrupts_once_and_else_takes_the_text_away() {
    let mut screen = TestScreen::new(80, 24);
    screen.types("a draft");
    assert_eq!(screen.press(KeyCode::Esc), []);
    assert!(screen.state.editor.is_empty());
    let working = LiveView { activity: Some(("test/alpha".into(), screen.now)), ..LiveView::default() };
    screen.live(working.clone());
    screen.types("kept");
    assert_eq!(screen.press(KeyCode::Esc), [sent(ScreenInput::Interrupt)]);
    assert_eq!(screen.press(KeyCode::Esc), [], "a second Esc would leave the chat");
    assert_eq!(screen.state.editor.text(), "kept");
    screen.live(LiveView::default());
    screen.live(working);
    assert_eq!(screen.press(KeyCode::Esc), [sent(ScreenInput::Interrupt)]);
    screen.control('u');
    assert_eq!(screen.control('d'), [sent(ScreenInput::End)]);
}

#[test]
fn a_question_is_answered_by_its_keys_and_one_line_is_kept_above() {
    let mut screen = TestScreen::new(80, 24);
    screen.apply(ScreenEvent::Ask(asked(2)));
    screen.press(KeyCode::Down);
    let actions = screen.press(KeyCode::Enter);
    let [ScreenAction::Print(printed), reply] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(*reply, sent(ScreenInput::Reply("a".into())));
    assert_eq!(plain(printed), "? bash asks for permission: echo 1 … › always: echo *\n");
    assert!(screen.state.card.is_none());
    screen.apply(ScreenEvent::Ask(asked(2)));
    assert_eq!(screen.press(KeyCode::Char('x')), [], "another letter answers nothing");
    screen.press(KeyCode::Char('r'));
    screen.types("not now");
    let answered = screen.press(KeyCode::Enter);
    assert_eq!(answered.last(), Some(&sent(ScreenInput::Reply("n not now".into()))));
    assert!(
        matches!(answered.as_slice(), [ScreenAction::Print(printed), _] if plain(printed).ends_with(" › n not now\n"))
    );
}

#[test]
fn what_is_kept_of_a_question_fits_in_a_line_and_cannot_steer_the_terminal() {
    let mut screen = TestScreen::new(60, 24);
    let about: LinesOf = Arc::new(|_| vec![(Emphasis::Strong, format!("\x1b[2J{}", "long ".repeat(30)))]);
    screen.apply(ScreenEvent::Ask(ScreenQuestion { about, ..asked(1) }));
    let actions = screen.press(KeyCode::Char('y'));
    let [ScreenAction::Print(printed), _] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(plain(printed), "? bash asks for permission: ␛[2Jlong long long… › yes, once\n");
    // The words of the user are kept whole.
    screen.apply(ScreenEvent::Ask(choice(false)));
    screen.state.card.as_mut().into_iter().for_each(|card| card.typing = Some(String::new()));
    let words = "neither of them, since both are hard to read on a dark background";
    screen.types(words);
    let actions = screen.press(KeyCode::Enter);
    let [ScreenAction::Print(printed), _] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(plain(printed), format!("? the model asks: Which… › {words}\n"));
}

#[test]
fn a_question_that_appears_while_the_user_types_gets_no_keys() {
    let mut screen = TestScreen::new(80, 24);
    screen.types("I sa");
    screen.apply(ScreenEvent::Ask(asked(1)));
    screen.types("y");
    assert_eq!(screen.state.editor.text(), "I say");
    let said = screen.press(KeyCode::Enter);
    assert_eq!(said.last(), Some(&sent(ScreenInput::Message("I say".into()))));
    assert!(screen.state.card.as_ref().is_some_and(|card| card.focused), "the question has the keys again");
    screen.apply(ScreenEvent::Settled);
    // The last key was a moment ago, though nothing is typed.
    screen.types("x");
    screen.press(KeyCode::Backspace);
    screen.apply(ScreenEvent::Ask(asked(1)));
    screen.press(KeyCode::Char('y'));
    assert_eq!(screen.state.editor.text(), "y");
    screen.press(KeyCode::Backspace);
    assert_eq!(screen.press(KeyCode::Char('y')).last(), Some(&sent(ScreenInput::Reply("y".into()))));
    screen.waits(Duration::from_secs(2));
    screen.apply(ScreenEvent::Ask(asked(1)));
    assert_eq!(screen.press(KeyCode::Char('y')).last(), Some(&sent(ScreenInput::Reply("y".into()))));
}

#[test]
fn several_answers_are_marked() {
    let mut screen = TestScreen::new(80, 24);
    screen.apply(ScreenEvent::Ask(choice(true)));
    for code in [KeyCode::Char(' '), KeyCode::Down, KeyCode::Down, KeyCode::Char(' ')] {
        screen.press(code);
    }
    assert_eq!(screen.press(KeyCode::Enter).last(), Some(&sent(ScreenInput::Reply("1, 3".into()))));
}

#[test]
fn all_of_a_question_is_shown_on_a_screen_of_its_own() {
    let mut screen = TestScreen::new(80, 24);
    screen.apply(ScreenEvent::Details("earlier".into(), vec!["output".into()]));
    assert_eq!(screen.control('o'), [ScreenAction::Page("earlier".into(), vec!["output".into()])]);
    screen.waits(Duration::from_secs(2));
    screen.apply(ScreenEvent::Ask(asked(40)));
    let actions = screen.press(KeyCode::Char('d'));
    assert!(matches!(actions.as_slice(), [ScreenAction::Page(_, lines)] if lines.len() == 40), "{actions:?}");
    assert!(screen.state.card.is_some(), "the question stays");
}

#[test]
fn a_candidate_is_taken_by_tab_and_a_whole_command_is_sent() {
    let mut screen = TestScreen::new(80, 24);
    screen.types("/mo");
    screen.press(KeyCode::Tab);
    assert_eq!(screen.state.editor.text(), "/model ");
    screen.control('u');
    screen.types("/undo");
    assert_eq!(screen.press(KeyCode::Enter).last(), Some(&sent(ScreenInput::Message("/undo".into()))));
    screen.types("read @");
    assert!(screen.state.source.files.is_some(), "files were asked for once");
    screen.apply(ScreenEvent::Files(vec!["a.rs".into()]));
    screen.types("a");
    screen.press(KeyCode::Enter);
    assert_eq!(screen.state.editor.text(), "read @a.rs ");
}

#[test]
fn shift_tab_goes_through_the_agents() {
    let mut screen = TestScreen::new(80, 24);
    assert_eq!(screen.press(KeyCode::BackTab), [sent(ScreenInput::Message("/agent plan".into()))]);
}

#[test]
fn lines_are_printed_whole_with_their_colours() {
    let mut screen = TestScreen::new(80, 24);
    assert_eq!(screen.apply(ScreenEvent::Text("a\x1b[1mb".into())), []);
    assert_eq!(screen.apply(ScreenEvent::Text("c\nd".into())), [ScreenAction::Print("a\x1b[1mbc\n\x1b[0m".into())]);
    assert_eq!(screen.apply(ScreenEvent::End), [ScreenAction::Print("\x1b[1md\x1b[0m\n".into())]);
}
