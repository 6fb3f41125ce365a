//! Where a text may occur: an index of the words of a session, so that only records that may contain a text are read.
//!
//! A page records which texts its records do not contain (a filter over all runs of three bytes), what changed the
//! model's view, and what belongs together: an input and its promotion, a call and its settlement, a step.

use super::changes;
use crate::SessionAt;
use annals_core::event::{InputEvent, ProfileEvent, Purpose, SessionEvent, StepEvent, ToolEvent};
use annals_core::text::Texts;
use annals_core::{Blobs, CallId, Digest, Event, InputId, Record, Seq, kinds};
use annals_store::ReadError;
use annals_store::views::{Leaf, Page};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;

/// How many bytes a text needs for the index to help.
pub(super) const LEAST: usize = 3;

/// What an index says of some records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Words {
    filter: Filter,
    /// Events that may change the model's view, apart from what they add themselves.
    turning: Vec<Seq>,
    /// Where answers began.
    steps: Vec<Seq>,
    /// An input's admission, and where it was promoted or withdrawn.
    inputs: Vec<(Seq, Seq)>,
    /// A call, and where it progressed or was settled.
    calls: Vec<(Seq, Seq)>,
    /// What was open at its end.
    open: OpenWork,
    #[serde(skip)]
    seen: TrigramSet,
}

/// What is open between two pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OpenWork {
    waiting: Vec<(InputId, Seq)>,
    calls: Vec<(CallId, Seq)>,
    /// The agent profile and the tools that the newest turn request named.
    given: Option<(Digest, Option<Digest>)>,
    /// Whether one was recorded since.
    recorded: bool,
}

impl Page for Words {
    const NAME: &'static str = "words";
    const VERSION: u32 = 3;

    fn next(&self) -> Self {
        Self { open: self.open.clone(), ..Self::default() }
    }

    fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        let (seq, open) = (record.seq, &mut self.open);
        texts(record.event, blobs, &mut |text| self.seen.take(text));
        match record.event {
            Event::Input(event) => match event {
                InputEvent::Admitted(admitted) => open.waiting.push((admitted.input.clone(), seq)),
                InputEvent::Promoted(promoted) => self.inputs.extend(taken(&mut open.waiting, &promoted.input, seq)),
                InputEvent::Withdrawn(withdrawn) => self.inputs.extend(taken(&mut open.waiting, &withdrawn.input, seq)),
                InputEvent::DeliveryChanged(_) | InputEvent::Configured(_) => {}
            },
            Event::Tool(event) => match event {
                ToolEvent::Called(called) => {
                    open.calls.retain(|(call, _)| *call != called.call);
                    open.calls.push((called.call.clone(), seq));
                }
                ToolEvent::Progressed(progressed) => {
                    let called = open.calls.iter().find(|(call, _)| *call == progressed.call);
                    self.calls.extend(called.map(|(_, called)| (*called, seq)));
                }
                ToolEvent::Settled(settled) => self.calls.extend(taken(&mut open.calls, &settled.call, seq)),
            },
            Event::Step(event) => match event {
                StepEvent::Started(_) => self.steps.push(seq),
                StepEvent::RequestSent(sent) if sent.purpose == Purpose::Turn => {
                    let given = Some((sent.agent_profile, sent.tools));
                    // A request that is given what the one before was changes nothing, unless something new could be named.
                    if open.given != given || open.recorded {
                        self.turning.push(seq);
                    }
                    (open.given, open.recorded) = (given, false);
                }
                StepEvent::RequestSent(_)
                | StepEvent::RequestRecorded(_)
                | StepEvent::AnswerRecorded(_)
                | StepEvent::Ended(_)
                | StepEvent::Failed(_)
                | StepEvent::RetryScheduled(_)
                | StepEvent::TextEnded(_)
                | StepEvent::ReasoningEnded(_) => {}
            },
            Event::Profile(event) => match event {
                ProfileEvent::AgentRecorded(_) | ProfileEvent::ToolsRecorded(_) => open.recorded = true,
                ProfileEvent::ModelRecorded(_) | ProfileEvent::OptionsRecorded(_) => {}
            },
            Event::Session(SessionEvent::Forked(_)) => {
                open.waiting.clear();
                self.turning.push(seq);
            }
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Context,
                Permission,
                Compaction,
                Message,
                Files,
                Child,
                Erasure
            ) => self.turning.extend(changes(record.event).map(|_| seq)),
        }
    }

    fn close(&mut self, _: &dyn Blobs) {
        self.filter = std::mem::take(&mut self.seen).into_filter();
    }
}

