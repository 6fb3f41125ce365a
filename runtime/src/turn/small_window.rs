//! Small windows: where system text and tool definitions would take too much of a request, fewer tools are offered, in fewer
//! words (`docs/reference/compaction.md#small-windows`).

use super::{Runner, Stop};
use crate::outcome::RunError;
use crate::tools::Offered;
use annals_core::event::{AgentProfile, ModelProfile};
use annals_core::{Blobs, canonical};
use annals_projections::{SessionView, estimate};

/// Sizes of what every request of a turn contains, in tokens.
struct FixedParts {
    system: u64,
    tools: u64,
}

impl FixedParts {
    fn of(agent: &AgentProfile, offered: &Offered, view: &SessionView, blobs: &dyn Blobs) -> Self {
        let own = agent.system.as_ref().map_or(0, |text| text.chars());
        let baseline = view.epochs.current.as_ref().map_or(0, |epoch| epoch.text(blobs).chars().count() as u64);
        let tools = serde_json::to_value(&offered.definitions().tools).unwrap_or_default();
        let tools = if offered.is_empty() { 0 } else { canonical::value(&tools).chars().count() as u64 };
        Self { system: estimate(own + baseline), tools: estimate(tools) }
    }

    fn sum(&self) -> u64 {
        self.system + self.tools
    }
}

/// What a turn offers and what it leaves out: all of it; or all but the tools that the settings call dispensable; or those that they name
/// for small windows, with short descriptions. Each where system text and tools would else take more than a third of the largest request.
///
/// # Errors
/// [`RunError::WindowTooSmall`] where even these leave less than a quarter of it to the conversation.
pub(super) fn fitted(
    runner: &Runner,
    agent: &AgentProfile,
    model: &ModelProfile,
    offered: Offered,
    view: &SessionView,
) -> Result<(Offered, Vec<String>), Stop> {
    let settings = &runner.shared.settings;
    let (Some(kept), Some(limit)) = (&settings.small_window_tools, settings.compaction.limits(model).request) else {
        return Ok((offered, Vec::new()));
    };
    let blobs = runner.lane.blobs();
    if FixedParts::of(agent, &offered, view, &*blobs).sum() <= limit / 3 {
        return Ok((offered, Vec::new()));
    }
    let names = |offered: &Offered| -> Vec<String> {
        offered.tools().iter().map(|tool| tool.definition().name.clone()).collect()
    };
    let all = names(&offered);
    let left_out = |offered: &Offered| -> Vec<String> {
        let offered = names(offered);
        all.iter().filter(|name| !offered.contains(name)).cloned().collect()
    };
    let lesser = offered.without_named(&settings.dispensable_tools);
    if FixedParts::of(agent, &lesser, view, &*blobs).sum() <= limit / 3 {
        let left_out = left_out(&lesser);
        return Ok((lesser, left_out));
    }
    let reduced = lesser.brief(kept);
    let fixed = FixedParts::of(agent, &reduced, view, &*blobs);
    if fixed.sum() > limit - limit / 4 {
        let FixedParts { system, tools } = fixed;
        return Err(RunError::WindowTooSmall { model: model.model.clone(), limit, system, tools }.into());
    }
    let left_out = left_out(&reduced);
    Ok((reduced, left_out))
}
