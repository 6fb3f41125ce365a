//! A failed run in words: what happened, and what to do.

use annals_runtime::ports::ProviderErrorKind;
use annals_runtime::{LogError, RunError};

/// One or two sentences: what happened to a run on `model`, and what to do about it.
pub fn advice(error: &RunError, model: &str) -> String {
    match error {
        RunError::Provider { kind, message } => {
            let message = message.trim();
            let stop = if message.ends_with(['.', '?', '!']) { "" } else { "." };
            match hint(*kind) {
                Some(hint) => format!("{model}: {message}{stop} {hint}"),
                None => format!("{model}: {message}{stop}"),
            }
        }
        RunError::UnknownModel(model) => {
            format!("no model is called {model}: `annals models` lists what there is, --model chooses one")
        }
        RunError::Reconcile(_) | RunError::AgentReplacementBlocked { .. } => {
            format!("{error}; the input waits in the Session, and `annals run -c` tries again")
        }
        RunError::Log(LogError::Append(_)) => format!(
            "{error}; what was shown as done stands in the log. Once it can be written again, `annals run -c` goes on"
        ),
        other => other.to_string(),
    }
}

fn hint(kind: ProviderErrorKind) -> Option<&'static str> {
    Some(match kind {
        ProviderErrorKind::Authentication => "Check the key: `annals models` says where it is taken from.",
        ProviderErrorKind::RateLimit | ProviderErrorKind::ProviderInternal => {
            "The provider did not answer after several attempts; `annals run -c` tries again."
        }
        ProviderErrorKind::Transport => "`annals config show` tells the address; `annals run -c` tries again.",
        ProviderErrorKind::Overflow => {
            "The request does not fit the model: choose a model with a larger context by --model, or begin a new Session."
        }
        ProviderErrorKind::ContentFilter => "A filter of the provider refused it; put it in other words.",
        ProviderErrorKind::IncompleteStream => "What arrived is kept; `annals run -c` goes on from there.",
        ProviderErrorKind::InvalidRequest => return None,
    })
}
