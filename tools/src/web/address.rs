//! Addresses of pages: the resources that permissions are asked for, and redirects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// The permission action of addresses that are not public, judged before `webfetch`.
pub(super) const PRIVATE: &str = "private_address";

/// The address of a page.
#[derive(Clone, Debug)]
pub(super) struct PageAddress(Url);

impl PageAddress {
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let parsed: Url = url.trim().parse().map_err(|error| format!("{url:?} is not an address: {error}"))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!("only http and https are fetched, not {}", parsed.scheme()));
        }
        if parsed.host().is_none() {
            return Err(format!("{url:?} names no host"));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("an address with a user name or a password is not fetched".into());
        }
        Ok(Self(parsed))
    }

    pub(super) fn url(&self) -> String {
        self.0.to_string()
    }

    pub(super) fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The host, with the port if that is not the usual one.
    pub(super) fn resource(&self) -> String {
        let host = self.0.host_str().unwrap_or_default().trim_end_matches('.');
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Whether the name alone says that it is not public.
    pub(super) fn is_private(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(address)) => is_private(address.into()),
            Some(Host::Ipv6(address)) => is_private(address.into()),
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost"
                    || [".localhost", ".local", ".internal", ".lan", ".home.arpa"].iter().any(|end| name.ends_with(end))
            }
            None => true,
        }
    }

    /// Where it leads. None if it cannot be looked up here and a proxy may know it.
    pub(super) async fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let port = self.0.port_or_known_default().unwrap_or(443);
        match self.0.host() {
            Some(Host::Ipv4(address)) => return Ok(vec![SocketAddr::new(address.into(), port)]),
            Some(Host::Ipv6(address)) => return Ok(vec![SocketAddr::new(address.into(), port)]),
            _ => {}
        }
        let host = self.0.host_str().unwrap_or_default();
        match tokio::net::lookup_host((host, port)).await {
            Ok(found) => Ok(found.collect()),
            Err(_) if is_proxied() => Ok(Vec::new()),
            Err(error) => Err(format!("{host} cannot be looked up: {error}")),
        }
    }
}

fn is_proxied() -> bool {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether an address is none of the public internet.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a == 192 && b == 0 && c == 0)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let embedded = address.to_ipv4_mapped().or_else(|| match address.octets() {
        // The well-known prefix of NAT64, and 6to4.
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, w, x, y, z] => Some(Ipv4Addr::new(w, x, y, z)),
        [0x20, 0x02, w, x, y, z, ..] => Some(Ipv4Addr::new(w, x, y, z)),
        _ => None,
    });
    match embedded {
        Some(address) => is_private_v4(address),
        None => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || (a & 0xfe00) == 0xfc00
                || (a & 0xffc0) == 0xfe80
                || (a & 0xffc0) == 0xfec0
                || (a == 0 && b == 0)
                || (a == 0x64 && b == 0xff9b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_judged_by_its_host_and_an_unusual_port() {
        let resource = |url: &str| PageAddress::of(url).map(|address| address.resource());
        assert_eq!(resource("https://docs.rs/a?b#c").as_deref(), Ok("docs.rs"));
        assert_eq!(resource("http://EXAMPLE.com:8080/").as_deref(), Ok("example.com:8080"));
        for wrong in ["file:///etc/passwd", "ftp://a/b", "http://user:pass@a/", "no address", "http://"] {
            assert!(resource(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_of_local_networks_are_private_in_every_spelling() {
        let private = |url: &str| PageAddress::of(url).is_ok_and(|address| address.is_private());
        for url in [
            "http://localhost",
            "http://a.localhost",
            "http://127.0.0.1",
            "http://2130706433",
            "http://0x7f.1",
            "http://10.1.2.3",
            "http://172.16.0.1",
            "http://192.168.1.1",
            "http://169.254.169.254",
            "http://100.64.0.1",
            "http://0.0.0.0",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]",
            "http://[fd00::1]",
            "http://[fe80::1]",
            "http://[64:ff9b::7f00:1]",
            "http://[2002:7f00:1::]",
            "http://printer.local",
            "http://localhost.",
        ] {
            assert!(private(url), "{url}");
        }
        for url in [
            "http://1.1.1.1",
            "https://docs.rs",
            "http://[2606:4700::1111]",
            "http://172.32.0.1",
            "http://localhost.com",
        ] {
            assert!(!private(url), "{url}");
        }
    }
}
