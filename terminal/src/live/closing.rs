//! The closing lines of a run: its result, its cost, how to continue.

use crate::error::TerminalError;
use crate::remarks::Remarks;
use crate::style::{Emphasis, thousands};
use annals_host::advice::{about_empty, advice};
use annals_host::short;
use annals_inspect::pricing::Cost;
use annals_projections::SessionView;
use annals_runtime::host::{JsonLines, RunEnd};
use std::io::Write;

/// Prints it for the user, in addition to the answer.
pub fn say(view: &SessionView, ended: &RunEnd, remarks: &Remarks) {
    let Some(session) = view.session.id else { return };
    let id = short(session);
    let remark = match ended {
        RunEnd::Idle | RunEnd::Elsewhere | RunEnd::Failed(_) => None,
        RunEnd::Interrupted => Some("interrupted; what arrived is kept".to_owned()),
        RunEnd::Stopped => Some("the turn ended without an answer: a permission was declined".to_owned()),
        RunEnd::Empty(empty) => Some(about_empty(*empty).to_owned()),
        RunEnd::Left => Some("left; what was running is recorded as interrupted when the session continues".to_owned()),
    };
    if let Some(remark) = remark {
        remarks.say(Emphasis::Warn, &remark);
    }
    let dim = |text: &str| remarks.write(&format!("{}\n", remarks.style().paint(Emphasis::Dim, text)));
    let blank = if remarks.are_watched() { "\n" } else { "" };
    remarks.write(blank);
    dim(&format!("session {id} · {}", used(view)));
    if remarks.are_watched() {
        // Two lines, so that no terminal breaks a command that is to be copied.
        dim(&format!("to continue: annals run -s {id} \"…\""));
        dim(&format!("to verify: annals verify {id} --requests --wire"));
    }
}

/// Tokens and cost of a session, in a few words.
pub fn used(view: &SessionView) -> String {
    let tokens = view.usage.tokens;
    let read = tokens.input_tokens();
    let cached = match tokens.cache_read {
        0 => String::new(),
        cached => format!(" ({} from a cache)", thousands(cached)),
    };
    let written = thousands(tokens.output.saturating_add(tokens.reasoning));
    let cost = Cost::of_log(view.usage.cost, view.usage.unpriced > 0).fact();
    let cost = cost.map(|cost| format!(" · {cost}")).unwrap_or_default();
    format!("{} in{cached}, {written} out{cost}", thousands(read))
}

/// Prints it as a JSON line.
pub fn in_json(view: &SessionView, ended: &RunEnd, out: &mut dyn Write) -> Result<(), TerminalError> {
    let message = match ended {
        RunEnd::Failed(error) => advice(error, view),
        RunEnd::Empty(empty) => about_empty(*empty).to_owned(),
        RunEnd::Idle | RunEnd::Elsewhere | RunEnd::Interrupted | RunEnd::Stopped | RunEnd::Left => String::new(),
    };
    Ok(JsonLines::end(view, ended, &message, out)?)
}
