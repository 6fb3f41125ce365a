//! Requests to JetStream and their answers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The cluster gave no usable answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The servers answered that it cannot be.
    #[error("{description} (JetStream error {code})")]
    Refused {
        /// `err_code` of JetStream.
        code: u64,
        /// JetStream's description.
        description: String,
    },
    /// No answer came in time, or one that makes no sense: try again.
    #[error("no answer from the cluster: {0}")]
    NoAnswer(String),
}

impl ApiError {
    /// Whether JetStream answered with this number.
    pub fn is(&self, number: u64) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == number)
    }

    /// Whether asking again may help: no answer, no leader, not enough resources yet.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NoAnswer(_) => true,
            // Insufficient resources, no cluster leader, not available, no quorum, peers offline, stream offline.
            Self::Refused { code, .. } if [10008, 10009, 10023, 10004, 10074, 10118].contains(code) => true,
            // No server for a stream: for good, or since servers that were just started have not met yet.
            Self::Refused { code, description } => *code == NO_PEERS && description.contains("offline"),
        }
    }
}

/// No servers can hold a stream.
const NO_PEERS: u64 = 10005;
/// There is no such message.
pub const NO_MESSAGE: u64 = 10037;
/// There is no message of this number.
pub const NO_SUCH_NUMBER: u64 = 10043;
/// A message could not be deleted.
pub const NOT_DELETED: u64 = 10057;
/// There is no such stream.
pub const NO_STREAM: u64 = 10059;
/// The subject's last message is another one.
pub const WRONG_LAST: u64 = 10071;
/// Another message of the subject is on its way.
pub const WRONG_LAST_PENDING: u64 = 10164;

#[derive(Debug, Deserialize)]
pub struct ApiEnvelope {
    pub error: Option<ErrorBody>,
}

#[derive(Debug, Deserialize)]
pub struct ErrorBody {
    #[serde(default)]
    pub err_code: u64,
    #[serde(default)]
    pub description: String,
}

/// The acknowledgement of a message.
#[derive(Debug, Deserialize)]
pub struct PubAck {
    pub stream: String,
    pub seq: u64,
    #[serde(default)]
    pub duplicate: bool,
}

/// Which message is wanted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GetMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_by_subj: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_by_subj: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub struct GotMessage {
    pub message: StoredMessage,
}

/// A message as the leader gives it.
#[derive(Debug, Deserialize)]
pub struct StoredMessage {
    pub subject: String,
    pub seq: u64,
    #[serde(default)]
    pub hdrs: String,
    #[serde(default)]
    pub data: String,
    #[serde(default)]
    pub time: String,
}

/// Which messages of a subject are removed: those before `seq`.
#[derive(Debug, Serialize)]
pub struct Purge {
    pub filter: String,
    pub seq: u64,
}

/// Which message is overwritten and removed.
#[derive(Debug, Serialize)]
pub struct DeleteMessage {
    pub seq: u64,
}

#[derive(Debug, Default, Serialize)]
pub struct AskInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects_filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
}

/// A stream.
#[derive(Debug, Deserialize)]
pub struct StreamInfo {
    pub config: StreamConfig,
    pub state: StreamState,
    #[serde(default)]
    pub cluster: Option<StreamPeers>,
    #[serde(default)]
    pub total: usize,
}

#[derive(Debug, Deserialize)]
pub struct StreamState {
    pub last_seq: u64,
    #[serde(default)]
    pub subjects: Option<BTreeMap<String, u64>>,
}

/// The servers of a stream.
#[derive(Debug, Default, Deserialize)]
pub struct StreamPeers {
    #[serde(default)]
    pub leader: Option<String>,
    #[serde(default)]
    pub replicas: Option<Vec<StreamPeer>>,
}

#[derive(Debug, Deserialize)]
pub struct StreamPeer {
    pub name: String,
    #[serde(default)]
    pub current: bool,
    #[serde(default)]
    pub offline: bool,
    #[serde(default)]
    pub lag: u64,
}

/// How a stream is configured: what matters here, in the words of JetStream.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct StreamConfig {
    pub name: String,
    #[serde(default)]
    pub subjects: Vec<String>,
    pub storage: String,
    pub num_replicas: usize,
    pub retention: String,
    pub discard: String,
    #[serde(default = "unlimited")]
    pub max_consumers: i64,
    #[serde(default = "unlimited")]
    pub max_msgs: i64,
    #[serde(default = "unlimited")]
    pub max_bytes: i64,
    #[serde(default)]
    pub max_age: i64,
    #[serde(default = "unlimited")]
    pub max_msgs_per_subject: i64,
    #[serde(default)]
    pub duplicate_window: i64,
    #[serde(default)]
    pub allow_direct: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_rollup_hdrs: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_atomic: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_msg_ttl: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deny_delete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub republish: Option<Republish>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Republish {
    pub src: String,
    pub dest: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub headers_only: bool,
}

const fn unlimited() -> i64 {
    -1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_have_not_met_yet_are_waited_for_and_missing_ones_are_not() {
        let refused = |description: &str| ApiError::Refused { code: NO_PEERS, description: description.to_owned() };
        assert!(refused("no suitable peers for placement, peer offline").is_passing());
        assert!(!refused("no suitable peers for placement, insufficient storage").is_passing());
    }
}
