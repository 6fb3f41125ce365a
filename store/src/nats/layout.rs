//! The streams of a store.

use super::address::NatsAddress;
use super::api::{Republish, StreamConfig, StreamInfo};
use super::error::NatsError;
use crate::log::Acknowledged;
use annals_core::{Digest, SessionId};
use std::collections::BTreeMap;

/// The number of this layout.
const LAYOUT: &str = "1";
/// The shortest window that servers accept, in nanoseconds: no message is sent with an id.
const NO_DUPLICATES: i64 = 100_000_000;
/// How long a lease lasts that is not renewed.
pub const LEASE_SECONDS: u64 = 15;

/// The names of a store's streams and subjects, and what was chosen when it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreLayout {
    pub name: String,
    pub shards: u32,
    pub replicas: usize,
    pub choice: SyncChoice,
}

/// How it is known that servers flush before they acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncChoice {
    /// By these monitoring addresses.
    Monitors(Vec<String>),
    /// It is not: the user accepted that.
    Unsynced,
}

impl StoreLayout {
    /// The stream that holds a session.
    pub fn shard_of(&self, session: SessionId) -> u32 {
        let [a, b, c, d, ..] = Digest::of(&session.0).0;
        u32::from_be_bytes([a, b, c, d]) % self.shards
    }

    pub fn stream(&self, shard: u32) -> String {
        format!("{}_SESS_{shard}", self.name)
    }

    pub fn subject(&self, session: SessionId) -> String {
        format!("{}.sess.{}.{session}", self.name, self.shard_of(session))
    }

    /// Where the copies of a session without its erased texts are.
    pub fn generation_subject(&self, session: SessionId, generation: &str) -> String {
        format!("{}.{generation}", self.subject(session))
    }

    /// Every subject of a shard.
    pub fn subjects(&self, shard: u32) -> String {
        format!("{}.sess.{shard}.*", self.name)
    }

    /// Where servers announce what they stored.
    pub fn live(&self, session: Option<SessionId>) -> String {
        match session {
            Some(session) => format!("{}.live.{}.{session}", self.name, self.shard_of(session)),
            None => format!("{}.live.*.*", self.name),
        }
    }

    pub fn blob_stream(&self) -> String {
        format!("{}_BLOBS", self.name)
    }

    pub fn lease_bucket(&self) -> String {
        format!("{}_LEASES", self.name)
    }

    pub fn lease_stream(&self) -> String {
        format!("KV_{}", self.lease_bucket())
    }

    pub fn lease_subject(&self, session: SessionId) -> String {
        format!("$KV.{}.{session}", self.lease_bucket())
    }