/// Ends what was open under a name: where it began and where it ended.
fn taken<K: PartialEq>(open: &mut Vec<(K, Seq)>, name: &K, end: Seq) -> Option<(Seq, Seq)> {
    let at = open.iter().rposition(|(open, _)| open == name)?;
    Some((open.remove(at).1, end))
}

/// Every text of an event.
fn texts(event: &Event, blobs: &dyn Blobs, see: &mut dyn FnMut(&str)) {
    if let Event::Profile(ProfileEvent::ToolsRecorded(recorded)) = event {
        recorded.tools.iter().for_each(|tool| see(&tool.name));
    }
    // Texts are visited as what can be moved to blobs, so that a copy is lent.
    event.clone().texts(&mut |text| see(&text.resolve(blobs)));
}

/// Makes the index, where pages are kept.
pub(super) async fn index(past: &SessionAt) -> Result<(), ReadError> {
    past.pages(|_: Leaf<Words>| {}).await
}

/// The records that say all there is to say of a text: those that hold it, those they belong together with, and those
/// that moved the model's view. `None` when the text is too short for the index.
pub(super) async fn wanted(past: &SessionAt, text: &str) -> Result<Option<BTreeSet<Seq>>, ReadError> {
    if text.len() < LEAST {
        return Ok(None);
    }
    let (mut pages, mut may): (Vec<Leaf<Words>>, Vec<(Seq, Seq)>) = (Vec::new(), Vec::new());
    past.pages(|mut leaf: Leaf<Words>| {
        if std::mem::take(&mut leaf.page.filter).may_hold(text) {
            may.push((leaf.from, leaf.until));
        }
        leaf.page.open = OpenWork::default();
        pages.push(leaf);
    })
    .await?;
    let (mut wanted, mut fragments) = (BTreeSet::new(), BTreeSet::new());
    for (from, until) in may {
        past.each(from, until, |record| {
            let mut holds = false;
            texts(record.event, past.blobs(), &mut |held| holds |= held.contains(text));
            if holds {
                wanted.insert(record.seq);
                if matches!(
                    record.event,
                    Event::Step(StepEvent::TextEnded(_))
                        | Event::Step(StepEvent::ReasoningEnded(_))
                        | Event::Tool(ToolEvent::Called(_))
                ) {
                    fragments.insert(record.seq);
                }
            }
        })
        .await?;
    }
    if wanted.is_empty() {
        return Ok(Some(wanted));
    }
    let calls = || pages.iter().flat_map(|leaf| &leaf.page.calls);
    let inputs = pages.iter().flat_map(|leaf| &leaf.page.inputs);
    let called: BTreeSet<Seq> = calls()
        .filter(|(called, end)| wanted.contains(called) || wanted.contains(end))
        .map(|(called, _)| *called)
        .collect();
    let ends: Vec<Seq> = calls().filter(|(call, _)| called.contains(call)).map(|(_, end)| *end).collect();
    let joined: Vec<Seq> = inputs.filter(|(admitted, _)| wanted.contains(admitted)).map(|(_, end)| *end).collect();
    fragments.extend(called.iter().copied());
    let steps: Vec<Seq> = pages.iter().flat_map(|leaf| &leaf.page.steps).copied().collect();
    let begun = fragments.iter().filter_map(|fragment| {
        let after = steps.partition_point(|step| step <= fragment);
        after.checked_sub(1).and_then(|at| steps.get(at)).copied()
    });
    wanted.extend(begun);
    wanted.extend(called.into_iter().chain(ends).chain(joined));
    wanted.extend(pages.iter().flat_map(|leaf| &leaf.page.turning).copied());
    Ok(Some(wanted))
}

/// Up to this many runs are kept as a list; more as one bit for each possible run, in 2 MiB.
const FEW: usize = 8_192;

/// Which runs of three bytes were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TrigramSet {
    few: Vec<u32>,
    bits: Vec<u64>,
}

