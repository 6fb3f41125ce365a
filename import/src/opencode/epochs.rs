//! Context epochs of OpenCode V2. They are not in its event log, but in one row that each new epoch replaces.
//!
//! The event log shows where epochs start (before the first promotion, after a compaction); the row has the text and the
//! snapshot of the last one. An epoch that an earlier import recorded is kept, since the row no longer contains it.

use super::super::foreign::{JsonObject, Notes};
use super::super::sink::KnownContext;
use annals_core::event::{EpochCause, EpochStarted, Location, Part};
use annals_core::{AgentName, Entry, Json, Key, Text, Time};
use std::collections::BTreeMap;

/// The row of `session_context_epoch`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpochRow {
    /// The exact text.
    pub baseline: String,
    /// The current context snapshot, in the order of composition.
    pub entries: Vec<(Key, Entry)>,
    /// The foreign seq after which the epoch started.
    pub baseline_seq: u64,
}

impl EpochRow {
    /// Reads the row's values; `snapshot` is its JSON. `None` when a key or value is not as OpenCode writes it.
    pub fn read(baseline: String, snapshot: &str, baseline_seq: u64, notes: &Notes) -> Option<Self> {
        let object = JsonObject::parse(snapshot, "session_context_epoch.snapshot", notes).ok()?;
        let names: Vec<String> = object.names().map(str::to_owned).collect();
        let mut entries = Vec::new();
        for name in names {
            let source = object.object(&name)?;
            let value = serde_json::from_str(source.raw("value")?.get()).ok()?;
            let removed = source.text("removed").filter(|text| !text.is_empty()).map(Text::from);
            entries.push((name.parse().ok()?, Entry { value: Json::canonical(&value), removed }));
        }
        Some(Self { baseline, entries, baseline_seq })
    }

    /// The snapshot by key.
    pub fn snapshot(&self) -> BTreeMap<Key, Entry> {
        self.entries.iter().cloned().collect()
    }

    /// The baseline in keyed parts, divided where the texts of OpenCode's renderers start. A baseline that cannot be divided
    /// is one part, `opencode/baseline`.
    fn parts(&self) -> Vec<Part> {
        const STARTS: [(&str, &str); 4] = [
            ("core/environment", "Here is some useful information about the environment you are running in:\n"),
            ("core/date", "Today's date: "),
            ("core/instructions", "Instructions from: "),
            ("core/skill-guidance", "Skills provide specialized instructions and workflows for specific tasks.\n"),
        ];
        let mut parts = Vec::new();
        let mut rest = self.baseline.as_str();
        let known = |key: &str| self.entries.iter().any(|(entry, _)| entry.as_str() == key);
        for (at, (key, start)) in STARTS.iter().enumerate() {
            if !rest.starts_with(start) || !known(key) {
                continue;
            }
            let later = || STARTS.iter().skip(at + 1).filter(|(key, _)| known(key));
            // A text may quote a later start; guidance on skills comes last, so its last occurrence counts.
            let cut = later().filter_map(|(_, next)| {
                let needle = format!("\n\n{next}");
                if *key == "core/instructions" { rest.rfind(&needle) } else { rest.find(&needle) }
            });
            let (text, after) = match cut.min() {
                Some(end) => (rest.get(..end), rest.get(end + 2..)),
                None => (Some(rest), Some("")),
            };
            let (Some(text), Some(after), Ok(key)) = (text, after, key.parse()) else { break };
            parts.push(Part { key, text: text.into() });
            rest = after;
        }
        let keys: Vec<&Key> = parts.iter().map(|part| &part.key).collect();
        let joined = parts.iter().filter_map(|part| part.text.inline()).collect::<Vec<_>>().join("\n\n");
        if joined == self.baseline && !keys.is_empty() {
            return parts;
        }
        "opencode/baseline"
            .parse()
            .map(|key| vec![Part { key, text: self.baseline.as_str().into() }])
            .unwrap_or_default()
    }
}

/// An epoch that is due and not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DueEpoch {
    cause: EpochCause,
    /// The foreign seq after which it is due.
    after: u64,
}

/// Decides where epochs start while the log is read.
#[derive(Debug, Default)]
pub struct EpochTracker {
    row: Option<EpochRow>,
    /// The foreign seq of the last `context.updated`, whose snapshot the row holds.
    last_update: Option<u64>,
    begun: bool,
    row_used: bool,
    due: Option<DueEpoch>,
    /// Where the log continues after a recorded epoch with the row's text that may have been taken too early: records without
    /// events follow it.
    unsettled: Option<annals_core::Seq>,
}

impl EpochTracker {
    /// With the row of the last epoch, if there is one.
    pub fn new(row: Option<EpochRow>, last_update: Option<u64>) -> Self {
        Self { row, last_update, ..Self::default() }
    }

