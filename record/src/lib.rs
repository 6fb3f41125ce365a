//! Records what coding agents send to models and get back, as sessions.
//!
//! ```text
//!  agent ──► Proxy (loopback) ──► provider           bytes pass unchanged and at once, both ways
//!              │ copies, bounded queue
//!              ▼
//!           Recorder: conversation ─► Thread ─► facts ─► EventLog
//!                     body ─► cut ─► recipe and new pieces (request.recorded)
//!                     answer ─► decoder ─► fragments, calls, usage (answer.recorded)
//! ```
//!
//! The proxy never waits for the log. What the queue cannot take, or the log refuses, is counted and reported at the end; the
//! bytes pass nevertheless. `docs/recording.md` describes the command and the facts.

mod agent;
mod answer;
mod bodies;
mod body;
mod capture;
mod coding;
mod cut;
mod facts;
mod files;
mod headers;
mod peer;
mod proxy;
mod purpose;
mod recorder;
mod thread;

pub use agent::{AgentKind, Launch, LaunchError, RecorderAddresses};
pub use bodies::{BodiesError, RawBodies};
pub use proxy::{Proxy, ProxyError, Upstream};
pub use recorder::{Recorder, RecorderSettings, RecordingReport, SessionRecording};
