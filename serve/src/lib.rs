//! `annals serve`: an HTTP API over a store, and the page in the browser that uses it. Described in `docs/serve.md`.
//!
//! Answers are those of `annals-inspect`, as JSON: the same that the command prints with `--json`. The store is only read, unless [`HostedSessions`] are given: they admit prompts and run sessions.
//!
//! ```text
//! browser, program ─► access (Host, Origin, token) ─► routes ─► Service ─► LiveStore ─► Reader ─► annals-inspect
//!                                                      │          questions on threads of their own, a few at a time,
//!                                                      │          each for a limited time (`work`)
//!                                                      ├─► HostedSessions ─► annals-host (only with --write)
//!                                                      ├─► page       web/dist, without a token
//!                                                      └─► openapi    made of the same table of operations
//! ```

mod access;
mod answers;
mod clip;
mod followers;
mod hosting;
mod openapi;
mod operation;
mod page;
mod problem;
mod routes;
mod server;
mod service;
mod token;
mod work;

pub use hosting::HostedSessions;
pub use openapi::document as openapi_document;
pub use problem::ApiProblem;
pub use server::{ApiServer, ServeError, ServerSettings};
pub use token::{ServerToken, TokenError};
