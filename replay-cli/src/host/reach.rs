//! How models are reached, by the configuration.

use super::HostError;
use crate::config::{Config, Connection, Key};
use annals_core::ModelName;
use annals_runtime::providers::{Endpoint, EndpointError, Endpoints, KeySource, Limits};

/// Says where models answer.
#[derive(Clone)]
pub struct Reach(Config);

impl Reach {
    /// By this configuration.
    pub fn new(config: Config) -> Self {
        Self(config)
    }

    fn connection(&self, model: &ModelName) -> Option<Connection> {
        self.0.connection(&self.0.catalog.model(model)?).ok()
    }

    /// Tells before anything is made what keeps a model from being asked.
    ///
    /// # Errors
    /// [`HostError::NoEndpoint`].
    pub fn missing(&self, model: &ModelName) -> Result<(), HostError> {
        let cannot = |why: String| HostError::NoEndpoint { model: model.to_string(), why };
        if let Err(error) = self.endpoint(model) {
            return Err(cannot(error.to_string()));
        }
        match self.connection(model).and_then(|connection| connection.key) {
            Some(Key::Env(name)) if !self.0.has_key(provider(model)) => Err(cannot(format!(
                "{name} is not set; put your key for {} into that environment variable, or name a `key_command` for it in {}",
                provider(model),
                self.0.files().0.display()
            ))),
            _ => Ok(()),
        }
    }
}

fn provider(model: &ModelName) -> &str {
    model.as_str().split_once('/').map_or(model.as_str(), |(provider, _)| provider)
}

impl Endpoints for Reach {
    fn endpoint(&self, model: &ModelName) -> Result<Endpoint, EndpointError> {
        let Connection { base_url, headers, key, connect, idle, .. } =
            self.connection(model).ok_or_else(|| EndpointError::UnknownProvider(model.clone()))?;
        if base_url.is_empty() {
            return Err(EndpointError::NoBaseUrl(model.clone()));
        }
        let usual = Limits::default();
        let limits = Limits { connect: connect.unwrap_or(usual.connect), idle: idle.unwrap_or(usual.idle), ..usual };
        let key = key.map(|key| match key {
            Key::Env(name) => KeySource::Env(name),
            Key::Command(words) => KeySource::Command(words),
        });
        Ok(Endpoint { headers, key, ..Endpoint::at(base_url) }.limits(limits))
    }
}
