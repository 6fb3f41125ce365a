//! When the model knew something: when a text entered its view and through what, when it left and by what.
//!
//! A place that holds the text is found in the event that put it there; from then on the folds of history and epochs
//! alone say whether it is in view. What one message is shown by does not depend on what the others say: so the folds are
//! given the records of the places that hold the text, and those that move the view. An index of words says which.

mod bodies;
mod holds;
mod occurrence;
mod words;

pub use occurrence::{Missed, Reason, Through};

use super::{AskError, Fact, Lack, RequestIndex, SessionAt};
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, MessageEvent, Purpose, SessionEvent, StepEvent,
};
use annals_core::{Event, Record, Seq, kinds};
use annals_projections::{Epochs, History, Projection};
use annals_store::ReadError;
use holds::Holds;
use occurrence::{Holder, Occurrence};
use serde::Serialize;
use std::collections::BTreeSet;

/// Where and when a text was in the model's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct When {
    /// The text.
    pub text: String,
    /// Every place that held it, in the order of creation.
    pub sightings: Vec<Sighting>,
    /// Events that hold it and never showed it to the model.
    pub missed: Vec<Missed>,
    /// What the log lacks of the newest request: a text that is in no place may have been in there.
    pub lacks: BTreeSet<Lack>,
}

/// A place that held the text in the model's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sighting {
    /// The event whose text it is.
    pub fact: Fact,
    /// What it came through.
    pub through: Through,
    /// The user turn, from 1; 0 before the first.
    pub turn: u64,
    /// Each time it was in view, in order.
    pub stays: Vec<Stay>,
}

/// A time in the model's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stay {
    /// The event with which it entered.
    pub entered: Fact,
    /// The event with which it left, and how; `None` when it is still there.
    pub left: Option<Left>,
    /// The first request that carried it.
    pub first: Option<u64>,
    /// The last request that carried it.
    pub last: Option<u64>,
}

/// How something left the model's view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Left {
    /// The event.
    #[serde(flatten)]
    pub fact: Fact,
    /// The cause.
    pub by: LeftBy,
}

/// What took something out of the model's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeftBy {
    /// A compaction covered it.
    Compaction,
    /// A prune cleared the output.
    Prune,
    /// A committed revert removed it.
    Revert,
    /// A new Context Epoch began.
    Epoch(EpochCause),
    /// The session moved; its Context Epoch ended.
    Move,
    /// An undone compaction gave back what it had summarised.
    CompactionUndone,
    /// It was pinned no more.
    Unpinned,
    /// The agent replaced it in what it sends, or leaves it out.
    Edited,
    /// Other agent text, tools or options were given.
    Reconfigured,
}

/// What can change the view of the model, apart from what an event itself adds.
fn changes(event: &Event) -> Option<LeftBy> {
    Some(match event {
        Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => LeftBy::Compaction,
        kinds!(Compaction(ToolOutputsPruned, ToolOutputsReduced, CallsReduced)) => LeftBy::Prune,
        Event::Compaction(CompactionEvent::Undone(_)) => LeftBy::CompactionUndone,
        Event::Files(FilesEvent::RevertCommitted(_)) => LeftBy::Revert,
        Event::Context(ContextEvent::EpochStarted(started)) => LeftBy::Epoch(started.cause),
        Event::Session(SessionEvent::Moved(_)) => LeftBy::Move,
        Event::Message(MessageEvent::Edited(_)) => LeftBy::Edited,
        // A pin brings back; it takes nothing away.
        Event::Message(MessageEvent::Unpinned(_) | MessageEvent::Pinned(_)) => LeftBy::Unpinned,
        kinds!(
            Compaction(Started, Failed),
            Files(
                Captured,
                Summarised,
                RevertStaged,
                RevertCleared,
                RestoreBegun,
                RestoreAbandoned,
                DepartureBegun,
                DepartureEnded
            ),
            Context(EpochReplacementBlocked, Admitted, SnapshotAdvanced, InstructionDiscovered),
            Session(Created, Forked, Titled, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
            Message(SyntheticAdded, ShellRan, TodoUpdated, RedactionApplied, UnknownPart),
            Input,
            Profile,
            Step,
            Tool,
            Permission,
            Child,
            Erasure
        ) => return None,
    })
}

struct TextSearch<'a> {
    past: &'a SessionAt,
    steps: &'a RequestIndex,
    holds: Holds<'a>,
    history: History,
    epochs: Epochs,
    found: Vec<TextMatch>,
    /// The places in `found` of those that requests name.
    configured: Vec<usize>,
    /// The indices in `found` of the others, by the message that contains them.
    placed: BTreeSet<(Seq, usize)>,
    /// Those of the others that are in view.
    in_view: BTreeSet<usize>,
    /// Whether messages that a compaction covered are evicted, so that a long session costs no more than what is in view.
    evicts: bool,
}

