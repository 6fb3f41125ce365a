//! The catalog: the models, their capabilities and prices, and how each is reached
//! (`docs/configuration.md#models`).
//!
//! Its form is the JSON of models.dev. A short list is built in; the user's list is merged over it, field by field.
//!
//! ```
//! use annals_providers::catalog::Catalog;
//!
//! let catalog = Catalog::built_in();
//! let model = catalog.model(&"anthropic/claude-opus-4-8".into()).expect("it is built in");
//! assert_eq!(model.prices.map(|prices| prices.input), Some(5_000_000_000)); // nano-dollars per million tokens
//! assert_eq!(model.profile()?.protocol, "anthropic-messages");
//! # Ok::<(), annals_providers::catalog::UnsupportedApi>(())
//! ```

mod entry;
mod family;
mod media;
mod names;
mod options;
mod price;
mod price_list;
mod routing;
mod server_defaults;

pub use entry::{CostEntry, LimitEntry, ModalitiesEntry, ModelEntry, ProviderEntry, RouteEntry};
pub use family::{ModelFamily, system_text};
pub use options::{OptionsError, for_owners, partition};
pub use price::{Dollars, PriceError};
pub use price_list::{PriceList, PriceListError};
pub use routing::{Route, UnsupportedApi};

use crate::wire::Protocol;
use annals_core::ModelName;
use annals_core::event::{ModelProfile, Prices, SystemMessages};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// As of when the built-in list is.
const BUILT_IN_DATE: &str = "2026-07";

/// The models that this build knows.
const BUILT_IN: &str = include_str!("catalog/models.json");

/// The one model that takes Mid-Conversation System Messages in a system role, unless the configuration says so of others
/// (`docs/reference/wire.md#context-messages`).
const NATIVE_SYSTEM_MESSAGES: &str = "claude-opus-4-8";

/// Providers and their models.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    providers: BTreeMap<String, ProviderEntry>,
    /// Prices that replace those of the list, also of models that are not in it.
    prices: PriceList,
}

