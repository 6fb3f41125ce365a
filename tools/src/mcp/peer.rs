//! A server that answers, in either version of the protocol's lifecycle: with a handshake, or with what every request says
//! of its client (2026-07-28).

use super::connection::{McpConnection, RpcAnswer};
use super::elicitation::Elicitor;
use super::error::McpError;
use super::http::HttpLink;
use super::message::{Discovered, Initialized, InputRequired, Params, RemoteError, params, raw};
use super::settings::McpServer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The version that servers are asked for in a handshake.
const PROTOCOL: &str = "2025-11-25";

/// The versions with a handshake that are understood. They differ in nothing that is used here.
const PROTOCOLS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL];

/// The version without a handshake.
pub(super) const STATELESS: &str = "2026-07-28";

/// How often a server may ask for something before it answers.
const ROUNDS: usize = 10;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpOffer {
    /// The version of the protocol that was agreed on.
    pub protocol: String,
    /// Its own name and version, as far as it says so.
    pub implementation: String,
    /// How it wants to be used, in its words.
    pub instructions: String,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
}

/// A server that answers.
pub(super) struct McpPeer {
    link: ServerLink,
    offer: McpOffer,
    elicitor: Arc<Elicitor>,
    is_stateless: bool,
}

enum ServerLink {
    Program(Box<McpConnection>),
    Http(HttpLink),
}

impl ServerLink {
    async fn request(&self, method: &'static str, params: &Params, within: Duration) -> Result<RpcAnswer, McpError> {
        match self {
            Self::Program(connection) => connection.request(method, params, within).await,
            Self::Http(http) => {
                let answer = timeout(within, http.request(method, params)).await;
                answer.map_err(|_| McpError::Late { method, ms: within.as_millis() })?
            }
        }
    }
}

impl McpPeer {
    /// Starts a server, or connects to it.
    pub(super) async fn connect(
        settings: &McpServer,
        directory: &Path,
        elicitor: &Arc<Elicitor>,
    ) -> Result<Self, McpError> {
        let link = match &settings.http {
            Some(endpoint) => ServerLink::Http(HttpLink::new(settings, endpoint, elicitor.clone())?),
            None => ServerLink::Program(Box::new(McpConnection::start(settings, directory, elicitor.clone())?)),
        };
        let within = settings.start_timeout;
        let asked =
            [("protocolVersion", json!(PROTOCOL)), ("capabilities", elicitor.capabilities()), ("clientInfo", client())];
        let mut peer = Self { link, offer: McpOffer::default(), elicitor: elicitor.clone(), is_stateless: false };
        let refused = match peer.link.request("initialize", &params(asked), within).await {
            Ok(Ok(answer)) => {
                peer.agree(read("initialize", answer.get())?).await?;
                return Ok(peer);
            }
            Ok(Err(RemoteError { code, message })) => McpError::Refused { code, message },
            // Some servers answer a request that they do not know with a status.
            Err(error @ (McpError::Refused { .. } | McpError::Unreachable { .. })) => error,
            Err(error) => return Err(error),
        };
        peer.is_stateless = true;
        if let ServerLink::Http(http) = &peer.link {
            http.agreed(STATELESS);
        }
        match peer.request::<Discovered>("server/discover", Params::new(), within).await {
            Ok(discovered) if discovered.knows(STATELESS) => peer.offer = discovered.offer(STATELESS),
            // What it said first says more.
            _ => return Err(refused),
        }
        Ok(peer)
    }

    async fn agree(&mut self, answer: Initialized) -> Result<(), McpError> {
        let Some(version) = PROTOCOLS.iter().find(|known| **known == answer.protocol_version) else {
            return Err(McpError::Version(answer.protocol_version));
        };
        match &self.link {
            ServerLink::Program(connection) => connection.notify("notifications/initialized").await,
            ServerLink::Http(http) => {
                http.agreed(version);
                http.notify("notifications/initialized").await;
                http.hear();
            }
        }
        self.offer = answer.offer();
        Ok(())
    }

    pub(super) fn offer(&self) -> &McpOffer {
        &self.offer
    }

    /// Whether it has ended, or can no longer be understood.
    pub(super) fn is_closed(&self) -> bool {
        match &self.link {
            ServerLink::Program(connection) => connection.is_closed(),
            ServerLink::Http(http) => http.is_closed(),
        }
    }

    /// Sends a request and waits for the answer. If the caller stops waiting, the server is informed.
    pub(super) async fn request<T: DeserializeOwned>(
        &self,
        method: &'static str,
        mut params: Params,
        within: Duration,
    ) -> Result<T, McpError> {
        if self.is_stateless {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": client(),
                "io.modelcontextprotocol/clientCapabilities": self.elicitor.capabilities(),
            });
            params.insert("_meta".into(), raw(&meta));
        }
        for _ in 0..ROUNDS {
            let answer = self.link.request(method, &params, within).await?;
            let answer = answer.map_err(|RemoteError { code, message }| McpError::Refused { code, message })?;
            let asked = serde_json::from_str::<InputRequired>(answer.get()).ok().filter(InputRequired::is_so);
            let Some(asked) = asked.filter(|_| self.is_stateless) else { return read(method, answer.get()) };
            let mut given = Map::new();
            for (key, request) in asked.input_requests {
                let answer = match request.get("method").and_then(Value::as_str) {
                    Some("elicitation/create") => {
                        self.elicitor.answer(request.get("params").unwrap_or(&Value::Null)).await
                    }
                    _ => json!({"action": "decline"}),
                };
                given.insert(key, answer);
            }
            params.insert("inputResponses".into(), raw(&given));
            if let Some(state) = asked.request_state {
                params.insert("requestState".into(), raw(&state));
            }
        }
        Err(McpError::Invalid { method, why: format!("it asked for something {ROUNDS} times and did not answer") })
    }
}

/// This program.
fn client() -> Value {
    json!({"name": "annals", "version": env!("CARGO_PKG_VERSION")})
}

fn read<T: DeserializeOwned>(method: &'static str, text: &str) -> Result<T, McpError> {
    serde_json::from_str(text).map_err(|error| McpError::Invalid { method, why: error.to_string() })
}
