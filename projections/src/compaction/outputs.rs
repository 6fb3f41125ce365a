//! Which tool outputs are cleared or shortened in what a model reads, and which inputs and hosted results.

mod calls;

use super::{Answers, ContextLimits, estimate};
use crate::history::History;
use crate::message::{Body, Content, Message, Status, ToolCall};
use crate::request::attachments_chars;
use crate::shorten::{PRUNED, SHORTENED_ENDS, without_middle};
use crate::size::text_chars;
use alloc::vec::Vec;
use annals_core::event::{CallsReduced, ModelProfile};
use annals_core::{Blobs, CallId};
use calls::ShortCalls;

/// The tool whose output is never made smaller.
const SPARED_TOOL: &str = "skill";

/// What is made smaller, and what that wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPlan {
    /// Whose outputs are cleared, oldest first.
    pub cleared: Vec<CallId>,
    /// Whose outputs are shortened and not cleared, oldest first.
    pub shortened: Vec<CallId>,
    /// Whose inputs are shortened, oldest first.
    pub inputs: Vec<CallId>,
    /// Whose hosted results are shortened, oldest first.
    pub hosted: Vec<CallId>,
    /// Estimate of the cleared outputs in tokens.
    pub tokens: u64,
}

impl OutputPlan {
    /// Whether it makes nothing smaller.
    pub fn is_empty(&self) -> bool {
        [&self.cleared, &self.shortened, &self.inputs, &self.hosted].iter().all(|calls| calls.is_empty())
    }
}

impl From<OutputPlan> for CallsReduced {
    fn from(plan: OutputPlan) -> Self {
        let OutputPlan { cleared, shortened, inputs, hosted, tokens: _ } = plan;
        Self { calls: cleared, shortened, inputs, hosted }
    }
}

/// Plans a prune of old tool outputs, or `None` when it is not worth it
/// (`docs/reference/compaction.md#outputs-made-smaller`).
pub fn prune(history: &History, model: &ModelProfile, limits: &ContextLimits) -> Option<OutputPlan> {
    let mut spared = 0;
    let mut plan = OutputPlan::default();
    let candidates: Vec<ReducibleOutput<'_>> = candidates(history, model).filter(|it| !it.newest).collect();
    for candidate in candidates.iter().rev() {
        let tokens = estimate(candidate.tool.chars_as_read());
        spared += tokens;
        if spared > limits.spared {
            plan.tokens += tokens;
            plan.cleared.push(candidate.tool.call.clone());
        }
    }
    plan.cleared.reverse();
    (!plan.cleared.is_empty() && plan.tokens >= limits.worth).then_some(plan)
}

/// Plans to shorten results that no answer has read, so that a request of `chars` characters fits the limits. `None` where
/// that is not enough.
pub fn shorten_unread(
    history: &History,
    model: &ModelProfile,
    chars: u64,
    limits: &ContextLimits,
    blobs: &dyn Blobs,
) -> Option<OutputPlan> {
    let unread = Answers::of(history, model).unread?;
    let candidates = candidates(history, model).filter(|it| it.newest && it.message.seq == unread);
    let mut sizes = MeasuredRequest::new(candidates, chars, limits, blobs);
    sizes.shorten().then(|| sizes.plan())
}

/// Plans to shorten, and if that is not enough to clear, outputs of any age, and then to shorten inputs of calls and hosted
/// results, so that a request of `chars` characters fits the limits. `None` where all of it is not enough.
pub fn cut(
    history: &History,
    model: &ModelProfile,
    chars: u64,
    limits: &ContextLimits,
    blobs: &dyn Blobs,
) -> Option<OutputPlan> {
    let mut sizes = MeasuredRequest::new(candidates(history, model), chars, limits, blobs);
    if sizes.shorten() || sizes.clear(false) || sizes.clear(true) {
        return Some(sizes.plan());
    }
    let ShortCalls { inputs, hosted } = ShortCalls::fitting(history, model, sizes.chars, limits, blobs)?;
    Some(OutputPlan { inputs, hosted, ..sizes.plan() })
}

/// A completed output that may be made smaller.
struct ReducibleOutput<'a> {
    message: &'a Message,
    tool: &'a ToolCall,
    /// Whether it is of the newest answer that is sent.
    newest: bool,
}

