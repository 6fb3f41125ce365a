//! Creating the streams of a store, and checking them at every opening.

use super::address::NatsAddress;
use super::api::{ApiError, AskInfo, NO_STREAM, StreamConfig, StreamInfo};
use super::connection::NatsConnection;
use super::error::NatsError;
use super::layout::{StoreLayout, SyncChoice};
use super::log::NatsOptions;
use super::monitor;
use crate::log::Acknowledged;
use serde::de::IgnoredAny;

/// The oldest server, as major and minor version.
const OLDEST: (u64, u64) = (2, 12);

/// How a store is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsCreate {
    /// Replicas of each batch; default: as the store has it, else 3.
    pub replicas: Option<usize>,
    /// Over how many streams sessions are spread, which does not change later; otherwise as the store has it, else 8.
    pub shards: Option<u32>,
    /// Monitoring addresses of the servers (`http://HOST:8222`); without any, and without `accept_unsynced`, as the store has it.
    pub monitors: Vec<String>,
    /// Whether servers may acknowledge before they flush.
    pub accept_unsynced: bool,
}

/// Replicas of a batch by default.
const REPLICAS: usize = 3;
/// Over how many streams a store is spread unless it is said.
const SHARDS: u32 = 8;

/// What creating did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsCreated {
    /// Replicas of each batch.
    pub replicas: usize,
    /// Over how many streams sessions are spread.
    pub shards: u32,
    /// What an acknowledgement means.
    pub acknowledged: Acknowledged,
    /// Streams that were created.
    pub created: usize,
    /// Streams that existed and were changed.
    pub changed: usize,
}

/// Creates the streams of a store, or makes those that exist as they must be. No batch is touched.
pub async fn create(
    address: &NatsAddress,
    wanted: &NatsCreate,
    options: NatsOptions,
) -> Result<NatsCreated, NatsError> {
    let connection = NatsConnection::open(address, options.notice).await?;
    check_version(address, &connection.client.server_info().version)?;
    let first = format!("{}_SESS_0", address.name);
    let exists = info(address, &connection, &first).await?;
    let exists = exists.and_then(|exists| StoreLayout::read(address, &exists).ok());
    let choice = match (wanted.accept_unsynced, wanted.monitors.as_slice(), &exists) {
        (true, ..) => SyncChoice::Unsynced,
        (false, [], Some(exists)) => exists.choice.clone(),
        (false, monitors, _) => SyncChoice::Monitors(monitors.to_vec()),
    };
    let replicas = wanted.replicas.or(exists.as_ref().map(|exists| exists.replicas)).unwrap_or(REPLICAS);
    let shards = wanted.shards.or(exists.as_ref().map(|exists| exists.shards)).unwrap_or(SHARDS);
    if !(1..=5).contains(&replicas) || !(1..=1024).contains(&shards) {
        let reason = "a store has 1 to 5 replicas and 1 to 1024 shards";
        return Err(NatsError::Numbers { address: Box::new(address.clone()), reason });
    }
    let layout = StoreLayout { name: address.name.clone(), shards, replicas, choice };
    check_sync(address, &layout.choice).await?;
    if let Some(exists) = exists.filter(|exists| exists.shards != shards) {
        return Err(NatsError::Setting {
            address: Box::new(address.clone()),
            stream: first,
            setting: "shards",
            found: exists.shards.to_string(),
            expected: shards.to_string(),
            command: format!(
                "annals store create a store of another name, then annals copy --from {address} --to that store"
            ),
        });
    }
    let (mut created, mut changed) = (0, 0);
    for mut config in layout.streams() {
        let verb = match info(address, &connection, &config.name).await? {
            None => "CREATE",
            Some(found)
                if layout.check(address, &config, &found.config).is_ok() && has_metadata(&config, &found.config) =>
            {
                continue;
            }
            Some(found) => {
                // Servers do not take that back.
                config.deny_delete = found.config.deny_delete;
                "UPDATE"
            }
        };
        let subject = format!("$JS.API.STREAM.{verb}.{}", config.name);
        let done: Result<IgnoredAny, ApiError> = connection.ask(&subject, &config).await;
        done.map_err(|error| refused(address, &config.name, &error))?;
        *(if verb == "CREATE" { &mut created } else { &mut changed }) += 1;
    }
    let acknowledged = layout.acknowledged();
    Ok(NatsCreated { replicas, shards, acknowledged, created, changed })
}

