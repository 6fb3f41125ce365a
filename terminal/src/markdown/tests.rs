use super::*;
use annals_core::Time;
use jiff::tz::TimeZone;

fn style(colour: bool) -> Style {
    Style { width: 80, colour, json: false, markdown: true, zone: TimeZone::UTC, now: Time(0) }
}

const ANSWER: &str = "# Result\n\nThe *total* is **42**, see `report.md`:\n\n1. bolts\n   - M4\n2. nuts\n\n```sh\nawk -F, '{s+=$2}' *.csv\n```\n\n| item | n |\n|---|---|\n| bolts | 12 |\n";

#[test]
fn headings_lists_code_and_tables_are_drawn() {
    let lines = lines(ANSWER, 40, &style(false));
    let wanted = [
        "# Result",
        "",
        "The *total* is **42**, see `report.md`:",
        "",
        "1. bolts",
        "   • M4",
        "2. nuts",
        "",
        "  awk -F, '{s+=$2}' *.csv",
        "",
        "item  │ n",
        "──────┼───",
        "bolts │ 12",
    ];
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(lines, wanted);
}

#[test]
fn marks_become_colours_where_there_are_colours() {
    let (style, lines) = (style(true), lines("**42** in `a.md`", 40, &style(true)));
    let wanted = format!("{} in {}", style.paint(Emphasis::Strong, "42"), style.paint(Emphasis::Code, "a.md"));
    assert_eq!(lines, [wanted]);
}

#[test]
fn what_is_no_markdown_stays_as_it_was_written() {
    for text in
        ["snake_case_name and 2 * 3 * 4", "<result>\n  a < b\n</result>", "a line\nand another", "~/.claude, ~5"]
    {
        assert_eq!(lines(text, 60, &style(true)).join("\n"), text);
    }
}

#[test]
fn lines_are_broken_at_blanks_and_keep_the_indentation_of_their_item() {
    assert_eq!(lines("- one two three four", 12, &style(false)), ["• one two", "  three four"]);
    assert_eq!(
        lines("see /a/very/long/path/indeed there", 12, &style(false)),
        ["see", "/a/very/long/path/indeed", "there"]
    );
}

/// A text that comes one character at a time, as plain text.
fn streamed(text: &str, style: &Style) -> Vec<(Emphasis, String)> {
    let mut stream = MarkdownStream::default();
    let mut all: Vec<(Emphasis, String)> = Vec::new();
    let mut pieces: Vec<_> = text.chars().flat_map(|c| stream.take(&c.to_string(), 40, style)).collect();
    pieces.extend(stream.rest(40, style));
    for MarkdownPiece { emphasis, text, .. } in pieces {
        match all.last_mut() {
            Some((last, so_far)) if *last == emphasis => so_far.push_str(&text),
            _ => all.push((emphasis, text)),
        }
    }
    all
}

#[test]
fn a_stream_is_painted_as_soon_as_its_marks_are_read() {
    let pieces = streamed("## Done\n- the **total**: `42`\n", &style(true));
    let wanted = [
        (Emphasis::Strong, "Done"),
        (Emphasis::Plain, "\n"),
        (Emphasis::Dim, "• "),
        (Emphasis::Plain, "the "),
        (Emphasis::Strong, "total"),
        (Emphasis::Plain, ": "),
        (Emphasis::Code, "42"),
        (Emphasis::Plain, "\n"),
    ];
    assert_eq!(pieces, wanted.map(|(emphasis, text)| (emphasis, text.to_owned())));
}

#[test]
fn a_stream_loses_no_character_that_is_not_a_mark() {
    let text = |text: &str| streamed(text, &style(true)).into_iter().map(|(_, text)| text).collect::<String>();
    assert_eq!(text("2 * 3 * 4\n**open\nsnake_case `"), "2 * 3 * 4\nopen\nsnake_case `");
    assert_eq!(text("```sh\n# no heading\n  *.csv | `x`\n```\nafter"), "# no heading\n  *.csv | `x`\nafter");
    assert_eq!(text("-no list\n#1 is\n--\n``a``"), "-no list\n#1 is\n--\na");
    let table = streamed("| a | b |\n|---|---|\n| 1 | 2 |\nend", &style(false));
    let table: String = table.into_iter().map(|(_, text)| text).collect();
    assert_eq!(table, "a │ b\n──┼──\n1 │ 2\nend");
}
