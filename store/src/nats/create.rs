//! Creating the streams of a store, and checking them at every opening.

use super::address::NatsAddress;
use super::api::{ApiError, AskInfo, NO_STREAM, StreamConfig, StreamInfo};
use super::connection::NatsConnection;
use super::error::NatsError;
use super::layout::{StoreLayout, SyncChoice};
use super::log::NatsOptions;
use super::monitor;
use serde::de::IgnoredAny;

/// The oldest server, as major and minor version.
const OLDEST: (u64, u64) = (2, 12);

/// How a store is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsCreate {
    /// On how many servers each batch is.
    pub replicas: usize,
    /// Over how many streams sessions are spread. It does not change later.
    pub shards: u32,
    /// Monitoring addresses of the servers (`http://HOST:8222`).
    pub monitors: Vec<String>,
    /// Whether servers may acknowledge before they flush.
    pub accept_unsynced: bool,
}

/// What creating did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsCreated {
    /// Streams that were created.
    pub created: usize,
    /// Streams that existed and were changed.
    pub changed: usize,
}

/// Creates the streams of a store, or makes those that exist as they must be. No batch is touched.
///
/// # Errors
/// See [`NatsError`].
pub async fn create(
    address: &NatsAddress,
    wanted: &NatsCreate,
    options: NatsOptions,
) -> Result<NatsCreated, NatsError> {
    let connection = NatsConnection::open(address, options.notice).await?;
    check_version(address, &connection.client.server_info().version)?;
    let choice =
        if wanted.accept_unsynced { SyncChoice::Unsynced } else { SyncChoice::Monitors(wanted.monitors.clone()) };
    let (name, shards, replicas) = (address.name.clone(), wanted.shards, wanted.replicas);
    let layout = StoreLayout { name, shards, replicas, choice };
    check_sync(address, &layout.choice).await?;
    if let Some(first) = info(address, &connection, &layout.stream(0)).await?
        && let Ok(exists) = StoreLayout::read(address, &first)
        && exists.shards != shards
    {
        return Err(NatsError::Setting {
            address: Box::new(address.clone()),
            stream: layout.stream(0),
            setting: "shards",
            found: exists.shards.to_string(),
            expected: shards.to_string(),
            command: format!("annals store create a store of another name, and annals copy --from {address}"),
        });
    }
    let (mut created, mut changed) = (0, 0);
    for config in layout.streams() {
        let verb = match info(address, &connection, &config.name).await? {
            None => "CREATE",
            Some(found) if layout.check(address, &config, &found.config).is_ok() && says(&config, &found.config) => {
                continue;
            }
            Some(_) => "UPDATE",
        };
        let subject = format!("$JS.API.STREAM.{verb}.{}", config.name);
        let done: Result<IgnoredAny, ApiError> = connection.ask(&subject, &config).await;
        done.map_err(|error| refused(address, &config.name, &error))?;
        *(if verb == "CREATE" { &mut created } else { &mut changed }) += 1;
    }
    Ok(NatsCreated { created, changed })
}

fn says(wanted: &StreamConfig, found: &StreamConfig) -> bool {
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
        return Err(unsynced("no monitoring address is known, so it is not known whether servers flush".into()));
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
