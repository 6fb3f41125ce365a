//! Models behind HTTP.
//!
//! [`HttpProvider`] sends exactly the bytes that were encoded for the request and named in the log. The address and the
//! key of a model are chosen by the host ([`Endpoints`]).

mod answer;
mod client;
mod endpoint;
mod events;
mod exchange;
mod faults;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod key;
mod local_server;
mod page;
mod post;
mod provider;
mod relay;
mod retry_after;
mod secrets;

pub use endpoint::{Endpoint, EndpointError, EndpointLimits, Endpoints, OneEndpoint};
pub use events::ServerEvent;
pub use exchange::{ExchangeError, ExchangeMethod, Exchanged, Exchanges};
pub use key::KeySource;
pub use local_server::{NoLocalServer, check_local_server};
pub use page::{PageAnswer, PageError, PageRequest, page};
pub use provider::{HttpProvider, Now};
pub use relay::{Relay, RelayError, RelayedAnswer};
