//! Painted text in the cells of a screen.

use ratatui::style::{Color, Modifier, Style as CellStyle};

/// A style after a code that `Style::paint` writes; "0" ends what was in force.
pub fn painted_by(style: CellStyle, code: &str) -> CellStyle {
    match code {
        "0" | "" => CellStyle::new(),
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "3" => style.add_modifier(Modifier::ITALIC),
        "4" => style.add_modifier(Modifier::UNDERLINED),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        "34" => style.fg(Color::Blue),
        "35" => style.fg(Color::Magenta),
        "36" => style.fg(Color::Cyan),
        _ => style,
    }
}
