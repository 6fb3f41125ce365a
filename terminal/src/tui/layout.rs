//! Where the parts of the screen are.

use ratatui::layout::{Constraint, Layout, Rect};

/// From this width on the timeline is left of the tab.
const WIDE: u16 = 64;
/// From this height on the timeline is above the tab on a narrow screen.
const HIGH: u16 = 14;
/// Columns of the timeline at most.
const TIMELINE: u16 = 56;

/// The parts of a screen. Those for which there is no room have no columns or no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuiLayout {
    /// The first line: what is shown.
    pub head: Rect,
    /// The tabs.
    pub tabs: Rect,
    /// Everything between head and keys: the list, or the help.
    pub body: Rect,
    /// The timeline.
    pub timeline: Rect,
    /// The line between the timeline and the tab.
    pub rule: Rect,
    /// The tab.
    pub page: Rect,
    /// The last line: keys, remarks, what is typed.
    pub keys: Rect,
}

impl TuiLayout {
    /// The parts of a screen of this size.
    pub fn of(area: Rect) -> Self {
        // The content has the last row that there is.
        let (head, keys) = (u16::from(area.height > 1), u16::from(area.height > 2));
        let rows = [Constraint::Length(head), Constraint::Min(0), Constraint::Length(keys)];
        let [head, body, keys] = Layout::vertical(rows).areas(area);
        let tabs = u16::from(body.height > 2);
        let [tabs, main] = Layout::vertical([Constraint::Length(tabs), Constraint::Min(0)]).areas(body);
        let [timeline, rule, page] = if area.width >= WIDE {
            let columns = (area.width.saturating_mul(2) / 5).min(TIMELINE);
            let parts = [Constraint::Length(columns), Constraint::Length(3), Constraint::Min(0)];
            Layout::horizontal(parts).areas(main)
        } else if area.height >= HIGH {
            let parts = [Constraint::Length(main.height / 3), Constraint::Length(1), Constraint::Min(0)];
            Layout::vertical(parts).areas(main)
        } else {
            let none = Rect { width: 0, height: 0, ..main };
            [none, none, main]
        };
        Self { head, tabs, body, timeline, rule, page, keys }
    }
}
