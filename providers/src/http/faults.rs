//! Failures before and during an answer, each in one sentence that says what to check.

use super::events::Broken;
use crate::provider::{ProviderError, ProviderErrorKind};
use std::error::Error as _;
use std::io;

/// How much of an unexpected answer is shown, in characters.
const SHOWN: usize = 300;

pub(super) fn fault(kind: ProviderErrorKind, message: impl Into<String>) -> ProviderError {
    ProviderError { kind, status: None, retry_after_ms: None, message: message.into() }
}

/// The request was not sent, or no answer came. A connection refused by this machine is final: without a server that
/// listens, a retry would not help.
pub(super) fn unsent(error: &reqwest::Error, at: &str, local: bool) -> ProviderError {
    let refused = causes(error).any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    });
    let message = if error.is_builder() {
        return fault(ProviderErrorKind::InvalidRequest, format!("no request can be made for {at}: {}", cause(error)));
    } else if refused {
        format!("nothing listens at {at}: is the server running, and is the base URL right?")
    } else if error.is_dns() {
        format!("the name in {at} cannot be resolved: is there a network, and is the base URL right?")
    } else if error.is_connect() && error.is_timeout() {
        format!("there was no connection to {at} in time")
    } else if error.is_connect() {
        format!("no connection to {at}: {}", cause(error))
    } else {
        format!("the connection to {at} broke off before an answer came: {}", cause(error))
    };
    let kind = if refused && local { ProviderErrorKind::InvalidRequest } else { ProviderErrorKind::Transport };
    fault(kind, message)
}

/// The answer ended before its end.
pub(super) fn broken(broken: &Broken, at: &str) -> ProviderError {
    let kind = match broken.is_of_size() {
        // Another attempt would bring the same again.
        true => ProviderErrorKind::InvalidRequest,
        false => ProviderErrorKind::IncompleteStream,
    };
    fault(kind, format!("{at}: {broken}"))
}

/// The provider refers to another address.
pub(super) fn redirected(status: u16, to: Option<&str>, at: &str) -> ProviderError {
    let to = to.map_or_else(|| "another address".into(), super::secrets::without_credentials);
    let message = format!("{at} refers to {to}, where no key is carried: if that is right, set the base URL to it");
    ProviderError { status: Some(status), ..fault(ProviderErrorKind::InvalidRequest, message) }
}

/// The answer is something else than a stream of events.
pub(super) fn no_stream(kind: &str, body: &str, at: &str) -> ProviderError {
    let message = if kind == "text/html" {
        format!("{at} answered with a web page instead of a stream of events: is the base URL right?")
    } else {
        let shown: String = body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect();
        format!("{at} answered with {kind} instead of a stream of events: {shown}")
    };
    fault(ProviderErrorKind::InvalidRequest, message)
}

/// What an error goes back to, in words; its own words would show the address with everything in it.
pub(super) fn cause(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason was given".into(), ToString::to_string)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}