/// All runs of three bytes in a text.
fn runs(text: &str) -> impl Iterator<Item = u32> {
    text.as_bytes().windows(LEAST).map(|run| run.iter().fold(0, |run, byte| run << 8 | u32::from(*byte)))
}

impl TrigramSet {
    fn take(&mut self, text: &str) {
        if self.bits.is_empty() && self.few.len() + text.len() <= FEW {
            self.few.extend(runs(text));
            return;
        }
        if self.bits.is_empty() {
            self.bits = vec![0; 1 << 18];
        }
        for run in std::mem::take(&mut self.few).into_iter().chain(runs(text)) {
            if let Some(word) = self.bits.get_mut((run >> 6) as usize) {
                *word |= 1 << (run & 63);
            }
        }
    }

    /// Each run once.
    fn into_runs(mut self) -> Vec<u32> {
        for (at, word) in (0..).zip(&self.bits).filter(|(_, word)| **word != 0) {
            self.few.extend((0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| at << 6 | bit));
        }
        self.few.sort_unstable();
        self.few.dedup();
        self.few
    }

    /// A filter of eight to sixteen bits for each run.
    fn into_filter(self) -> Filter {
        let runs = self.into_runs();
        let bytes = runs.len().next_power_of_two().clamp(8, 1 << 21);
        let mut filter = Filter { bits: vec![0; bytes] };
        runs.into_iter().for_each(|run| filter.set(run));
        filter
    }
}

/// Which runs of three bytes some texts do not hold. It may take a run for one that they hold, never the other way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Filter {
    /// A power of two of bytes, at least 8; none at all before the page is closed.
    bits: Vec<u8>,
}

impl Filter {
    /// The two places of a run: a byte each, and the bit in it.
    fn places(&self, run: u32) -> [(usize, u8); 2] {
        // The finaliser of SplitMix64: runs of text differ in few bits, their places must not.
        let mut mixed = u64::from(run).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let width = (self.bits.len() as u64 * 8).trailing_zeros().min(31);
        [mixed >> 32, mixed & u64::from(u32::MAX)].map(|half| {
            let place = half >> (32 - width);
            ((place >> 3) as usize, 1 << (place & 7))
        })
    }

    fn set(&mut self, run: u32) {
        for (byte, bit) in self.places(run) {
            if let Some(byte) = self.bits.get_mut(byte) {
                *byte |= bit;
            }
        }
    }

    /// Whether the texts may hold this one.
    fn may_hold(&self, text: &str) -> bool {
        runs(text).all(|run| {
            let places = self.places(run);
            places.into_iter().all(|(byte, bit)| self.bits.get(byte).is_none_or(|byte| byte & bit != 0))
        })
    }
}

impl TryFrom<Vec<u8>> for Filter {
    type Error = &'static str;

    fn try_from(bits: Vec<u8>) -> Result<Self, Self::Error> {
        match bits.len() >= 8 && bits.len().is_power_of_two() {
            true => Ok(Self { bits }),
            false => Err("a filter has a power of two of bits, at least 64"),
        }
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.bits)
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bits;
        impl Visitor<'_> for Bits {
            type Value = Filter;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("the bits of a filter")
            }

            fn visit_bytes<E: serde::de::Error>(self, bits: &[u8]) -> Result<Filter, E> {
                bits.to_vec().try_into().map_err(E::custom)
            }
        }
        deserializer.deserialize_bytes(Bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_never_denies_what_its_texts_hold_and_denies_most_of_what_they_do_not() {
        let text: String = (0..4_000).map(|n| format!("word{n} ")).collect();
        let mut seen = TrigramSet::default();
        seen.take(&text);
        seen.take("ab");
        let filter = seen.into_filter();
        assert!((0..4_000).all(|n| filter.may_hold(&format!("word{n}"))));
        let other = (0..1_000).filter(|n| filter.may_hold(&format!("Xq{}z", n * 7_919))).count();
        assert!(other < 10, "{other} of 1,000 texts that are not there were taken for some that may be");
        assert!(Filter::try_from(vec![0; 4]).is_err() && Filter::try_from(vec![0; 24]).is_err());
    }

    #[test]
    fn a_page_of_no_text_holds_none() {
        let mut words = Words::default();
        words.close(&annals_core::NoBlobs);
        assert!(!words.filter.may_hold("abc"));
    }
}
