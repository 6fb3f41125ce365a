//! Providers: models behind HTTP, and recorded ones (DESIGN section 7).
//!
//! [`HttpProvider`] sends the bytes that the turn encoded and that the log names, and nothing else of its own making
//! but headers. Which address and which key belong to a model is the host's to say ([`Endpoints`]).

mod answer;
pub mod cassette;
mod client;
mod endpoint;
mod faults;
mod http;
mod key;
mod lines;
mod post;
mod retry_after;
mod secrets;

pub use cassette::{CassettePlayer, CassetteRecorder};
pub use endpoint::{Endpoint, EndpointError, Endpoints, Limits, OneEndpoint};
pub use http::HttpProvider;
pub use key::KeySource;
