//! A server with the protocols of three providers, and with their failures.

mod answer;
mod fault;
mod received;

pub use fault::{NoProviderFault, ProviderFault};

use answer::{ServedProtocol, pieces};
use fault::Act;
use received::{Received, request};
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a path of no protocol.
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// A call that the provider asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedCall {
    /// The tool.
    pub tool: String,
    /// Its input, as JSON.
    pub input: String,
}

/// A server that answers OpenAI Chat Completions, OpenAI Responses and Anthropic Messages.
///
/// Its answers are a function of the request: a prompt is answered by the calls, one after the other, then by the text. So an agent that
/// is killed and started again meets the same provider. Each request meets the next fault of a list.
#[derive(Clone, Debug)]
pub struct FaultyProvider {
    /// What the requests meet, in order; the ones after the last fault are answered.
    pub faults: Vec<ProviderFault>,
    /// Begin again with the first fault after the last one.
    pub repeat: bool,
    /// The calls before the text.
    pub calls: Vec<ServedCall>,
    /// The text.
    pub text: String,
    /// How long a slow answer waits before each piece.
    pub pause: Duration,
}

/// What a request met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServedRequest {
    /// Its number, from 1.
    pub request: usize,
    /// Its first line.
    pub target: String,
    /// The fault that it met.
    pub fault: &'static str,
}

impl FaultyProvider {
    /// The address to configure as the base URL of a provider.
    ///
    /// # Errors
    /// When the listener has none.
    pub fn base_url(listener: &TcpListener) -> io::Result<String> {
        Ok(format!("http://{}/v1", listener.local_addr()?))
    }

    /// Serves until the future is dropped. `served` is called with each request when it has arrived.
    ///
    /// # Errors
    /// When connections cannot be accepted.
    pub async fn serve(
        self,
        listener: TcpListener,
        served: impl Fn(&ServedRequest) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let shared = Arc::new((self, AtomicUsize::new(0), served));
        loop {
            let (stream, _) = listener.accept().await?;
            let shared = shared.clone();
            tokio::spawn(async move {
                let (provider, count, served) = &*shared;
                // A connection that breaks is the business of the other side.
                drop(provider.connection(stream, count, served).await);
            });
        }
    }

    async fn connection(
        &self,
        mut stream: TcpStream,
        count: &AtomicUsize,
        served: &(impl Fn(&ServedRequest) + Sync),
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        while let Some(received) = request(&mut stream).await? {
            let Some(protocol) = ServedProtocol::of_path(&received.path) else {
                stream.write_all(NOT_FOUND).await?;
                continue;
            };
            let number = count.fetch_add(1, Ordering::AcqRel);
            let fault = self.fault(number);
            served(&ServedRequest { request: number + 1, target: received.line.clone(), fault: fault.name() });
            if !self.answer(&mut stream, protocol, fault, &received).await? {
                return stream.shutdown().await;
            }
        }
        Ok(())
    }

    fn fault(&self, number: usize) -> ProviderFault {
        let at = if self.repeat && !self.faults.is_empty() { number % self.faults.len() } else { number };
        self.faults.get(at).copied().unwrap_or(ProviderFault::None)
    }

    /// Answers; returns whether the connection stays open.
    async fn answer(
        &self,
        stream: &mut TcpStream,
        protocol: ServedProtocol,
        fault: ProviderFault,
        received: &Received,
    ) -> io::Result<bool> {
        let asked = protocol.asked(&received.body);
        let call = self.calls.get(asked.results).map(|call| (call, format!("call_{}", asked.all + 1)));
        let whole = match &call {
            Some((call, id)) => protocol.call(id, &call.tool, &call.input),
            None => protocol.text(&self.text),
        };
        for act in fault.acts(protocol, &pieces(&whole), self.pause) {
            match act {
                Act::Send(bytes) => stream.write_all(&bytes).await?,
                Act::Flood(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                    }
                }
                Act::Wait(time) => tokio::time::sleep(time).await,
                Act::Hang => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                    return Ok(false);
                }
                Act::Close => return Ok(false),
            }
        }
        Ok(true)
    }
}
