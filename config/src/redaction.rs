//! What redaction is configured to do.

use crate::agent::free;
use crate::config::Config;
use annals_guard::redaction::Redactor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What redaction is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionSettings {
    /// Whether secrets are replaced.
    pub enabled: bool,
    /// Variables whose values are secret, in addition to those with such a name.
    pub env: Vec<String>,
    /// Variables whose values are not secret, in spite of their name.
    pub public_env: Vec<String>,
    /// Further patterns by the name of their kind.
    pub patterns: BTreeMap<String, String>,
}

impl Config {
    /// What redaction is to do.
    pub fn redaction(&self) -> RedactionSettings {
        let texts = |key| {
            let path = ["redaction", key];
            self.settings.list(&path).filter_map(|setting| setting.value.as_str().map(str::to_owned)).collect()
        };
        let patterns = free(&self.settings, &["redaction", "patterns"]);
        RedactionSettings {
            enabled: self.settings.flag(&["redaction", "enabled"]).unwrap_or(true),
            env: texts("env"),
            public_env: texts("public_env"),
            patterns: patterns
                .into_iter()
                .filter_map(|(kind, value)| Some((kind, value.as_str()?.to_owned())))
                .collect(),
        }
    }

    /// The redactor of all input; `None` when redaction is switched off. It knows the current values of secret
    /// environment variables, including providers' keys, and those in the `.env*` files of the directory and the project.
    pub fn redactor(&self) -> Option<Arc<Redactor>> {
        let RedactionSettings { enabled, mut env, public_env, patterns } = self.redaction();
        if !enabled {
            return None;
        }
        for provider in self.catalog.providers() {
            env.extend(provider.env.clone());
            env.extend(self.settings.text(&["providers", &provider.id, "key_env"]).map(str::to_owned));
        }
        let mut redactor = Redactor::default().with_environment(self.variables.all(), &env, &public_env);
        for (path, text) in self.secret_files() {
            redactor = redactor.with_file(&path, &text);
        }
        for (kind, pattern) in patterns {
            match redactor.clone().with_pattern(&kind, &pattern) {
                Ok(with) => redactor = with,
                // Each of them was tried when it was loaded.
                Err(error) => tracing::warn!(kind, %error, "a pattern of secrets is left out"),
            }
        }
        Some(Arc::new(redactor))
    }
}