struct TextMatch {
    holder: Holder,
    sighting: Sighting,
}

/// Answers when a text was in the model's view. Reads what may hold it; the whole log for a text of one or two bytes.
pub async fn ask(past: &SessionAt, text: &str) -> Result<When, AskError> {
    let wanted = words::wanted(past, text).await?;
    answer(past, text, wanted.as_ref(), true).await
}

/// Makes the index of words, where pages are kept.
pub(crate) async fn index(past: &SessionAt) -> Result<(), ReadError> {
    words::index(past).await
}

/// The same answer from all records, with everything in memory: what the index and evicting must agree with.
pub async fn ask_all(past: &SessionAt, text: &str) -> Result<When, AskError> {
    answer(past, text, None, false).await
}

/// The answer that some records give; without any named, all of them.
async fn answer(past: &SessionAt, text: &str, wanted: Option<&BTreeSet<Seq>>, evicts: bool) -> Result<When, AskError> {
    let steps = past.steps().await?;
    let mut fold = TextSearch::new(past, &steps, text, evicts);
    fold.read(wanted).await?;
    if fold.history.is_stale() {
        // A revert, a pin or an undone compaction returned what had been evicted.
        fold = TextSearch::new(past, &steps, text, false);
        fold.read(wanted).await?;
    }
    let lacks = lacks(&steps);
    let TextSearch { found, mut holds, .. } = fold;
    // In the memory of what was found: a text may be in every event.
    let seen = found.into_iter().filter_map(|TextMatch { sighting, .. }| {
        if sighting.stays.is_empty() {
            holds.miss(sighting.fact, Reason::NotSent);
        }
        Some(sighting).filter(|sighting| !sighting.stays.is_empty())
    });
    let mut sightings: Vec<Sighting> = seen.collect();
    let turns = steps.requests.iter().filter(|step| step.purpose == Purpose::Turn);
    let turns: Vec<(Seq, u64)> = turns.map(|step| (step.seq, step.number)).collect();
    for stay in sightings.iter_mut().flat_map(|sighting| &mut sighting.stays) {
        carried(stay, &turns, past.until);
    }
    let mut when = When { text: text.to_owned(), sightings, missed: holds.missed(), lacks };
    if steps.is_recording() {
        bodies::hold(past, &steps, &mut when).await?;
    }
    Ok(when)
}

/// What the log lacks of the requests of an agent that does not record them.
fn lacks(steps: &RequestIndex) -> BTreeSet<Lack> {
    let mut turns = steps.requests.iter().filter(|step| step.purpose == Purpose::Turn);
    if turns.all(|step| step.recorded) {
        return BTreeSet::new();
    }
    let baseline = (!steps.has_baseline()).then_some(Lack::Baseline);
    baseline.into_iter().chain([Lack::Request, Lack::AgentText, Lack::Tools]).collect()
}

