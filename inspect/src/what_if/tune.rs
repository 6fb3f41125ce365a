//! Settings of compactions over an archive: what each would have cost, and how much would have left the view.

use super::{CompactionRules, KnownModel, WhatIf, WhatIfChange, ask};
use crate::{AskError, SessionAt};
use serde::Serialize;

/// A setting, measured over sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedSetting {
    /// The tokens of the window that stay free.
    pub buffer: u64,
    /// The tokens that stay as they are.
    pub keep_tokens: u64,
    /// Whether old tool outputs are cleared before a summary.
    pub prune: bool,
    /// Whether it is what holds now.
    pub current: bool,
    /// The input of all requests in nano-dollars, as far as prices are known; `null` if none is.
    pub price: Option<u64>,
    /// The input of all requests in tokens.
    pub tokens: u64,
    /// The tokens that a cache could have kept.
    pub cached: u64,
    /// Summaries that would have been made: what they replaced left the view.
    pub compactions: u64,
    /// Breaks of the cached prefix.
    pub breaks: u64,
    /// Requests that would have been different.
    pub differ: u64,
}

/// Measures each setting over sessions.
pub async fn tune(
    sessions: &[SessionAt],
    current: CompactionRules,
    settings: &[CompactionRules],
    ttl_ms: u64,
    known: KnownModel<'_>,
) -> Result<Vec<TunedSetting>, AskError> {
    let mut tuned = Vec::new();
    for rules in settings {
        let mut row = TunedSetting {
            buffer: rules.buffer,
            keep_tokens: rules.keep_tokens,
            prune: rules.prune,
            current: *rules == current,
            price: None,
            tokens: 0,
            cached: 0,
            compactions: 0,
            breaks: 0,
            differ: 0,
        };
        let question = WhatIf { changes: vec![WhatIfChange::Compaction(*rules)], rules: current, ttl_ms, step: None };
        for past in sessions {
            let answer = ask(past, &question, known).await?;
            row.price = answer.after.price.map_or(row.price, |price| Some(row.price.unwrap_or_default() + price));
            row.tokens += answer.after.tokens;
            row.cached += answer.after.cached;
            row.compactions += answer.after.compactions;
            row.breaks += answer.after.breaks;
            row.differ += answer.requests.iter().filter(|request| !request.same).count() as u64;
        }
        tuned.push(row);
    }
    Ok(tuned)
}
