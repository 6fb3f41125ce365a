//! Who gave a sub-agent its work: the call of the session that started it, with its turn and prompts, and so on up to a session of a person.

use super::{Blame, BlameError, BlamedPrompt, prompts_at};
use crate::SessionAt;
use annals_core::event::{ChildEvent, InputEvent, StepEvent, ToolEvent};
use annals_core::{CallId, Event, InputId, Record, Seq, SessionId};
use annals_projections::Catalogue;
use serde::Serialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A call that gave work to a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegatedBy {
    /// The session of the call.
    pub session: SessionId,
    /// The event of the call.
    pub seq: Seq,
    /// The id of the call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The turn in that session.
    pub turn: Option<u64>,
    /// The prompts that led to it there, oldest first.
    pub prompts: Vec<BlamedPrompt>,
}

/// A call of the parent, and the prompts of its turn.
#[derive(Clone, Debug)]
struct DelegatingCall {
    seq: Seq,
    call: CallId,
    tool: String,
    prompts: Vec<Seq>,
}

/// Finds the calls of a session that gave work to one of its sub-agents, oldest first: one for each prompt of the sub-agent.
#[derive(Debug)]
struct DelegationFold<'a> {
    child: SessionId,
    /// The call that the sub-agent's first event names: other agents record nothing else.
    began: Option<&'a CallId>,
    found: Vec<DelegatingCall>,
    open: BTreeMap<CallId, DelegatingCall>,
    admitted: BTreeMap<InputId, Seq>,
    prompts: Vec<Seq>,
    answered: bool,
}

impl DelegationFold<'_> {
    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Input(InputEvent::Admitted(input)) => {
                self.admitted.insert(input.input.clone(), record.seq);
            }
            Event::Input(InputEvent::Promoted(_)) => {
                if std::mem::take(&mut self.answered) {
                    self.prompts.clear();
                }
                self.prompts.push(record.seq);
            }
            Event::Step(StepEvent::Started(_)) => self.answered = true,
            Event::Tool(ToolEvent::Called(called)) => {
                let (call, tool, prompts) = (called.call.clone(), called.name.clone(), self.prompts.clone());
                let call = DelegatingCall { seq: record.seq, call, tool, prompts };
                if self.began == Some(&called.call) {
                    self.found.push(call.clone());
                }
                self.open.insert(called.call.clone(), call);
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.open.remove(&settled.call);
            }
            Event::Child(ChildEvent::Started(started)) if started.child == self.child => {
                let call = started.call.as_ref().filter(|call| self.began != Some(*call));
                self.found.extend(call.and_then(|call| self.open.get(call)).cloned());
            }
            // Nothing else says who gave work to whom.
            _ => {}
        }
    }
}

/// The calls that led to a turn of a sub-agent, the nearest first; none for a session of a person.
async fn chain(past: &SessionAt, catalogue: &Catalogue, turn: Option<u64>) -> Result<Vec<DelegatedBy>, BlameError> {
    let (mut chain, mut seen) = (Vec::new(), BTreeSet::new());
    let (mut child, mut turn) = (past.session, turn);
    // A damaged log may claim a circle.
    while seen.insert(child) {
        let Some(parent) = catalogue.sessions.get(&child).and_then(|entry| entry.parent.as_ref()) else { break };
        let Some(entry) = catalogue.sessions.get(&parent.session) else { break };
        let above = past.of_session(parent.session, entry.next);
        let mut fold = DelegationFold {
            child,
            began: parent.call.as_ref(),
            found: Vec::new(),
            open: BTreeMap::new(),
            admitted: BTreeMap::new(),
            prompts: Vec::new(),
            answered: false,
        };
        above.each(Seq::ZERO, above.until, |record| fold.apply(record)).await?;
        // Each call that gives work is one prompt of the sub-agent.
        let number = turn.unwrap_or(1).saturating_sub(1).try_into().unwrap_or(usize::MAX);
        let Some(by) = fold.found.get(number).or(fold.found.last()) else { break };
        let wanted: BTreeSet<Seq> = by.prompts.iter().copied().collect();
        let texts = prompts_at(&above, &wanted, |input| fold.admitted.get(input).copied()).await?;
        let prompts: Vec<BlamedPrompt> = by.prompts.iter().filter_map(|seq| texts.get(seq).cloned()).collect();
        turn = prompts.last().and_then(|prompt| prompt.turn);
        let DelegatingCall { seq, call, tool, .. } = by.clone();
        chain.push(DelegatedBy { session: parent.session, seq, call, tool, turn, prompts });
        child = parent.session;
    }
    Ok(chain)
}

impl Blame {
    /// Names of each line that a sub-agent wrote the calls that gave it the work. `past` is the session of this answer.
    pub async fn name_delegations(&mut self, past: &SessionAt, catalogue: &Catalogue) -> Result<(), BlameError> {
        let mut known: BTreeMap<(SessionId, Option<u64>), Vec<DelegatedBy>> = BTreeMap::new();
        for line in &mut self.lines {
            let own = line.call.is_some().then_some((past.session, line.turn));
            let other = line.elsewhere.as_ref().map(|elsewhere| (elsewhere.session, elsewhere.turn));
            for (session, turn) in own.into_iter().chain(other) {
                if let Entry::Vacant(place) = known.entry((session, turn)) {
                    place.insert(chain(&past.of_session(session, Seq::ZERO), catalogue, turn).await?);
                }
            }
            line.delegated_by = own.and_then(|place| known.get(&place)).cloned().unwrap_or_default();
            if let (Some(elsewhere), Some(chain)) = (&mut line.elsewhere, other.and_then(|place| known.get(&place))) {
                // What led to it in the session that was asked about is in the line itself.
                let above = chain.iter().take_while(|by| by.session != past.session);
                elsewhere.delegated_by = above.cloned().collect();
            }
        }
        Ok(())
    }
}
