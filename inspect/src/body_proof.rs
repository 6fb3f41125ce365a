//! What comparing the body of a request with the digest that was recorded gives.

use annals_providers::wire::RequestBody;

/// The result for the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// None is recorded: nothing was encoded for its model.
    NotRecorded,
    /// The same bytes again.
    Proved(RequestBody),
    /// A recorded body, put together from its pieces: the bytes that were sent.
    Recorded(RequestBody),
    /// A recorded body whose secrets were replaced: it is unchanged since it was recorded. No hash of the sent body is kept,
    /// since guesses of the secrets could be tested with it.
    Redacted(RequestBody),
    /// This build does not know how it was encoded; another may.
    OfAnotherBuild(String),
    /// Other bytes, or none: the reason in words, and the bytes if there are any.
    Differs(String, Option<RequestBody>),
}
