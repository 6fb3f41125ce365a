//! Ctrl-C and requests to end.

use std::io;
use tokio::signal::unix::{self, SignalKind, signal};

/// A request of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C: the first interrupts the turn, the second leaves.
    Interrupt,
    /// SIGTERM, or the terminal is gone: interrupt, stop, leave.
    End,
}

/// Where they arrive. From then on they end the process no more.
#[derive(Debug)]
pub struct Signals {
    interrupt: unix::Signal,
    end: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            end: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.end.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::End,
        }
    }
}
