//! What a list in the form of models.dev says, each field by itself, so that lists can be laid over one another.

use super::price::Dollars;
use annals_core::event::{Prices, SystemMessages};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is written of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProviderEntry {
    /// What people call it.
    pub name: Option<String>,
    /// Variables that may hold its key.
    pub env: Option<Vec<String>>,
    /// Its base address.
    pub api: Option<String>,
    /// Its package in the AI SDK, which determines the protocol.
    pub npm: Option<String>,
    /// One of our protocol words, which says more than `npm`.
    pub protocol: Option<String>,
    /// Its models by id.
    pub models: BTreeMap<String, ModelEntry>,
}

/// What is written of a model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModelEntry {
    /// Its name at the provider; default: the name under which it is listed.
    pub id: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// Limits.
    pub limit: Option<LimitEntry>,
    /// Prices.
    pub cost: Option<CostEntry>,
    /// What goes in.
    pub modalities: Option<ModalitiesEntry>,
    /// Whether files can be attached.
    pub attachment: Option<bool>,
    /// Whether it reasons.
    pub reasoning: Option<bool>,
    /// Whether it calls tools.
    pub tool_call: Option<bool>,
    /// Whether it takes a temperature.
    pub temperature: Option<bool>,
    /// Whether it takes system messages inside the conversation.
    pub system_messages: Option<SystemMessages>,
    /// Its protocol and address, if they differ from those of its provider's other models.
    pub provider: Option<RouteEntry>,
}

/// Limits in tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LimitEntry {
    /// Of request and answer together.
    pub context: Option<u64>,
    /// Of the answer.
    pub output: Option<u64>,
}

/// Prices in dollars per million tokens. Those that rise with the size of the request count at their first step.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CostEntry {
    /// Input that was not cached.
    pub input: Option<Dollars>,
    /// Output and reasoning.
    pub output: Option<Dollars>,
    /// Input read from a cache.
    pub cache_read: Option<Dollars>,
    /// Input written to a cache.
    pub cache_write: Option<Dollars>,
}

/// Kinds of content.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModalitiesEntry {
    /// `text`, `image`, `pdf`, `audio`, `video`, or a media type such as `image/png`.
    pub input: Option<Vec<String>>,
}

/// The protocol and address of one model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RouteEntry {
    /// As for a provider.
    pub npm: Option<String>,
    /// As for a provider.
    pub api: Option<String>,
    /// As for a provider.
    pub protocol: Option<String>,
}

/// What is said above counts.
fn lay<T>(under: &mut Option<T>, over: Option<T>) {
    if over.is_some() {
        *under = over;
    }
}

impl ProviderEntry {
    /// Lays what another list says of the same provider over this.
    pub fn lay(&mut self, over: Self) {
        let Self { name, env, api, npm, protocol, models } = over;
        lay(&mut self.name, name);
        lay(&mut self.env, env);
        lay(&mut self.api, api);
        lay(&mut self.npm, npm);
        lay(&mut self.protocol, protocol);
        for (id, model) in models {
            self.models.entry(id).or_default().lay(model);
        }
    }
}

impl ModelEntry {
    /// Lays what another list says of the same model over this.
    pub fn lay(&mut self, over: Self) {
        let Self { id, name, limit, cost, modalities, provider, .. } = over;
        let Self { attachment, reasoning, tool_call, temperature, system_messages, .. } = over;
        lay(&mut self.id, id);
        lay(&mut self.name, name);
        if let Some(LimitEntry { context, output }) = limit {
            let limit = self.limit.get_or_insert_default();
            lay(&mut limit.context, context);
            lay(&mut limit.output, output);
        }
        if let Some(CostEntry { input, output, cache_read, cache_write }) = cost {
            let cost = self.cost.get_or_insert_default();
            lay(&mut cost.input, input);
            lay(&mut cost.output, output);
            lay(&mut cost.cache_read, cache_read);
            lay(&mut cost.cache_write, cache_write);
        }
        if let Some(ModalitiesEntry { input }) = modalities {
            lay(&mut self.modalities.get_or_insert_default().input, input);
        }
        lay(&mut self.attachment, attachment);
        lay(&mut self.reasoning, reasoning);
        lay(&mut self.tool_call, tool_call);
        lay(&mut self.temperature, temperature);
        lay(&mut self.system_messages, system_messages);
        if let Some(RouteEntry { npm, api, protocol }) = provider {
            let route = self.provider.get_or_insert_default();
            lay(&mut route.npm, npm);
            lay(&mut route.api, api);
            lay(&mut route.protocol, protocol);
        }
    }
}

impl CostEntry {
    /// The same in nano-dollars; what is not said is nothing.
    pub fn prices(&self) -> Prices {
        let nano = |dollars: Option<Dollars>| dollars.map_or(0, Dollars::nano);
        Prices {
            input: nano(self.input),
            output: nano(self.output),
            cache_read: nano(self.cache_read),
            cache_write: nano(self.cache_write),
        }
    }
}