    /// The first input is about to be promoted: the first epoch is due, after everything up to foreign seq `after`.
    pub fn promoting(&mut self, after: u64) {
        if !self.begun {
            self.begun = true;
            self.due = Some(DueEpoch { cause: EpochCause::FirstTurn, after });
        }
    }

    /// A compaction was completed at foreign seq `at`: an epoch is due after it.
    pub fn compacted(&mut self, at: u64) {
        self.due = Some(DueEpoch { cause: EpochCause::Compaction, after: at });
    }

    /// The epoch to record before the next record, with its time. `previous` is the foreign seq and time of the record
    /// before; `next` the Seq that our next event gets.
    pub fn before(
        &mut self,
        previous: (u64, Time),
        next: annals_core::Seq,
        recalled: &KnownContext,
        agent: &AgentName,
        location: &Location,
        notes: &Notes,
    ) -> Option<(Time, EpochStarted)> {
        if let Some(after) = self.unsettled.filter(|after| *after != next || self.row_starts(previous.0)) {
            self.unsettled = None;
            self.row_used |= after == next;
        }
        // Records without events leave `next` where it is: a recorded epoch is taken only once it is due, as when it was recorded.
        let recorded = recalled.epochs.get(&next);
        if let Some((at, epoch)) =
            recorded.filter(|(_, epoch)| self.due.is_some() || epoch.cause == EpochCause::Incompatible)
        {
            // A recorded epoch is kept, known or not; the row is used if it describes this epoch.
            let due = self.due.take();
            self.row_used |= self.row.as_ref().is_some_and(|row| match due {
                Some(DueEpoch { cause: EpochCause::Compaction, after }) => row.baseline_seq == after,
                _ => row.baseline_seq <= previous.0,
            });
            if due.is_none() && !self.row_used && epoch.known {
                let same = self.row.as_ref().is_some_and(|row| row.parts() == epoch.parts);
                self.unsettled = same.then_some(annals_core::Seq(next.0 + 1));
            }
            Self::note(epoch, notes);
            return Some((*at, epoch.clone()));
        }
        if next < recalled.head {
            // The earlier import recorded no epoch here; one that is due is recorded at the end of the log.
            return None;
        }
        let row = self.row.as_ref().filter(|_| !self.row_used);
        let begins_here = row.is_some_and(|row| row.baseline_seq <= previous.0);
        if self.due.is_none() && self.begun && begins_here {
            // Neither a promotion nor a compaction: a stored value was incompatible.
            self.due = Some(DueEpoch { cause: EpochCause::Incompatible, after: previous.0 });
        }
        let due = self.due?;
        let stale = due.cause == EpochCause::Compaction && row.is_some_and(|row| row.baseline_seq < due.after);
        if stale {
            return None; // OpenCode has not replaced its baseline since that compaction.
        }
        self.due = None;
        // The row describes this epoch only if it starts here.
        let known = row.filter(|row| match due.cause {
            EpochCause::Compaction => row.baseline_seq == due.after,
            _ => row.baseline_seq <= previous.0,
        });
        let epoch = self.epoch(due.cause, agent, location, known);
        self.row_used |= epoch.known;
        Self::note(&epoch, notes);
        Some((previous.1, epoch))
    }

    /// Whether the epoch of the row started at the foreign seq `previous` or before.
    fn row_starts(&self, previous: u64) -> bool {
        self.row.as_ref().is_some_and(|row| row.baseline_seq <= previous)
    }

    /// Notes what the row did not contain.
    fn note(epoch: &EpochStarted, notes: &Notes) {
        if !epoch.known {
            notes.add("session_context_epoch: baseline of an earlier epoch");
        } else if epoch.entries.is_empty() {
            notes.add("session_context_epoch: snapshot before the last update");
        }
    }

    fn epoch(&self, cause: EpochCause, agent: &AgentName, location: &Location, row: Option<&EpochRow>) -> EpochStarted {
        let unchanged = |row: &EpochRow| self.last_update.is_none_or(|update| update <= row.baseline_seq);
        EpochStarted {
            cause,
            agent: agent.clone(),
            location: location.clone(),
            parts: row.map(EpochRow::parts).unwrap_or_default(),
            entries: row.filter(|row| unchanged(row)).map(EpochRow::snapshot).unwrap_or_default(),
            known: row.is_some(),
        }
    }

    /// The snapshot after the update at foreign seq `at`, if the row still contains it.
    pub fn snapshot_after(&self, at: u64) -> Option<BTreeMap<Key, Entry>> {
        self.row.as_ref().filter(|_| self.last_update == Some(at)).map(EpochRow::snapshot)
    }
}