/// The candidates, oldest first.
fn candidates<'a>(history: &'a History, model: &ModelProfile) -> impl Iterator<Item = ReducibleOutput<'a>> + use<'a> {
    let newest = Answers::of(history, model).newest;
    let messages = history.selected().filter(|message| !history.is_pinned(message.seq));
    let calls = messages.flat_map(|message| {
        match &message.body {
            Body::Assistant(assistant) => assistant.content.as_slice(),
            _ => &[],
        }
        .iter()
        .map(move |content| (message, content))
    });
    calls.filter_map(move |(message, content)| match content {
        Content::Tool(tool) if can_shrink(tool) => {
            Some(ReducibleOutput { message, tool, newest: newest == Some(message.seq) })
        }
        _ => None,
    })
}

/// Results of hosted calls are part of the answer that contains them: every request sends them whole.
fn can_shrink(tool: &ToolCall) -> bool {
    let completed = tool.status == Status::Completed && !tool.hosted && tool.name != SPARED_TOOL;
    completed && tool.pruned.is_none() && tool.chars_as_read() > PRUNED.len() as u64
}

/// How an output is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Unchanged,
    Shortened,
    Cleared,
}

/// A candidate with its sizes.
struct MeasuredOutput<'a> {
    candidate: ReducibleOutput<'a>,
    /// Characters as read.
    chars: u64,
    /// The same in JSON, with attachments.
    in_json: u64,
    /// The attachments in JSON: a cleared output has none.
    attached: u64,
    reading: Reading,
}

/// A request whose outputs are made smaller one after another.
struct MeasuredRequest<'a> {
    outputs: Vec<MeasuredOutput<'a>>,
    /// Characters of the request.
    chars: u64,
    limits: &'a ContextLimits,
    blobs: &'a dyn Blobs,
}

impl<'a> MeasuredRequest<'a> {
    fn new(
        candidates: impl Iterator<Item = ReducibleOutput<'a>>,
        chars: u64,
        limits: &'a ContextLimits,
        blobs: &'a dyn Blobs,
    ) -> Self {
        let sized = |candidate: ReducibleOutput<'a>| {
            let tool = candidate.tool;
            let attached = attachments_chars(&tool.attachments, blobs);
            let in_json = text_chars(&tool.output_as_read(blobs)) + attached;
            MeasuredOutput { chars: tool.chars_as_read(), in_json, attached, reading: Reading::Unchanged, candidate }
        };
        Self { outputs: candidates.map(sized).collect(), chars, limits, blobs }
    }

    fn fits(&self) -> bool {
        !self.limits.exceeded_by(self.chars)
    }

    /// Shortens outputs, the largest first, until the request fits; returns whether it does.
    fn shorten(&mut self) -> bool {
        for at in self.largest_first(|_| true) {
            if self.fits() {
                break;
            }
            let tool = self.outputs.get(at).map(|output| output.candidate.tool);
            let Some(tool) = tool.filter(|tool| tool.shortened.is_none()) else { continue };
            let Some(short) = without_middle(&tool.output.resolve(self.blobs), SHORTENED_ENDS) else { continue };
            let attached = self.outputs.get(at).map_or(0, |output| output.attached);
            self.read(at, Reading::Shortened, short.chars().count() as u64, text_chars(&short) + attached);
        }
        self.fits()
    }

    /// Clears outputs of older answers, or of the newest, the largest first, until the request fits; returns whether it
    /// does.
    fn clear(&mut self, newest: bool) -> bool {
        for at in self.largest_first(|output| output.candidate.newest == newest) {
            if self.fits() {
                break;
            }
            self.read(at, Reading::Cleared, PRUNED.len() as u64, text_chars(PRUNED));
        }
        self.fits()
    }

    /// Indices of outputs, the largest as read first, the older one of equals first.
    fn largest_first(&self, of: impl Fn(&MeasuredOutput<'_>) -> bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.outputs.len()).collect();
        order.retain(|at| self.outputs.get(*at).is_some_and(&of));
        order.sort_by_key(|at| core::cmp::Reverse(self.outputs.get(*at).map_or(0, |output| output.chars)));
        order
    }

    fn read(&mut self, at: usize, reading: Reading, chars: u64, in_json: u64) {
        if let Some(output) = self.outputs.get_mut(at) {
            self.chars = (self.chars + in_json).saturating_sub(output.in_json);
            (output.reading, output.chars, output.in_json) = (reading, chars, in_json);
        }
    }

    fn plan(&self) -> OutputPlan {
        let of = |reading: Reading| {
            let read = self.outputs.iter().filter(move |output| output.reading == reading);
            read.map(|output| output.candidate.tool)
        };
        OutputPlan {
            cleared: of(Reading::Cleared).map(|tool| tool.call.clone()).collect(),
            shortened: of(Reading::Shortened).map(|tool| tool.call.clone()).collect(),
            tokens: of(Reading::Cleared).map(|tool| estimate(tool.chars_as_read())).sum(),
            ..OutputPlan::default()
        }
    }
}
