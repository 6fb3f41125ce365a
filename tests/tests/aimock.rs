//! Against a mock of the providers that is not ours.

use annals_tests::aimock::{Aimock, says};

#[test]
fn the_server_is_ready_when_it_has_started_and_gone_when_it_is_dropped() -> Result<(), Box<dyn std::error::Error>> {
    let Some(server) = Aimock::start(&[says("hello", "Hi there.")])? else { return Ok(()) };
    assert!(server.received()?.is_empty());
    let address = server.url().trim_start_matches("http://").to_owned();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
    Ok(())
}
