//! What the monitoring port of a server says: whether it flushes before it acknowledges.

use serde::Deserialize;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// The longest answer, in bytes.
const LONGEST: u64 = 4 << 20;

/// What a server says about itself.
#[derive(Debug, Deserialize)]
pub struct ServerState {
    pub version: String,
    #[serde(default)]
    pub server_name: String,
    #[serde(default)]
    pub jetstream: JetStreamState,
}

#[derive(Debug, Default, Deserialize)]
pub struct JetStreamState {
    #[serde(default)]
    pub config: Option<JetStreamConfig>,
}

#[derive(Debug, Deserialize)]
pub struct JetStreamConfig {
    #[serde(default)]
    pub sync_always: bool,
}

/// Asks `URL/varz`. The address has the form `http://HOST:PORT`.
///
/// # Errors
/// A sentence that says why there is no answer.
pub async fn state(url: &str) -> Result<ServerState, String> {
    let host = url.strip_prefix("http://").map(|host| host.trim_end_matches('/'));
    let plain = |host: &&str| !host.is_empty() && !host.contains(['/', '@', '\r', '\n', ' ']);
    let host = host.filter(plain).ok_or_else(|| format!("\"{url}\" is not http://HOST:PORT"))?;
    let ask = async {
        let mut stream = TcpStream::connect(host).await?;
        let request = format!("GET /varz HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(LONGEST).read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(ANSWER, ask).await.map_err(|_| format!("{url} does not answer"))?;
    let answer = answer.map_err(|error| format!("{url}: {error}"))?;
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").map_or(&answer[..0], |at| &answer[at + 4..]);
    serde_json::from_slice(body).map_err(|_| format!("{url}/varz is not what a NATS server answers"))
}
