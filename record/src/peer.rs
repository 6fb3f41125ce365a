//! Whose program is at the other end of a connection of this machine.

use std::net::{IpAddr, SocketAddr};

/// Whether a program of this user, or of the administrator, holds the end `peer` of a connection to `local`. `false` also where the
/// system does not say: see [`is_known`].
pub(crate) fn is_own(peer: SocketAddr, local: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let table = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let user = std::fs::read_to_string(table).ok().and_then(|table| user_in(&table, peer, local));
    user.is_some_and(|user| user == own || user == 0)
}

/// Whether this system says whose a connection is.
pub(crate) fn is_known() -> bool {
    std::fs::metadata("/proc/net/tcp").is_ok()
}

/// The user who has the socket `peer` that is connected to `local`, by the table of the system.
fn user_in(table: &str, peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let (peer, local) = (written(peer), written(local));
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = fields.filter(|fields| fields.get(1) == Some(&&*peer) && fields.get(2) == Some(&&*local));
    found.filter_map(|fields| fields.get(7)?.parse().ok()).next()
}

/// An address as the table has it: words of 32 bits as they are in memory, in hexadecimal.
fn written(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (words, _) = octets.as_chunks::<4>();
    let words: String = words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect();
    format!("{words}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    #[cfg(target_endian = "little")]
    fn the_table_says_who_has_the_other_end() -> Result<(), std::net::AddrParseError> {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n   \
            1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2\n";
        let (peer, local) = ("127.0.0.1:54321".parse()?, "127.0.0.1:8080".parse()?);
        assert_eq!(user_in(table, peer, local), Some(1001));
        assert_eq!(user_in(table, local, peer), None);
        assert_eq!(written("[::1]:80".parse()?), "00000000000000000000000001000000:0050");
        Ok(())
    }

    #[test]
    fn a_connection_of_this_process_is_its_own() -> std::io::Result<()> {
        if !is_known() {
            return Ok(());
        }
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let _client = TcpStream::connect(listener.local_addr()?)?;
            let (accepted, peer) = listener.accept()?;
            assert!(is_own(peer, accepted.local_addr()?), "{address}");
        }
        Ok(())
    }
}
