//! Why nothing is served.

use annals_serve::{ServeError, TokenError};

/// Nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// The address is taken, or can be reached from other machines.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A session file is never changed.
    #[error("a file is only read; import it to continue its session, and start annals serve --write without it")]
    FileIsRead,
    /// The file gives no token.
    #[error(transparent)]
    Token(#[from] TokenError),
}
