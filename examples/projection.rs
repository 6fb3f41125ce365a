//! Writes a projection: how often each tool was called in a session, and how often that failed.
//!
//! `cargo run -p annals-examples --bin projection [FILE]`

use annals_core::event::{ToolEvent, ToolOutcome};
use annals_core::{CallId, Event, Record, Seq};
use annals_import::{ImportOptions, import, recognise};
use annals_projections::Projection;
use annals_store::{EventLog, MemoryLog};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/opencode/v2/tools.events.jsonl");

/// Calls by tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ToolUse {
    /// By tool: the number of calls, and of those that did not complete.
    tools: BTreeMap<String, (u64, u64)>,
    /// The tool of each call that has not been settled.
    open: BTreeMap<CallId, String>,
}

impl Projection for ToolUse {
    const NAME: &'static str = "tool-use";
    const VERSION: u32 = 1;

    // Pure and total: the same records give the same view, and no record is refused.
    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Tool(ToolEvent::Called(called)) => {
                self.tools.entry(called.name.clone()).or_default().0 += 1;
                self.open.insert(called.call.clone(), called.name.clone());
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                let name = self.open.remove(&settled.call);
                let failed = settled.outcome != ToolOutcome::Completed;
                if let Some((_, failures)) = name.and_then(|name| self.tools.get_mut(&name)) {
                    *failures += u64::from(failed);
                }
            }
            _ => {}
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map_or_else(|| RECORDED.into(), PathBuf::from);
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    import(&log, &recognise(&file)?, &ImportOptions::default(), &mut |_| {}).await?;
    for head in log.sessions().all().await? {
        let mut view = ToolUse::default();
        for slice in log.read(head.session, Seq::ZERO, usize::MAX).await? {
            slice.records().for_each(|record| view.apply(&record));
        }
        for (tool, (calls, failures)) in &view.tools {
            println!("{tool}: {calls} calls, {failures} did not complete, {} open", view.open.len());
        }
    }
    Ok(())
}