fn has_metadata(wanted: &StreamConfig, found: &StreamConfig) -> bool {
    wanted.metadata.iter().all(|(key, value)| found.metadata.get(key) == Some(value))
}

/// Reads what a store is, and refuses one that could lose or hide what it acknowledges.
pub async fn check(address: &NatsAddress, connection: &NatsConnection) -> Result<StoreLayout, NatsError> {
    check_version(address, &connection.client.server_info().version)?;
    let first = info(address, connection, &format!("{}_SESS_0", address.name)).await?;
    let first = first.ok_or_else(|| NatsError::NoStore { address: Box::new(address.clone()) })?;
    let layout = StoreLayout::read(address, &first)?;
    let streams = layout.streams();
    let names = streams.iter().map(|wanted| info(address, connection, &wanted.name));
    for (wanted, found) in streams.iter().zip(futures_util::future::join_all(names).await) {
        let found = found?.ok_or_else(|| NatsError::Setting {
            address: Box::new(address.clone()),
            stream: wanted.name.clone(),
            setting: "the stream",
            found: "nothing".into(),
            expected: "there".into(),
            command: layout.command(address),
        })?;
        layout.check(address, wanted, &found.config)?;
    }
    check_sync(address, &layout.choice).await?;
    Ok(layout)
}

async fn info(
    address: &NatsAddress,
    connection: &NatsConnection,
    stream: &str,
) -> Result<Option<StreamInfo>, NatsError> {
    match connection.ask(&format!("$JS.API.STREAM.INFO.{stream}"), &AskInfo::default()).await {
        Ok(info) => Ok(Some(info)),
        Err(error) if error.is(NO_STREAM) => Ok(None),
        Err(error) => Err(refused(address, stream, &error)),
    }
}

fn refused(address: &NatsAddress, stream: &str, error: &ApiError) -> NatsError {
    NatsError::Refused { address: Box::new(address.clone()), reason: format!("stream {stream}: {error}") }
}

fn check_version(address: &NatsAddress, version: &str) -> Result<(), NatsError> {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse::<u64>().ok());
    let found = (numbers.next().flatten(), numbers.next().flatten());
    match found {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        _ => Err(NatsError::Version { address: Box::new(address.clone()), found: version.to_owned() }),
    }
}

/// Asks every monitor: each that answers must flush before it acknowledges, and one must answer.
async fn check_sync(address: &NatsAddress, choice: &SyncChoice) -> Result<(), NatsError> {
    let SyncChoice::Monitors(monitors) = choice else { return Ok(()) };
    let unsynced = |reason: String| NatsError::Unsynced { address: Box::new(address.clone()), reason };
    if monitors.is_empty() {
        return Err(unsynced("it is not known whether servers flush before they acknowledge; name their monitoring addresses: --monitor http://HOST:8222".into()));
    }
    let answers = futures_util::future::join_all(monitors.iter().map(|url| monitor::state(url))).await;
    let mut silent = Vec::new();
    for (url, answer) in monitors.iter().zip(answers) {
        match answer {
            Ok(state) => {
                check_version(address, &state.version)?;
                if !state.jetstream.config.as_ref().is_some_and(|config| config.sync_always) {
                    return Err(unsynced(format!(
                        "server {} ({url}) does not flush before it acknowledges",
                        state.server_name
                    )));
                }
            }
            Err(reason) => silent.push(reason),
        }
    }
    match silent.len() == monitors.len() {
        true => Err(unsynced(format!("no monitoring address answers ({})", silent.join("; ")))),
        false => Ok(()),
    }
}

/// Removes a store with everything in it: for temporary ones.
///
/// # Errors
/// When the servers cannot be reached, or refuse.
pub async fn remove(address: &NatsAddress, options: NatsOptions) -> Result<(), NatsError> {
    let connection = NatsConnection::open(address, options.notice).await?;
    let Some(first) = info(address, &connection, &format!("{}_SESS_0", address.name)).await? else { return Ok(()) };
    for config in StoreLayout::read(address, &first)?.streams() {
        let subject = format!("$JS.API.STREAM.DELETE.{}", config.name);
        let done: Result<IgnoredAny, ApiError> = connection.ask(&subject, &AskInfo::default()).await;
        match done {
            Err(error) if !error.is(NO_STREAM) => return Err(refused(address, &config.name, &error)),
            _ => {}
        }
    }
    Ok(())
}
