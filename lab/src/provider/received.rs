//! A request as it came.

use serde_json::Value;
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The longest head and body that are read.
const LONGEST: usize = 64 << 20;

/// A request.
pub(super) struct Received {
    /// The first line, without the version.
    pub(super) line: String,
    pub(super) path: String,
    /// The body; `null` if it is not JSON.
    pub(super) body: Value,
}

/// The next request of a connection; `None` at its end.
pub(super) async fn request(stream: &mut TcpStream) -> io::Result<Option<Received>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await?;
        if read == 0 || bytes.len() > LONGEST {
            return Ok(None);
        }
        bytes.extend(more.iter().take(read));
    };
    let mut body = bytes.split_off(head + 4);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let missing = length.unwrap_or(0).min(LONGEST).saturating_sub(body.len());
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).await?;
    body.extend_from_slice(&rest);
    let path = first.split_whitespace().nth(1).unwrap_or_default();
    Ok(Some(Received {
        line: first.rsplit_once(' ').map_or(first, |(line, _)| line).to_owned(),
        path: path.split('?').next().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }))
}
