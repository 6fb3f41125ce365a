//! Servers of models on this machine: whether one is there is found out before a Session begins.

use super::HostError;
use annals_core::ModelName;
use annals_runtime::providers::Endpoint;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a server on this machine may take to accept a connection. One that takes longer is asked all the same.
const ACCEPTS: Duration = Duration::from_millis(500);

/// Makes sure that a server on this machine accepts connections, since a Session that nobody answers is of no use. Other
/// servers are not tried: a proxy may lead to them.
///
/// # Errors
/// [`HostError::NoServer`] when each of its addresses refuses.
pub(super) fn answers(model: &ModelName, endpoint: &Endpoint) -> Result<(), HostError> {
    let Some(address) = local(&endpoint.base_url) else { return Ok(()) };
    let found: Vec<SocketAddr> = address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let mut why = None;
    for socket in found.iter().filter(|socket| socket.ip().is_loopback()) {
        match TcpStream::connect_timeout(socket, ACCEPTS) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => why = Some(error.to_string()),
            // It is there, or something else is wrong: whoever asks it learns more.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
    let Some(why) = why else { return Ok(()) };
    let provider = model.as_str().split_once('/').map_or(model.as_str(), |(provider, _)| provider).to_owned();
    Err(HostError::NoServer { model: model.to_string(), provider, address, why })
}

/// Host and port of a URL on this machine; `None` for any other.
fn local(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    let is_local = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let port = host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let port = port.unwrap_or(if scheme == "https" { 443 } else { 80 });
    let bare = if bare.contains(':') { format!("[{bare}]") } else { bare.to_owned() };
    is_local.then(|| format!("{bare}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn only_servers_on_this_machine_are_tried() {
        assert_eq!(local("http://localhost:11434/v1/chat").as_deref(), Some("localhost:11434"));
        assert_eq!(local("http://127.0.0.1/v1").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(local("https://me@[::1]:8443/").as_deref(), Some("[::1]:8443"));
        assert_eq!(
            [local("https://api.example.com/v1"), local("http://10.0.0.1:80"), local("nonsense")],
            [None, None, None]
        );
    }
}
