//! Where a model answers and how its key is found.

use super::agent::free;
use super::environment::Variables;
use super::settings::Settings;
use annals_runtime::catalog::{CatalogModel, UnsupportedApi};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where a key comes from. Never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// An environment variable.
    Env(String),
    /// What a command prints.
    Command(Vec<String>),
}

/// How a model is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Without the path of the protocol: `https://host/v1`.
    pub base_url: String,
    /// A protocol word.
    pub protocol: &'static str,
    /// Sent with every request; values may be secrets.
    pub headers: BTreeMap<String, String>,
    /// Where the key comes from; a server of one's own may want none.
    pub key: Option<Key>,
    /// How long connecting may take.
    pub connect: Option<Duration>,
    /// How long an answer may stand still.
    pub idle: Option<Duration>,
}

impl Connection {
    pub(super) fn of(
        settings: &Settings,
        model: &CatalogModel,
        env: &[String],
        variables: &Variables,
    ) -> Result<Self, UnsupportedApi> {
        let route = model.route.clone()?;
        let own = |key| ["providers", model.provider.as_str(), key];
        let ms = |key| settings.count(&own(key)).map(Duration::from_millis);
        let headers = free(settings, &own("headers"));
        let text = |(name, value): (String, serde_json::Value)| Some((name, value.as_str()?.to_owned()));
        Ok(Self {
            base_url: route.base_url,
            protocol: route.protocol,
            headers: headers.into_iter().filter_map(text).collect(),
            key: key(settings, &model.provider, env, variables),
            connect: ms("connect_timeout_ms"),
            idle: ms("idle_timeout_ms"),
        })
    }
}

/// Where the key of a provider comes from: the command or variable of the configuration, else the first usual variable
/// that is set, else the first of them.
pub(super) fn key(settings: &Settings, provider: &str, env: &[String], variables: &Variables) -> Option<Key> {
    let own = |key| ["providers", provider, key];
    if let Some(command) = settings.texts(&own("key_command")).filter(|command| !command.is_empty()) {
        return Some(Key::Command(command));
    }
    if let Some(name) = settings.text(&own("key_env")) {
        return Some(Key::Env(name.to_owned()));
    }
    let set = env.iter().find(|name| variables.get(name).is_some());
    set.or(env.first()).cloned().map(Key::Env)
}
