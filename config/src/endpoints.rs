//! Where models answer and how keys are found.

use crate::agent::free;
use crate::config::Config;
use annals_core::ModelName;
use annals_providers::catalog::UnsupportedApi;
use annals_providers::http::{Endpoint, EndpointError, EndpointLimits, Endpoints, KeySource};
use std::time::Duration;

impl Endpoints for Config {
    fn endpoint(&self, model: &ModelName) -> Result<Endpoint, EndpointError> {
        let unknown = || EndpointError::UnknownProvider(model.clone());
        let known = self.catalog.model(model).ok_or_else(unknown)?;
        let route = known.route.map_err(|error| match error {
            UnsupportedApi::Nowhere { .. } => EndpointError::NoBaseUrl(model.clone()),
            UnsupportedApi::Package { .. } | UnsupportedApi::Silent { .. } | UnsupportedApi::Protocol { .. } => {
                unknown()
            }
        })?;
        let own = |key| ["providers", known.provider.as_str(), key];
        let ms = |key| self.settings.count(&own(key)).map(Duration::from_millis);
        let usual = EndpointLimits::default();
        let limits = EndpointLimits {
            connect: ms("connect_timeout_ms").unwrap_or(usual.connect),
            idle: ms("idle_timeout_ms").unwrap_or(usual.idle),
            ..usual
        };
        let headers = free(&self.settings, &own("headers")).into_iter();
        Ok(Endpoint {
            base_url: route.base_url,
            headers: headers.filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect(),
            key: self.key(&known.provider),
            limits,
        })
    }
}

impl Config {
    /// Where the key of a provider comes from: the command or variable of the configuration, else the first of its
    /// usual variables that is set, else the first of them; `None` when it wants none.
    pub fn key(&self, provider: &str) -> Option<KeySource> {
        let own = |key| ["providers", provider, key];
        if let Some(command) = self.settings.texts(&own("key_command")).filter(|command| !command.is_empty()) {
            return Some(KeySource::Command(command));
        }
        if let Some(name) = self.settings.text(&own("key_env")) {
            return Some(KeySource::Env(name.to_owned()));
        }
        let env = self.catalog.provider(provider).map(|provider| provider.env).unwrap_or_default();
        let set = env.iter().find(|name| self.variables.get(name).is_some());
        set.or(env.first()).cloned().map(KeySource::Env)
    }

    /// Whether what a key comes from is there, as far as can be seen without running a command.
    pub fn has_key(&self, provider: &str) -> bool {
        match self.key(provider) {
            Some(KeySource::Env(name)) => self.variables.get(&name).is_some(),
            Some(KeySource::Command(_)) | None => true,
        }
    }
}
