//! A provider that streams an answer of events, each with a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub struct Provider {
    pub address: String,
    sent: Arc<Mutex<Vec<Instant>>>,
}

/// What an answer of so many events says.
pub fn text(events: usize) -> String {
    (0..events).map(|at| format!("word{at} of the answer, ")).collect()
}

/// The events of an answer.
fn events(count: usize) -> Vec<String> {
    let usage = r#"{"input_tokens":10,"output_tokens":1}"#;
    let mut events = vec![
        format!(r#"{{"type":"message_start","message":{{"id":"m","usage":{usage}}}}}"#),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
    ];
    let delta = |at: usize| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"word{at} of the answer, "}}}}"#
        )
    };
    events.extend((0..count).map(delta));
    events.push(r#"{"type":"content_block_stop","index":0}"#.to_owned());
    events.push(format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#));
    events.push(r#"{"type":"message_stop"}"#.to_owned());
    events.into_iter().map(|event| format!("data: {event}\n\n")).collect()
}

impl Provider {
    /// Answers with so many events, with a pause between them.
    pub async fn start(count: usize, pause: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let sent: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let (times, events) = (sent.clone(), Arc::new(events(count)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, events.clone(), pause, times.clone()));
            }
        });
        Ok(Self { address, sent })
    }

    /// When the events of the newest answer were sent.
    pub fn sent(&self) -> Vec<Instant> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(
    stream: TcpStream,
    events: Arc<Vec<String>>,
    pause: Duration,
    times: Arc<Mutex<Vec<Instant>>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        stream.read_exact(&mut vec![0; length]).await?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        times.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // Without a pause several events come in one piece.
        let together = if pause.is_zero() { 50 } else { 1 };
        for events in events.chunks(together) {
            let piece = events.concat();
            times.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await?;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        stream.write_all(b"0\r\n\r\n").await?;
    }
}
