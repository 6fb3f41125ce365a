//! Servers of models on this machine: whether one listens is checked before a session begins.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a server on this machine may take to accept a connection. A slower one is used nevertheless.
const ACCEPTS: Duration = Duration::from_millis(500);

/// No server listens at a local address. Start it, or correct the base URL of the provider.
#[derive(Debug, thiserror::Error)]
#[error("no server answers at {address} ({source})")]
pub struct NoLocalServer {
    /// Host and port.
    pub address: String,
    /// What the system reported.
    #[source]
    pub source: io::Error,
}

/// Checks that a server on this machine accepts connections at a base URL. Servers elsewhere are not tried: a proxy may
/// lead to them.
///
/// # Errors
/// When each address of the server refuses.
pub fn check_local_server(base_url: &str) -> Result<(), NoLocalServer> {
    let Some(address) = local(base_url) else { return Ok(()) };
    let found: Vec<SocketAddr> = address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let mut refused = None;
    for socket in found.iter().filter(|socket| socket.ip().is_loopback()) {
        match TcpStream::connect_timeout(socket, ACCEPTS) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => refused = Some(error),
            // It accepts, or fails in another way: its first request shows the reason.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
    refused.map_or(Ok(()), |source| Err(NoLocalServer { address, source }))
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
    use super::{check_local_server, local};

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
    #[test]
    fn a_port_that_nobody_listens_at_refuses_and_one_with_a_listener_does_not() -> std::io::Result<()> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        assert!(check_local_server(&url).is_ok());
        drop(listener);
        let refused = check_local_server(&url).expect_err("nobody listens any more");
        assert!(url.contains(&refused.address), "{refused}");
        Ok(())
    }
}
