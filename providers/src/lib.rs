//! Model providers: request bodies and answers of three protocols, the catalog of models, HTTP, cassettes.
//!
//! [`wire`] encodes a request and decodes an answer without any I/O: a body is a function of the log alone, so that a proof
//! needs no network. [`http`] (feature `http`) sends those bytes and adds only headers; [`cassette`] records answers and
//! plays them back; [`recorded`] reads the bodies of other agents; [`catalog`] knows models, prices and limits. The port itself is [`provider::Provider`].
//! Described in `docs/reference/wire.md`.
//!
//! ```text
//! Request ─► wire: encode ─► body ─► Provider ─► bytes ─► wire: Decoder ─► ProviderEvent ─► the turn
//!               ▲                       ├─ http: endpoint, key, retries never
//! catalog ──────┘ (model profile)       └─ cassette: recorded answers, found by the digest of the request
//! ```

pub mod cassette;
pub mod catalog;
#[cfg(feature = "http")]
pub mod http;
mod input;
pub mod provider;
pub mod recorded;
pub mod wire;

pub use cassette::{CassettePlayer, CassetteRecorder};
pub use input::CallInput;
