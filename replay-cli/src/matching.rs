//! What still matches an expression after texts that match it were withheld or erased.

use crate::command_context::CommandContext;
use annals_core::Seq;

/// How many events are listed.
const LISTED: usize = 20;

/// Names the events that still match in a name or an id, which cannot be erased.
pub fn remark_left(left: &[Seq], cli: &CommandContext) {
    if left.is_empty() {
        return;
    }
    let listed: Vec<String> = left.iter().take(LISTED).map(ToString::to_string).collect();
    let more = left.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let s = if left.len() == 1 { "" } else { "s" };
    cli.remark(&format!(
        "the expression still matches in event{s} {}{more}: in names or ids, which cannot be withheld or erased",
        listed.join(", ")
    ));
}