/// Which requests carried it: the turn requests between entering and leaving.
fn carried(stay: &mut Stay, turns: &[(Seq, u64)], until: Seq) {
    // A configuration enters with the request that names it, so that this one is within.
    let from = turns.partition_point(|(seq, _)| *seq < stay.entered.seq);
    let until = stay.left.as_ref().map_or(until, |left| left.fact.seq);
    let until = turns.partition_point(|(seq, _)| *seq < until);
    let carried = turns.get(from..until).unwrap_or_default();
    stay.first = carried.first().map(|(_, number)| *number);
    stay.last = carried.last().map(|(_, number)| *number);
}

impl<'a> TextSearch<'a> {
    fn new(past: &'a SessionAt, steps: &'a RequestIndex, text: &'a str, evicts: bool) -> Self {
        Self {
            past,
            steps,
            holds: Holds::new(text, past.blobs()),
            history: History::default(),
            epochs: Epochs::default(),
            found: Vec::new(),
            configured: Vec::new(),
            placed: BTreeSet::new(),
            in_view: BTreeSet::new(),
            evicts,
        }
    }

    async fn read(&mut self, wanted: Option<&BTreeSet<Seq>>) -> Result<(), ReadError> {
        let past = self.past;
        match wanted {
            Some(wanted) => past.at(wanted, |record| self.take(record)).await,
            None => past.each(Seq::ZERO, past.until, |record| self.take(record)).await,
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        if self.history.is_stale() {
            return;
        }
        self.apply(record);
        if self.evicts
            && matches!(record.event, Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)))
        {
            self.history.evict();
        }
    }

    fn apply(&mut self, record: &Record<'_>) {
        self.history.apply(record);
        self.epochs.apply(record);
        let fact = Fact::of(record, self.past.session);
        let first_new = self.found.len();
        for Occurrence { holder, fact, through } in self.holds.take(record, fact) {
            let turn = self.steps.turn(record.seq);
            match holder.place() {
                Some(place) => {
                    self.placed.insert((place, self.found.len()));
                }
                None => self.configured.push(self.found.len()),
            }
            self.found.push(TextMatch { holder, sighting: Sighting { fact, through, turn, stays: Vec::new() } });
        }
        let new = first_new..self.found.len();
        if let Event::Step(StepEvent::RequestSent(sent)) = record.event
            && sent.purpose == Purpose::Turn
        {
            for at in &self.configured {
                if let Some(found) = self.found.get_mut(*at) {
                    found.see(found.holder.is_named_by(sent), fact, LeftBy::Reconfigured);
                }
            }
            return;
        }
        let Some(by) = changes(record.event) else {
            // An event that adds a message adds it to what is selected: nothing else has to be looked at.
            new.for_each(|at| self.look(at, fact, LeftBy::Revert));
            return;
        };
        // What is in view may have left it; what is selected now may have come back.
        let mut looked_at: BTreeSet<usize> = self.in_view.clone();
        let baseline = self.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
        let places = self.history.selected().map(|message| message.seq).chain(baseline);
        let placed = |place| self.placed.range((place, 0)..=(place, usize::MAX)).map(|(_, at)| *at);
        looked_at.extend(places.flat_map(placed));
        looked_at.into_iter().for_each(|at| self.look(at, fact, by));
    }

    /// Looks whether something that was found is in view.
    fn look(&mut self, at: usize, fact: Fact, by: LeftBy) {
        let Some(found) = self.found.get_mut(at).filter(|found| found.holder.place().is_some()) else { return };
        let here = found.holder.is_in_view(&self.history, &self.epochs);
        found.see(here, fact, by);
        if here {
            self.in_view.insert(at);
        } else {
            self.in_view.remove(&at);
        }
    }
}

impl TextMatch {
    fn see(&mut self, here: bool, fact: Fact, by: LeftBy) {
        let stays = &mut self.sighting.stays;
        let open = stays.last_mut().filter(|stay| stay.left.is_none());
        match (open, here) {
            (None, true) => {
                // Most places are in view once.
                stays.reserve_exact(1);
                stays.push(Stay { entered: fact, left: None, first: None, last: None });
            }
            (Some(stay), false) => stay.left = Some(Left { fact, by }),
            (Some(_), true) | (None, false) => {}
        }
    }
}