/// The text is not a Catalog: the message names the place.
#[derive(Debug, thiserror::Error)]
#[error("not a list of models in the form of models.dev: {0}")]
pub struct CatalogError(#[from] serde_json::Error);

/// What is known of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogProvider {
    /// The first part of its models' names.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Variables that may hold its key, the preferred one first; empty for one that needs none.
    pub env: Vec<String>,
    /// Its address, without the path of a protocol; `None` when none is configured.
    pub base_url: Option<String>,
    /// Whether it accepts any name of a model: its models are not listed, as for a self-hosted server.
    pub open: bool,
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogModel {
    /// `provider/id`.
    pub model: ModelName,
    /// Its provider.
    pub provider: String,
    /// The name that its provider knows it by; may hold slashes.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Context limit in tokens; 0 when unknown.
    pub context: u64,
    /// Output limit in tokens; 0 when unknown, or when it has none but its context.
    pub output: u64,
    /// What it costs; `None` when unknown, which counts as nothing.
    pub prices: Option<Prices>,
    /// Media types that it takes.
    pub media: Vec<String>,
    /// Whether it reasons, if known.
    pub reasoning: Option<bool>,
    /// Whether it calls tools, if known.
    pub tools: Option<bool>,
    /// Whether it takes a temperature, if known.
    pub temperature: Option<bool>,
    /// Whether it takes system messages inside the conversation, if that is configured.
    pub system_messages: Option<SystemMessages>,
    /// Its protocol and address, or why it cannot be used.
    pub route: Result<Route, UnsupportedApi>,
}

impl Catalog {
    /// The models that this build knows.
    pub fn built_in() -> Self {
        static PARSED: OnceLock<Catalog> = OnceLock::new();
        // A test parses the list. If parsing failed nevertheless, an empty list would do no harm.
        PARSED.get_or_init(|| Self::parse(BUILT_IN).unwrap_or_default()).clone()
    }

    /// Parses a list in the form of models.dev; unknown members are ignored.
    ///
    /// # Errors
    /// When it is something else; the message names line and column.
    pub fn parse(json: &str) -> Result<Self, CatalogError> {
        Ok(Self { providers: serde_json::from_str(json)?, prices: PriceList::default() })
    }

    /// Lays another list over this one: what it says counts, field by field.
    #[must_use]
    pub fn under(mut self, upper: Self) -> Self {
        for (id, provider) in upper.providers {
            self.provider_entry(&id).lay(provider);
        }
        self
    }

    /// Replaces prices: of the models in this list, and of those that have no other price.
    #[must_use]
    pub fn with_prices(mut self, prices: PriceList) -> Self {
        for (provider, entry) in &mut self.providers {
            for (id, model) in &mut entry.models {
                if let Some(cost) = prices.models.get(&format!("{provider}/{id}")) {
                    model.cost = Some(*cost);
                }
            }
        }
        Self { prices, ..self }
    }

    /// As of when prices are: a day for a list that the user added, else the month of the built-in one.
    pub fn price_date(&self) -> &str {
        if self.prices.date.is_empty() { BUILT_IN_DATE } else { &self.prices.date }
    }

    /// The entry of a provider, for changes; added if it is missing.
    pub fn provider_entry(&mut self, id: &str) -> &mut ProviderEntry {
        self.providers.entry(id.to_owned()).or_default()
    }

    /// Every provider, by id.
    pub fn providers(&self) -> impl Iterator<Item = CatalogProvider> {
        self.providers.iter().map(|(id, entry)| described(id, entry))
    }

    /// A provider.
    pub fn provider(&self, id: &str) -> Option<CatalogProvider> {
        self.providers.get(id).map(|entry| described(id, entry))
    }

    /// Every model that is listed, by provider and id.
    pub fn models(&self) -> impl Iterator<Item = CatalogModel> {
        self.providers.iter().flat_map(|(id, provider)| {
            provider.models.iter().map(move |(name, model)| known(id, provider, name, model))
        })
    }

    /// A model by its name `provider/id`. A provider without listed models accepts every id; of such a model nothing
    /// else is known.
    pub fn model(&self, name: &ModelName) -> Option<CatalogModel> {
        let (provider, id) = name.as_str().split_once('/')?;
        let entry = self.providers.get(provider)?;
        match entry.models.get(id) {
            Some(model) => Some(known(provider, entry, id, model)),
            None if entry.models.is_empty() && !id.is_empty() => {
                Some(known(provider, entry, id, &ModelEntry::default()))
            }
            None => None,
        }
    }
}

impl CatalogModel {
    /// What requests to it are shaped by, as the log records it.
    ///
    /// # Errors
    /// When no supported protocol reaches the model.
    pub fn profile(&self) -> Result<ModelProfile, UnsupportedApi> {
        let route = self.route.clone()?;
        let native = route.protocol == Protocol::AnthropicMessages && self.id == NATIVE_SYSTEM_MESSAGES;
        let usual = if native { SystemMessages::Native } else { SystemMessages::Wrapped };
        Ok(ModelProfile {
            model: self.model.clone(),
            id: self.id.clone(),
            context: self.context,
            output: self.output,
            system_messages: self.system_messages.unwrap_or(usual),
            media: self.media.clone(),
            prices: self.prices.unwrap_or_default(),
            protocol: route.protocol.as_str().to_owned(),
            encoding: route.protocol.encoding(),
        })
    }
}

impl CatalogModel {
    /// What its server wants to be asked otherwise than others of its protocol, in the shape of the AI SDK: the lowest
    /// layer of a request's settings ([`partition`]).
    pub fn server_defaults(&self) -> Map<String, Value> {
        self.route.as_ref().map(|route| server_defaults::settings(&self.provider, route)).unwrap_or_default()
    }
}

fn described(id: &str, entry: &ProviderEntry) -> CatalogProvider {
    CatalogProvider {
        id: id.to_owned(),
        name: entry.name.clone().unwrap_or_else(|| id.to_owned()),
        env: entry.env.clone().unwrap_or_default(),
        base_url: routing::base_url(entry, None),
        open: entry.models.is_empty(),
    }
}

fn known(provider: &str, entry: &ProviderEntry, id: &str, model: &ModelEntry) -> CatalogModel {
    let limit = model.limit.unwrap_or_default();
    let context = limit.context.unwrap_or(0);
    // A limit as large as the context does not limit anything, and would leave no room for a request.
    let output = limit.output.filter(|output| context == 0 || *output < context).unwrap_or(0);
    CatalogModel {
        model: ModelName(format!("{provider}/{id}")),
        provider: provider.to_owned(),
        id: model.id.clone().unwrap_or_else(|| id.to_owned()),
        name: model.name.clone().unwrap_or_else(|| id.to_owned()),
        context,
        output,
        prices: model.cost.as_ref().map(CostEntry::prices),
        media: media::types(model),
        reasoning: model.reasoning,
        tools: model.tool_call,
        temperature: model.temperature,
        system_messages: model.system_messages,
        route: routing::route(provider, entry, model),
    }
}

#[cfg(test)]
mod tests;
