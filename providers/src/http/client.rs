//! Connections: TLS with the system's certificates, the system's proxies, no redirects.

use reqwest::{Client, Url, redirect, retry};
use std::collections::BTreeMap;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// Clients by what cannot be said per request. Each keeps its connections for the next turn.
#[derive(Default)]
pub(super) struct Clients(Mutex<BTreeMap<(Duration, bool), Client>>);

impl Clients {
    /// The client for an address.
    pub(super) fn client(&self, url: &Url, connect: Duration) -> Result<Client, reqwest::Error> {
        let local = is_local(url);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&(connect, local)) {
            return Ok(client.clone());
        }
        let client = build(connect, local)?;
        clients.insert((connect, local), client.clone());
        Ok(client)
    }
}

fn build(connect: Duration, local: bool) -> Result<Client, reqwest::Error> {
    let client = builder(connect).user_agent(concat!("annals/", env!("CARGO_PKG_VERSION")));
    finished(client, local)
}

/// A client that adds nothing to a request.
pub(super) fn plain(connect: Duration, local: bool) -> Result<Client, reqwest::Error> {
    finished(builder(connect), local)
}

/// Chooses the implementation of TLS, once.
pub(super) fn install_tls() {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that the host has chosen one already, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

fn builder(connect: Duration) -> reqwest::ClientBuilder {
    install_tls();
    Client::builder()
        .connect_timeout(connect)
        // A redirect would carry the key and the conversation to an address that is not configured.
        .redirect(redirect::Policy::none())
        // Attempts are recorded in the log, so the client must not retry by itself.
        .retry(retry::never())
}

fn finished(client: reqwest::ClientBuilder, local: bool) -> Result<Client, reqwest::Error> {
    match local {
        // What runs on this machine is reached without a proxy, and needs no certificates of the system to be there.
        true => client.no_proxy().tls_certs_only([]).build(),
        false => client.build(),
    }
}

/// Whether an address is plain HTTP on this machine.
pub(super) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "http" && (loopback || host == "localhost" || host.ends_with(".localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_this_machine_are_local() {
        let local = |url: &str| Url::parse(url).is_ok_and(|url| is_local(&url));
        assert!(
            ["http://localhost:1", "http://127.0.0.1/v1", "http://[::1]:80", "http://a.localhost"]
                .into_iter()
                .all(local)
        );
        assert!(
            !["https://localhost", "http://localhost.evil", "http://10.0.0.1", "http://host"].into_iter().any(local)
        );
    }
}
