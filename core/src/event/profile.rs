//! Everything that shapes a request besides history and baseline, recorded once per change and named by hash
//! (`docs/reference/events.md#what-shapes-requests`).

use super::permission::Rule;
use super::step::Usage;
use super::{payload, words};
use crate::canonical::{self, CanonicalError};
use crate::digest::Digest;
use crate::id::{AgentName, ModelName};
use crate::text::{Json, Text, Texts, as_text, from_text};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Names a recorded value by the hash of its canonical JSON with every text as a reference, so that the name does not
/// depend on which texts are inline.
macro_rules! hashed {
    ($name:ident) => {
        impl $name {
            /// The hash that requests name it by.
            ///
            /// # Errors
            /// When a number is not below 2^53.
            pub fn digest(&self) -> Result<Digest, CanonicalError> {
                let mut named = self.clone();
                named.texts(&mut |text| text.refer());
                canonical::own(&named).map(|text| Digest::of(text.as_bytes()))
            }
        }
    };
}

payload! {
    /// What an agent is.
    AgentProfile {
        /// Its name.
        agent: AgentName,
        /// Its own static system text; not part of the baseline.
        system: Option<Text>,
        /// How many steps one activity may take.
        steps: Option<u32>,
        /// What its calls may do; the last matching rule counts.
        permissions: Vec<Rule>,
    } texts { system }
}

hashed!(AgentProfile);

payload! {
    /// What an agent is, from here on.
    AgentProfileRecorded {
        /// All of it.
        profile: AgentProfile,
    } texts { profile }
}

words! {
    /// How a model takes a Mid-Conversation System Message.
    SystemMessages {
        /// In a system role, where it happened.
        Native = "native",
        /// As wrapped user text.
        Wrapped = "wrapped",
    }
}

payload! {
    /// Prices in nano-dollars per million tokens; a missing price is 0.
    #[derive(Copy, Default)]
    Prices {
        /// Input that was not cached.
        input: u64,
        /// Visible output and reasoning.
        output: u64,
        /// Input read from a cache.
        cache_read: u64,
        /// Input written to a cache.
        cache_write: u64,
    } texts {}
}

payload! {
    /// What a model is: limits in tokens, how it takes system messages, what it costs, its protocol.
    ModelProfile {
        /// Its name.
        model: ModelName,
        /// The name that its provider knows it by; empty when it has no provider.
        id: String,
        /// Context limit; 0 when unknown.
        context: u64,
        /// Output limit; 0 when unknown.
        output: u64,
        /// How it takes Mid-Conversation System Messages.
        system_messages: SystemMessages,
        /// Media types that it takes, such as `image/png` or `image/*`; other media are described in words.
        media: Vec<String>,
        /// What it costs.
        prices: Prices,
        /// The protocol its requests are encoded in, such as `scripted` or `anthropic-messages`.
        protocol: String,
        /// The number of that protocol's encoding.
        encoding: u32,
    } texts {}
}

hashed!(ModelProfile);

impl ModelProfile {
    /// A model of which nothing but the name is known: no limits, no prices, no protocol.
    pub fn of_name(model: ModelName) -> Self {
        Self {
            model,
            id: String::new(),
            context: 0,
            output: 0,
            system_messages: SystemMessages::Native,
            media: Vec::new(),
            prices: Prices::default(),
            protocol: String::new(),
            encoding: 0,
        }
    }
}

payload! {
    /// What a model is, from here on.
    ModelProfileRecorded {
        /// All of it.
        profile: ModelProfile,
    } texts {}
}

payload! {
    /// A tool as it is described to the model.
    ToolDefinition {
        /// Its name: `^[A-Za-z][A-Za-z0-9_-]{0,63}$`.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        name: String,
        /// What it does.
        description: Text,
        /// JSON Schema of its input.
        schema: Json,
    } texts { description, schema }
}

payload! {
    /// The tools that a request offers, in order. Requests name the set by [`ToolsRecorded::digest`].
    ToolsRecorded {
        /// In the order in which they are sent.
        tools: Vec<ToolDefinition>,
    } texts { tools }
}

hashed!(ToolsRecorded);

payload! {
    /// Model Request Options, Generation Controls and compatibility body fields, kept apart (`docs/wire.md#options`).
    #[derive(Default)]
    RequestOptions {
        /// Provider-neutral sampling and output controls, as canonical JSON values.
        controls: BTreeMap<String, Json>,
        /// Provider-semantic settings by namespaced name, as canonical JSON values.
        options: BTreeMap<String, Json>,
        /// Fields laid over the request body, as canonical JSON values.
        body: BTreeMap<String, Json>,
    } texts { controls, options, body }
}

hashed!(RequestOptions);

payload! {
    /// A set of options, from here on.
    OptionsRecorded {
        /// All of them.
        options: RequestOptions,
    } texts { options }
}

impl Prices {
    /// What tokens cost at these prices, in nano-dollars, rounded down.
    pub fn cost(&self, usage: Usage) -> u64 {
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let total = of(usage.input, self.input)
            + of(usage.output, self.output)
            + of(usage.reasoning, self.output)
            + of(usage.cache_read, self.cache_read)
            + of(usage.cache_write, self.cache_write);
        u64::try_from(total / 1_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Prices;
    use crate::event::Usage;

    #[test]
    fn money_is_whole_nano_dollars() {
        // Dollars per million tokens: 1, 2, 0.1, 0.5.
        let prices =
            Prices { input: 1_000_000_000, output: 2_000_000_000, cache_read: 100_000_000, cache_write: 500_000_000 };
        let usage = Usage { input: 80, output: 10, reasoning: 2, cache_read: 20, cache_write: 1 };
        assert_eq!(prices.cost(usage), 80_000 + 20_000 + 4_000 + 2_000 + 500);
    }
}
