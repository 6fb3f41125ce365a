//! A provider that gives answers from a list, one per connection, and keeps the bodies that it received.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Status, media type and body of an answer.
pub type Scripted = (u16, &'static str, String);

pub struct Provider {
    pub url: String,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Provider {
    pub fn start(script: impl IntoIterator<Item = Scripted>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (bodies, mut script) = (received.clone(), script.into_iter().collect::<VecDeque<_>>());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = script.pop_front().unwrap_or((400, "text/plain", "the script has ended".to_owned()));
                if let Ok(body) = serve(stream, &answer) {
                    bodies.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                }
            }
        });
        Ok(Self { url, received })
    }

    /// The bodies that it received, oldest first.
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut stream: TcpStream, (status, media, answer): &Scripted) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {}
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    write!(stream, "HTTP/1.1 {status} x\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n{answer}")?;
    stream.flush()?;
    Ok(body)
}
