//! A list of prices that replaces the built-in ones: read from the files that others publish, kept in a form of our own.

use super::{CatalogError, CostEntry, Dollars, ProviderEntry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Prices by model, with their date.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PriceList {
    /// The day on which the list was read, such as `2026-11-23`.
    pub date: String,
    /// The file that it was read from.
    pub source: String,
    /// Prices by `provider/id`.
    pub models: BTreeMap<String, CostEntry>,
}

/// An entry of LiteLLM's `model_prices_and_context_window.json`: dollars per token.
#[derive(Deserialize)]
struct LiteLlmEntry {
    litellm_provider: Option<String>,
    input_cost_per_token: Option<Box<RawValue>>,
    output_cost_per_token: Option<Box<RawValue>>,
    cache_read_input_token_cost: Option<Box<RawValue>>,
    cache_creation_input_token_cost: Option<Box<RawValue>>,
}

impl PriceList {
    /// Reads a list as LiteLLM (`model_prices_and_context_window.json`) or models.dev (`api.json`) publishes it.
    ///
    /// # Errors
    /// When the text is neither, or has no price.
    pub fn parse(json: &str, date: String, source: String) -> Result<Self, PriceListError> {
        let entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(json).map_err(CatalogError::from)?;
        let mut models = BTreeMap::new();
        for (name, entry) in &entries {
            if let Ok(ProviderEntry { models: listed, .. }) = serde_json::from_str::<ProviderEntry>(entry.get()) {
                let priced = listed.into_iter().filter_map(|(id, model)| Some((format!("{name}/{id}"), model.cost?)));
                models.extend(priced.filter(|(_, cost)| cost.input.is_some()));
            }
            if let Ok(entry) = serde_json::from_str::<LiteLlmEntry>(entry.get()) {
                models.extend(entry.named(name));
            }
        }
        if models.is_empty() { Err(PriceListError::Empty) } else { Ok(Self { date, source, models }) }
    }
}

/// The text is not a list of prices.
#[derive(Debug, thiserror::Error)]
pub enum PriceListError {
    /// It is not JSON of either form.
    #[error(transparent)]
    NotAList(#[from] CatalogError),
    /// No model in it has a price.
    #[error(
        "it contains no prices: expected model_prices_and_context_window.json of LiteLLM, or api.json of models.dev"
    )]
    Empty,
}

impl LiteLlmEntry {
    fn named(self, name: &str) -> Option<(String, CostEntry)> {
        let per_million = |price: &Option<Box<RawValue>>| price.as_deref().and_then(|price| million(price.get()));
        let provider = match self.litellm_provider?.as_str() {
            "gemini" | "vertex_ai-language-models" => "google".to_owned(),
            "bedrock" | "bedrock_converse" => "amazon-bedrock".to_owned(),
            other => other.to_owned(),
        };
        // Names of other providers than OpenAI and Anthropic begin with LiteLLM's word for the provider.
        let id = name.split_once('/').filter(|(first, _)| is_provider(first, &provider)).map_or(name, |(_, id)| id);
        let cost = CostEntry {
            input: Some(per_million(&self.input_cost_per_token)?),
            output: per_million(&self.output_cost_per_token),
            cache_read: per_million(&self.cache_read_input_token_cost),
            cache_write: per_million(&self.cache_creation_input_token_cost),
        };
        Some((format!("{provider}/{id}"), cost))
    }
}

fn is_provider(first: &str, provider: &str) -> bool {
    first == provider || matches!((first, provider), ("gemini" | "vertex_ai", "google") | ("bedrock", "amazon-bedrock"))
}

/// Dollars per million tokens of dollars per token; `None` if it is not a price, or too precise for one.
fn million(per_token: &str) -> Option<Dollars> {
    let text = per_token.trim_matches('"');
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
        None => (text, 0),
    };
    format!("{mantissa}e{}", exponent.checked_add(6)?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    const LITELLM: &str = r#"{
      "sample_spec": {"litellm_provider": "one of https://docs.litellm.ai", "mode": "chat"},
      "claude-sonnet-4-5": {"litellm_provider": "anthropic", "input_cost_per_token": 4e-06, "output_cost_per_token": 0.00002,
        "cache_read_input_token_cost": 4e-07, "cache_creation_input_token_cost": 5e-06, "supports_vision": true},
      "gemini/gemini-9-pro": {"litellm_provider": "gemini", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05},
      "us.anthropic.claude-9-v1:0": {"litellm_provider": "bedrock_converse", "input_cost_per_token": 7e-06},
      "dall-e": {"litellm_provider": "openai", "input_cost_per_pixel": 1e-07}
    }"#;

    const MODELS_DEV: &str = r#"{"acme": {"id": "acme", "name": "Acme", "models": {
      "one": {"id": "one", "cost": {"input": 0.5, "output": 1.5, "cache_read": 0.05}}, "free": {"id": "free"}}}}"#;

    fn list(json: &str) -> PriceList {
        PriceList::parse(json, "2026-11-23".into(), "prices.json".into()).unwrap()
    }

    #[test]
    fn the_lists_of_litellm_and_models_dev_are_read_to_the_nano_dollar() {
        let found = list(LITELLM);
        let names: Vec<&str> = found.models.keys().map(String::as_str).collect();
        let bedrock = "amazon-bedrock/us.anthropic.claude-9-v1:0";
        assert_eq!(names, [bedrock, "anthropic/claude-sonnet-4-5", "google/gemini-9-pro"]);
        let sonnet = found.models["anthropic/claude-sonnet-4-5"].prices();
        assert_eq!([sonnet.input, sonnet.output], [4_000_000_000, 20_000_000_000]);
        assert_eq!([sonnet.cache_read, sonnet.cache_write], [400_000_000, 5_000_000_000]);
        assert_eq!(list(MODELS_DEV).models["acme/one"].prices().output, 1_500_000_000);
        for bad in ["", "[]", "{}", r#"{"a": 1}"#, r#"{"a": {"models": {"b": {}}}}"#] {
            assert!(PriceList::parse(bad, String::new(), String::new()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_replaces_prices_and_adds_models_to_price() {
        let saved = serde_json::to_string(&list(LITELLM)).unwrap();
        let catalog = Catalog::built_in().with_prices(serde_json::from_str(&saved).unwrap());
        let price = |name: &str| catalog.prices(&name.into()).map(|prices| prices.input);
        assert_eq!(price("anthropic/claude-sonnet-4-5-20250929"), Some(4_000_000_000));
        assert_eq!(price("google/gemini-9-pro"), Some(1_250_000_000));
        assert_eq!(price("amazon-bedrock/us.anthropic.claude-9-v1:0"), Some(7_000_000_000));
        assert!(catalog.model(&"google/gemini-9-pro".into()).is_none(), "a price alone makes no model");
        assert_eq!(
            price("openai/gpt-5"),
            Catalog::built_in().prices(&"openai/gpt-5".into()).map(|prices| prices.input)
        );
        assert_eq!(catalog.price_date(), "2026-11-23");
    }
}
