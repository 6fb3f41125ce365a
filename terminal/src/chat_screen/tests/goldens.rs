//! What is shown in each state, in three sizes.

use super::*;

fn at_work(screen: &mut TestScreen) {
    let since = screen.now;
    screen.live(LiveView {
        activity: Some(("test/alpha".into(), since)),
        tokens: 1_234,
        calls: vec![LiveCall {
            about: "bash  cargo test".into(),
            since,
            lines: (1..=8).map(|n| format!("test number {n} ... ok")).collect(),
        }],
        tasks: vec![("explore".into(), since)],
        queued: vec!["and run the linter".into()],
        ..LiveView::default()
    });
    screen.apply(ScreenEvent::Text("the \x1b[1mbeginning\x1b[0m of a line".into()));
    screen.waits(Duration::from_secs(65));
}

#[test]
fn an_idle_screen_shows_the_input_and_the_status() {
    let mut screen = TestScreen::new(80, 24);
    insta::assert_snapshot!("idle", screen.drawn());
    screen.types("two lines, one of them");
    screen.apply(ScreenEvent::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT)));
    screen.types("日本語 and more than fits in a line of this screen, so that it is broken where it ends");
    insta::assert_snapshot!("typed", screen.drawn());
}

#[test]
fn a_screen_at_work_shows_what_streams_what_runs_and_what_waits() {
    for (name, width, height) in [("work_80x24", 80, 24), ("work_60x20", 60, 20), ("work_200x50", 200, 50)] {
        let mut screen = TestScreen::new(width, height);
        at_work(&mut screen);
        insta::assert_snapshot!(name, screen.drawn());
    }
}

#[test]
fn a_question_shows_all_its_answers_in_every_size() {
    for (name, width, height) in [("asked_80x24", 80, 24), ("asked_60x20", 60, 20), ("asked_40x12", 40, 12)] {
        let mut screen = TestScreen::new(width, height);
        at_work(&mut screen);
        screen.apply(ScreenEvent::Ask(asked(20)));
        let drawn = screen.drawn();
        for option in ["yes, once", "always: echo *", "no, and say why"] {
            assert!(drawn.contains(option), "{drawn}");
        }
        insta::assert_snapshot!(name, drawn);
    }
}

#[test]
fn candidates_are_listed_below_the_input() {
    let mut screen = TestScreen::new(60, 20);
    screen.types("/");
    insta::assert_snapshot!("commands", screen.drawn());
    screen.press(KeyCode::Esc);
    screen.control('u');
    screen.types("see @ex");
    screen.apply(ScreenEvent::Files(["src/example.rs", "README.md"].map(str::to_owned).to_vec()));
    insta::assert_snapshot!("files", screen.drawn());
}

#[test]
fn what_comes_from_outside_cannot_steer_the_terminal() {
    let mut screen = TestScreen::new(80, 24);
    let evil = "a\x1b[2Jb\u{202e}c\rd";
    screen.live(LiveView {
        activity: Some((evil.into(), screen.now)),
        queued: vec![evil.into()],
        calls: vec![LiveCall { about: evil.into(), since: screen.now, lines: vec![evil.into()] }],
        ..LiveView::default()
    });
    let about: LinesOf = Arc::new(move |_| vec![(Emphasis::Strong, evil.into())]);
    let option = QuestionOption { key: 'y', label: evil.into(), answer: QuestionAnswer::Reply("y".into()) };
    let question = ScreenQuestion { head: evil.into(), about, options: vec![option], ..asked(1) };
    screen.apply(ScreenEvent::Ask(question));
    screen.apply(ScreenEvent::Paste(evil.into()));
    let drawn = screen.drawn();
    let steers = |c: char| c != '\n' && crate::escape::is_unsafe(c);
    assert!(!drawn.chars().any(steers), "{drawn:?}");
    insta::assert_snapshot!("outside", drawn);
}

#[test]
fn no_size_panics_or_hides_the_answers() {
    for width in [1, 2, 5, 17, 80] {
        for height in [1, 2, 3, 4, 5, 8, 24] {
            let mut screen = TestScreen::new(width, height);
            at_work(&mut screen);
            screen.types("a text that is longer than the box\nand has lines");
            drop(draw(&screen.state, screen.now));
            screen.apply(ScreenEvent::Ask(asked(50)));
            screen.press(KeyCode::Tab);
            drop(draw(&screen.state, screen.now));
        }
    }
}
