//! The list of models with the configuration laid over it.

use crate::places::Places;
use crate::problem::{ConfigError, Problem};
use crate::settings::MergedSettings;
use annals_core::event::SystemMessages;
use annals_providers::catalog::{Catalog, CostEntry, LimitEntry, ModalitiesEntry, ModelEntry, PriceList, RouteEntry};
use std::io;
use std::path::{Path, PathBuf};

/// The prices that `annals models --update` stored; none if it never did.
fn prices(places: &Places) -> Result<PriceList, ConfigError> {
    let path = places.prices();
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| ConfigError::File { path, source: error.into() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PriceList::default()),
        Err(source) => Err(ConfigError::File { path, source }),
    }
}

/// The built-in list with the prices that the user stored, then the user's files, then what the configuration says of providers and models.
pub fn catalog(
    settings: &MergedSettings,
    places: &Places,
    file: impl Fn(&crate::reading::Setting) -> PathBuf,
    problems: &mut Vec<Problem>,
) -> Result<Catalog, ConfigError> {
    let mut catalog = Catalog::built_in().with_prices(prices(places)?);
    for setting in settings.list(&["catalog"]) {
        let path = file(setting);
        match Catalog::parse(&read(&path)?) {
            Ok(list) => catalog = catalog.under(list),
            Err(error) => {
                let message = format!("{}: {error}", path.display());
                problems.push(Problem { origin: setting.origin.clone(), message });
            }
        }
    }
    for provider in settings.names(&["providers"]) {
        let own = |key| settings.text(&["providers", provider, key]).map(str::to_owned);
        let entry = catalog.provider_entry(provider);
        entry.name = own("name").or(entry.name.take());
        if let Some(url) = own("base_url") {
            entry.api = Some(url);
        }
        if let Some(protocol) = own("protocol") {
            entry.protocol = Some(protocol);
        } else if entry.protocol.is_none() && entry.npm.is_none() {
            // A provider that only the configuration knows: by far the most speak this.
            entry.protocol = Some("openai-chat".into());
        }
    }
    for model in settings.names(&["models"]) {
        match model.split_once('/') {
            Some((provider, id)) if !provider.is_empty() && !id.is_empty() => {
                catalog.provider_entry(provider).models.entry(id.to_owned()).or_default().lay(entry(settings, model));
            }
            _ => {
                let setting = settings.get(&["models", model]);
                let message = format!("`models.{model:?}`: a model is named \"provider/id\"");
                problems.extend(setting.map(|setting| Problem { origin: setting.origin.clone(), message }));
            }
        }
    }
    Ok(catalog)
}

fn entry(settings: &MergedSettings, model: &str) -> ModelEntry {
    let text = |key| settings.text(&["models", model, key]).map(str::to_owned);
    let count = |key| settings.count(&["models", model, key]);
    let price = |key| settings.text(&["models", model, "price", key]).and_then(|price| price.parse().ok());
    let priced = !settings.names(&["models", model, "price"]).is_empty();
    ModelEntry {
        id: text("id"),
        name: text("name"),
        limit: Some(LimitEntry { context: count("context"), output: count("output") }),
        cost: priced.then(|| CostEntry {
            input: price("input"),
            output: price("output"),
            cache_read: price("cache_read"),
            cache_write: price("cache_write"),
        }),
        modalities: settings.texts(&["models", model, "media"]).map(|input| ModalitiesEntry { input: Some(input) }),
        system_messages: match text("system_messages").as_deref() {
            Some("native") => Some(SystemMessages::Native),
            Some("wrapped") => Some(SystemMessages::Wrapped),
            _ => None,
        },
        provider: Some(RouteEntry { npm: None, api: text("base_url"), protocol: text("protocol") }),
        ..ModelEntry::default()
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.to_owned(), source })
}
