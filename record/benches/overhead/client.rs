//! An agent: sends a body over one connection, and notes when the events of the answer arrive.

use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Client(TcpStream);

/// What came back.
pub struct Answer {
    /// From the end of the request to the first byte.
    pub first: Duration,
    /// When each event arrived.
    pub events: Vec<Instant>,
    pub bytes: usize,
}

impl Client {
    pub async fn connect(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    pub async fn send(&mut self, path: &str, body: &str) -> std::io::Result<Answer> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body.as_bytes()].concat();
        let began = Instant::now();
        self.0.write_all(&request).await?;
        let mut answer = Answer { first: Duration::ZERO, events: Vec::new(), bytes: 0 };
        let (mut piece, mut tail) = (vec![0; 64 << 10], Vec::new());
        loop {
            let read = self.0.read(&mut piece).await?;
            let now = Instant::now();
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if answer.bytes == 0 {
                answer.first = now - began;
            }
            answer.bytes += read;
            let got = piece.get(..read).unwrap_or_default();
            let events = got.windows(6).filter(|window| window == b"data: ").count();
            answer.events.extend(std::iter::repeat_n(now, events));
            tail.extend_from_slice(got);
            if tail.ends_with(b"\r\n0\r\n\r\n") {
                return Ok(answer);
            }
            tail.drain(..tail.len().saturating_sub(16));
        }
    }
}
