//! A projection of one's own: how often each tool was called in a session, and how often that failed.

use annals_projections::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calls by tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// By tool.
    pub tools: BTreeMap<String, Calls>,
    /// The tool of each call that has no result yet.
    open: BTreeMap<String, String>,
}

/// How often a tool was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// All calls.
    pub calls: u64,
    /// Those that did not complete.
    pub failed: u64,
}

impl Projection for ToolUse {
    const NAME: &'static str = "own/tool-use";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        // Any other kind says nothing here; kinds are only ever added.
        if let Some(called) = record.event.payload::<ToolCalled>() {
            self.tools.entry(called.name.clone()).or_default().calls += 1;
            self.open.insert(called.call.to_string(), called.name.clone());
        }
        if let Some(settled) = record.event.payload::<ToolSettled>() {
            let tool = self.open.remove(settled.call.as_str());
            if let Some(calls) = tool.and_then(|tool| self.tools.get_mut(&tool)) {
                calls.failed += u64::from(settled.outcome != ToolOutcome::Completed);
            }
        }
    }
}
