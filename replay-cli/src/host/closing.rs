//! The last words of a run: what it was, what it took, how to go on.

use super::{Ended, JsonLines, advice};
use crate::desk::Desk;
use crate::error::CliError;
use crate::look::{Tone, money, thousands};
use annals_core::SessionId;
use annals_projections::SessionView;
use std::io::Write;

/// How much of an id is shown; it names the Session unless another began in the same few milliseconds.
const SHORT: usize = 12;

/// The beginning of an id that is enough to name it by.
pub fn short(session: SessionId) -> String {
    session.to_string().chars().take(SHORT).collect()
}

/// Says it to a person, beside the answer.
pub fn say(view: &SessionView, ended: &Ended, desk: &Desk) {
    let Some(session) = view.session.id else { return };
    let id = short(session);
    let told = match ended {
        Ended::Idle | Ended::Elsewhere | Ended::Failed(_) => None,
        Ended::Interrupted => Some("interrupted; the Session keeps what there was".to_owned()),
        Ended::Stopped => Some("the turn ended without an answer: a permission was declined".to_owned()),
        Ended::Silent(silence) => Some(silence.sentence().to_owned()),
        Ended::Left => Some("left; what was under way is settled as interrupted when the Session goes on".to_owned()),
    };
    if let Some(told) = told {
        desk.remarks.say(Tone::Warn, &told);
    }
    let dim = |text: &str| desk.remarks.write(&format!("{}\n", desk.remarks.look().paint(Tone::Dim, text)));
    let blank = if desk.shows_progress() { "\n" } else { "" };
    desk.remarks.write(blank);
    dim(&format!("Session {id} · {}", used(view)));
    if desk.shows_progress() {
        dim(&format!("to continue: annals run -s {id} \"…\" · to verify: annals verify {id} --requests --wire"));
    }
}

/// Tokens and cost of a Session, in a few words.
pub fn used(view: &SessionView) -> String {
    let tokens = view.usage.tokens;
    let read = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
    let cached = match tokens.cache_read {
        0 => String::new(),
        cached => format!(" ({} from a cache)", thousands(cached)),
    };
    let written = thousands(tokens.output.saturating_add(tokens.reasoning));
    let cost = if view.usage.cost > 0 { format!(" · {}", money(view.usage.cost)) } else { String::new() };
    format!("{} in{cached}, {written} out{cost}", thousands(read))
}

/// Tells it to a program.
///
/// # Errors
/// When the output refuses.
pub fn in_json(view: &SessionView, ended: &Ended, out: &mut dyn Write) -> Result<(), CliError> {
    let outcome = match ended {
        Ended::Idle => "idle",
        Ended::Elsewhere => "elsewhere",
        Ended::Silent(_) => "empty",
        Ended::Interrupted => "interrupted",
        Ended::Stopped => "stopped",
        Ended::Failed(_) => "failed",
        Ended::Left => "left",
    };
    let told;
    let error = match ended {
        Ended::Failed(error) => {
            told = advice(error, view);
            Some((error.kind(), told.as_str()))
        }
        Ended::Silent(silence) => Some((silence.kind(), silence.sentence())),
        _ => None,
    };
    Ok(JsonLines::end(view, outcome, error, out)?)
}
