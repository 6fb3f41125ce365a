//! A run without an answer, in words: what happened, and what to do.

use annals_core::event::Purpose;
use annals_projections::SessionView;
use annals_runtime::host::EmptyAnswer;
use annals_runtime::ports::ProviderErrorKind;
use annals_runtime::{LogError, RunError};

/// One or two sentences: what happened to the run that `view` ends with, and what to do about it.
pub fn advice(error: &RunError, view: &SessionView) -> String {
    let model = &view.session.model;
    match error {
        RunError::Provider { kind, message, .. } => {
            let message = message.trim();
            let stop = if message.ends_with(['.', '?', '!']) { "" } else { "." };
            match hint(*kind, attempts(view)) {
                Some(hint) => format!("{model}: {message}{stop} {hint}"),
                None => format!("{model}: {message}{stop}"),
            }
        }
        RunError::UnknownModel(model) => {
            format!("no model named {model} is configured: `annals models` lists models, --model chooses one")
        }
        RunError::Reconcile(_) | RunError::AgentReplacementBlocked { .. } => {
            format!("{error}; the input waits in the session; to try again: `annals run -c`")
        }
        RunError::TooLarge(_) => format!(
            "{error}. Shorten or unpin what is large (`annals history`), undo the prompt (`annals revert`), or choose a model with a \
             larger context by --model"
        ),
        RunError::WindowTooSmall { .. } => {
            format!("{error}; shorten the instructions (AGENTS.md), or choose a model with a larger context by --model")
        }
        RunError::StepLimit(_) => {
            format!("{error}; to continue: `annals run -c`. `max_steps` and --max-steps set the limit")
        }
        RunError::Repeated { .. } => format!("{error}; say what to do instead: `annals run -c \"...\"`"),
        RunError::Log(LogError::Append(_)) => format!(
            "{error}; what was shown as done is in the log. To continue once it can be written again: `annals run -c`"
        ),
        other => other.to_string(),
    }
}

/// What an answer without text means, and what to do about it.
pub const fn about_empty(answer: EmptyAnswer) -> &'static str {
    match answer {
        EmptyAnswer::Empty => "the model returned an empty answer; to ask again: `annals run -c \"...\"`",
        EmptyAnswer::Refused => {
            "the model or a content filter of its provider refused without a message; rephrase the request, or \
             choose another model with --model"
        }
        EmptyAnswer::Limit => {
            "the model reached its output limit before it wrote an answer; raise `models.NAME.output`, or lower its \
             reasoning effort"
        }
    }
}

/// How many attempts the last request took.
fn attempts(view: &SessionView) -> u32 {
    view.requests
        .marks
        .iter()
        .rfind(|mark| !matches!(mark.purpose, Purpose::Title | Purpose::Other))
        .map_or(1, |mark| mark.attempt)
}

fn hint(kind: ProviderErrorKind, attempts: u32) -> Option<String> {
    Some(match kind {
        ProviderErrorKind::Authentication => "Check the key: `annals models` says where it is taken from.".into(),
        ProviderErrorKind::Quota => {
            "The account has no quota or credit left: check plan and billing at the provider, or choose another model by \
             --model."
                .into()
        }
        ProviderErrorKind::RateLimit | ProviderErrorKind::ProviderInternal => {
            format!("{}; to try again: `annals run -c`.", tried(attempts))
        }
        ProviderErrorKind::Transport => {
            format!("{}. `annals config show` shows the address; to try again: `annals run -c`.", tried(attempts))
        }
        ProviderErrorKind::Overflow => {
            "The request is too large for the model: choose one with a larger context by --model, or start a new session."
                .into()
        }
        ProviderErrorKind::ContentFilter => "A content filter of the provider refused the request; rephrase it.".into(),
        ProviderErrorKind::IncompleteStream | ProviderErrorKind::Violation => {
            format!("{}. What arrived is kept; to continue: `annals run -c`.", tried(attempts))
        }
        ProviderErrorKind::InvalidRequest => return None,
    })
}

/// What was tried.
fn tried(attempts: u32) -> String {
    match attempts {
        0 | 1 => "It was tried once".into(),
        attempts => format!("It was tried {attempts} times"),
    }
}
