//! What a terminal shows after it was written to, resized and left.

use super::*;

/// A terminal in memory that lines can be scrolled out of.
struct Emulated {
    inline: InlineTerminal<Vec<u8>>,
    parser: vt100::Parser,
}

impl Emulated {
    fn new(rows: u16, columns: u16) -> Self {
        Self { inline: InlineTerminal::new(Vec::new()), parser: vt100::Parser::new(rows, columns, 1_000) }
    }

    fn draw(&mut self, above: &str, screen: &TestScreen) {
        let drawn = self.inline.draw(above, draw(&screen.state, screen.now), screen.state.size.0);
        assert!(drawn.is_ok(), "{drawn:?}");
        self.parser.process(&std::mem::take(self.inline.written()));
    }

    fn contents(&self) -> String {
        let lines: Vec<String> =
            self.parser.screen().contents().lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}

#[test]
fn lines_go_above_and_the_lower_part_stays_where_it_ends() {
    let mut terminal = Emulated::new(10, 40);
    let mut screen = TestScreen::new(40, 10);
    terminal.draw("first\n", &screen);
    screen.types("typed");
    terminal.draw("", &screen);
    let lines: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    terminal.draw(&lines, &screen);
    let contents = terminal.contents();
    assert!(contents.starts_with("line 14\n") && contents.contains("line 20\n────"), "{contents}");
    assert_eq!(contents.matches("typed").count(), 1, "{contents}");
    assert_eq!(terminal.parser.screen().cursor_position(), (8, 7));
    terminal.parser.screen_mut().set_scrollback(14);
    assert!(terminal.contents().starts_with("first\nline 1\n"), "{}", terminal.contents());
}

#[test]
fn a_lower_part_that_shrinks_leaves_nothing_behind() {
    let mut terminal = Emulated::new(20, 60);
    let mut screen = TestScreen::new(60, 20);
    screen.apply(ScreenEvent::Ask(asked(4)));
    terminal.draw("above\n", &screen);
    assert!(terminal.contents().contains("yes, once"));
    screen.apply(ScreenEvent::Settled);
    terminal.draw("", &screen);
    assert_eq!(terminal.contents().lines().count(), 4, "{}", terminal.contents());
    assert!(terminal.inline.erase(60).is_ok());
    terminal.parser.process(&std::mem::take(terminal.inline.written()));
    assert_eq!(terminal.contents().trim_end(), "above");
    assert!(!terminal.parser.screen().hide_cursor());
}

#[test]
fn colours_reach_the_terminal_and_are_ended() {
    let mut terminal = Emulated::new(10, 40);
    let screen = TestScreen::new(40, 10);
    terminal.draw("\x1b[31mred\x1b[0m\n", &screen);
    let shown = terminal.parser.screen();
    assert_eq!(shown.cell(0, 0).map(vt100::Cell::fgcolor), Some(vt100::Color::Idx(1)));
    assert_eq!(shown.cell(2, 0).map(|cell| (cell.contents().to_owned(), cell.bold())), Some(("›".into(), true)));
    assert_eq!(shown.cell(2, 5).map(vt100::Cell::bold), Some(false));
}