    /// Every stream as it must be.
    pub fn streams(&self) -> Vec<StreamConfig> {
        let base = StreamConfig {
            storage: "file".into(),
            num_replicas: self.replicas,
            retention: "limits".into(),
            discard: "new".into(),
            max_consumers: -1,
            max_msgs: -1,
            max_bytes: -1,
            max_msgs_per_subject: -1,
            duplicate_window: NO_DUPLICATES,
            allow_direct: true,
            ..StreamConfig::default()
        };
        let mut all: Vec<StreamConfig> = (0..self.shards)
            .map(|shard| StreamConfig {
                name: self.stream(shard),
                subjects: vec![format!("{}.sess.{shard}.>", self.name)],
                allow_atomic: true,
                republish: Some(Republish {
                    src: format!("{}.sess.{shard}.*", self.name),
                    dest: format!("{}.live.{shard}.{{{{wildcard(1)}}}}", self.name),
                    // Followers read what was stored when they hear that something was.
                    headers_only: true,
                }),
                metadata: self.metadata(),
                ..base.clone()
            })
            .collect();
        all.push(StreamConfig {
            name: self.blob_stream(),
            subjects: vec![format!("{}.blob.>", self.name)],
            ..base.clone()
        });
        all.push(StreamConfig {
            name: self.lease_stream(),
            subjects: vec![format!("$KV.{}.>", self.lease_bucket())],
            max_msgs_per_subject: 1,
            allow_rollup_hdrs: true,
            allow_msg_ttl: true,
            ..base
        });
        all
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let sync = match &self.choice {
            SyncChoice::Monitors(monitors) => monitors.join(" "),
            SyncChoice::Unsynced => "unsynced".to_owned(),
        };
        let pairs = [
            ("annals-layout", LAYOUT.to_owned()),
            ("annals-shards", self.shards.to_string()),
            ("annals-replicas", self.replicas.to_string()),
            ("annals-sync", sync),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// What the first stream of a store says about it.
    pub fn read(address: &NatsAddress, first: &StreamInfo) -> Result<Self, NatsError> {
        let wrong = |setting, found: Option<&String>, expected: &str| NatsError::Setting {
            address: Box::new(address.clone()),
            stream: first.config.name.clone(),
            setting,
            found: found.map_or_else(|| "nothing".to_owned(), Clone::clone),
            expected: expected.to_owned(),
            command: format!("annals store create {address} --shards N --replicas N --monitor URL (as it was created)"),
        };
        let get = |key: &str| first.config.metadata.get(key);
        if get("annals-layout").map(String::as_str) != Some(LAYOUT) {
            return Err(wrong("the metadata annals-layout", get("annals-layout"), LAYOUT));
        }
        let number = |key: &'static str| {
            let number =
                get(key).and_then(|value| value.parse::<u32>().ok()).filter(|number| (1..=1024).contains(number));
            number.ok_or_else(|| wrong("its metadata", get(key), "the numbers that annals store create writes"))
        };
        let choice = match get("annals-sync").map(String::as_str) {
            None | Some("") => return Err(wrong("the metadata annals-sync", None, "monitoring addresses or unsynced")),
            Some("unsynced") => SyncChoice::Unsynced,
            Some(monitors) => SyncChoice::Monitors(monitors.split(' ').map(str::to_owned).collect()),
        };
        let (shards, replicas) = (number("annals-shards")?, number("annals-replicas")? as usize);
        Ok(Self { name: address.name.clone(), shards, replicas, choice })
    }

    /// What an acknowledgement means.
    pub fn acknowledged(&self) -> Acknowledged {
        let replicas = u16::try_from(self.replicas).unwrap_or(u16::MAX);
        match self.choice {
            SyncChoice::Monitors(_) => Acknowledged::OnQuorum { replicas },
            SyncChoice::Unsynced => Acknowledged::InQuorumMemory { replicas },
        }
    }

    /// The command that makes the streams as they must be.
    pub fn command(&self, address: &NatsAddress) -> String {
        let sync = match &self.choice {
            SyncChoice::Monitors(monitors) => {
                monitors.iter().map(|monitor| format!(" --monitor {monitor}")).collect::<String>()
            }
            SyncChoice::Unsynced => " --accept-unsynced".to_owned(),
        };
        format!("annals store create {address} --replicas {} --shards {}{sync}", self.replicas, self.shards)
    }

    /// Compares a stream with what it must be.
    ///
    /// # Errors
    /// [`NatsError::Setting`] with the first difference.
    pub fn check(&self, address: &NatsAddress, wanted: &StreamConfig, found: &StreamConfig) -> Result<(), NatsError> {
        let differs = |setting, found: String, expected: String| {
            let command = match setting {
                // What servers do not change in a stream that exists.
                "storage" | "retention" => {
                    "annals copy its sessions to a store that annals store create makes".to_owned()
                }
                _ => self.command(address),
            };
            let (address, stream) = (Box::new(address.clone()), wanted.name.clone());
            match found == expected {
                true => Ok(()),
                false => Err(NatsError::Setting { address, stream, setting, found, expected, command }),
            }
        };
        // A server says "none" or nothing.
        let compression = found.compression.clone().unwrap_or_else(|| "none".to_owned());
        differs("compression", compression, "none".to_owned())?;
        differs("storage", found.storage.clone(), wanted.storage.clone())?;
        differs("replicas", found.num_replicas.to_string(), wanted.num_replicas.to_string())?;
        differs("retention", found.retention.clone(), wanted.retention.clone())?;
        differs("discard", found.discard.clone(), wanted.discard.clone())?;
        differs("max_msgs", found.max_msgs.to_string(), "-1".to_owned())?;
        differs("max_bytes", found.max_bytes.to_string(), "-1".to_owned())?;
        differs("max_age", found.max_age.to_string(), "0".to_owned())?;
        let per_subject = |config: &StreamConfig| config.max_msgs_per_subject.to_string();
        differs("max_msgs_per_subject", per_subject(found), per_subject(wanted))?;
        differs("allow_direct", found.allow_direct.to_string(), "true".to_owned())?;
        differs("subjects", found.subjects.join(" "), wanted.subjects.join(" "))?;
        let republish =
            |config: &StreamConfig| config.republish.as_ref().map_or_else(String::new, |it| it.dest.clone());
        differs("republish", republish(found), republish(wanted))
    }
}
