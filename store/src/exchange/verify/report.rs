//! What a verification found.

use super::flaw::{Flaw, KeptPlace};
use annals_core::event::ErasureEvent;
use annals_core::{Batch, Blobs, Digest, Event, Illegal, Legality, Seq, SessionId, Time};
use serde::Serialize;
use std::fmt;

/// How many damages are listed; the rest are counted.
pub const DAMAGE_MAX: usize = 1_000;

/// What was verified and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// Each session, or each export of a file, in order. Those with damage are here too.
    pub sessions: Vec<Proven>,
    /// Batches read.
    pub batches: u64,
    /// Events in them.
    pub events: u64,
    /// Blobs whose content was hashed.
    pub blobs: u64,
    /// Whether the digest that was kept elsewhere is in the chain; `None` when none was given.
    pub kept: Option<KeptDigest>,
    /// Where it was found in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<KeptPlace>,
    /// The withheld and erased texts; `None` when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldTexts>,
    /// What was erased, as the log records it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub erasures: Vec<RecordedErasure>,
    /// Every damage, in the order of reading, up to [`DAMAGE_MAX`].
    pub damage: Vec<Damage>,
    /// Damages beyond those.
    pub more: u64,
    /// Events that no correct runtime appends where they are, up to [`DAMAGE_MAX`]. They are not damage: the log holds what
    /// was written, and every view has a defined answer. A fork whose ancestors are read elsewhere is not judged.
    pub anomalies: Vec<UnusualEvent>,
}

/// How many texts of an export are withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithheldTexts {
    /// All texts, withheld ones included.
    pub texts: u64,
    /// Those of which only the commitment is there, other than erased ones.
    pub withheld: u64,
    /// Those that the log says are erased.
    pub erased: u64,
}

/// `3 of 412 texts withheld`, `3 of 412 texts withheld, 1 erased`, `1 of 412 texts erased`.
impl fmt::Display for WithheldTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { texts, withheld, erased } = self;
        match (withheld, erased) {
            (0, 1..) => write!(f, "{erased} of {texts} texts erased"),
            (_, 0) => write!(f, "{withheld} of {texts} texts withheld"),
            _ => write!(f, "{withheld} of {texts} texts withheld, {erased} erased"),
        }
    }
}

/// What the log says about an erasure: how many texts, when, why, by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedErasure {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// When, in milliseconds since 1970.
    pub at: Time,
    /// How many texts and hashes.
    pub texts: u64,
    /// Why; a note where that is withheld.
    pub reason: String,
    /// Who asked for it.
    pub by: String,
}

impl fmt::Display for RecordedErasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, seq, texts, reason, by, .. } = self;
        let s = if *texts == 1 { "" } else { "s" };
        write!(f, "session {session}, event {seq}: {texts} text{s} erased by {by}: {reason}")
    }
}

/// An event that breaks a rule of `annals_core::legal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnusualEvent {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// The rule.
    pub rule: String,
}

impl fmt::Display for UnusualEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}, event {}: {}", self.session, self.seq, self.rule)
    }
}

/// Where a session ends, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proven {
    /// The session.
    pub session: SessionId,
    /// The Seq after its last event.
    pub next: Seq,
    /// The digest of its last batch: kept elsewhere, it reveals every change of the session.
    pub digest: Option<Digest>,
}

/// What became of a digest that was kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeptDigest {
    /// It is the digest of the last batch.
    Head,
    /// It is the digest of an earlier batch: the session went on since. Everything before this Seq is unchanged.
    Before(Seq),
    /// No batch has it: the session was altered or shortened, or it is another one.
    Missing,
}

/// A damage and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Damage {
    /// Where.
    pub place: DamagePlace,
    /// What.
    pub flaw: Flaw,
}

/// Where something is: in a file, in a session, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DamagePlace {
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The session whose log holds it.
    pub session: Option<SessionId>,
    /// The first Seq that is concerned.
    pub seq: Option<Seq>,
}

/// `line 12: session …, seq 5: what`, without the parts that are not known.
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.place.line {
            write!(f, "line {line}: ")?;
        }
        match (self.place.session, self.place.seq) {
            (Some(session), Some(seq)) => write!(f, "session {session}, event {seq}: ")?,
            (Some(session), None) => write!(f, "session {session}: ")?,
            _ => {}
        }
        self.flaw.fmt(f)
    }
}

impl Damage {
    /// The same with the file that the line is in: `log.jsonl:12: session …`.
    pub fn in_file(&self, file: &str) -> String {
        match self.place.line {
            Some(line) => {
                let rest = Self { place: DamagePlace { line: None, ..self.place }, flaw: self.flaw.clone() };
                format!("{file}:{line}: {rest}")
            }
            None => self.to_string(),
        }
    }
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && self.more == 0
    }

    /// The same with the damage of the file that the session was read from: what belongs to no batch of it, such as a missing end.
    #[must_use]
    pub fn in_file(self, file: Option<&Self>) -> Self {
        match file {
            Some(file) => Self { damage: file.damage.clone(), more: file.more, ..self },
            None => self,
        }
    }

    /// Notes what a batch says is erased.
    pub(super) fn note_erasure(&mut self, batch: &Batch, blobs: &dyn Blobs) {
        for record in batch.records() {
            if let Event::Erasure(ErasureEvent::TextsErased(erased)) = record.event {
                self.erasures.push(RecordedErasure {
                    session: record.session,
                    seq: record.seq,
                    at: record.at,
                    texts: erased.what.len() as u64,
                    reason: erased.reason.resolve(blobs).into_owned(),
                    by: erased.by.clone(),
                });
            }
        }
    }

    /// Judges the events of a batch, of which those before `until` belong to `session`.
    pub(super) fn judge(&mut self, legality: &mut Legality, session: SessionId, batch: &Batch, until: Seq) {
        for record in batch.records().take_while(|record| record.seq < until) {
            let judged: Result<(), Illegal> = legality.may_follow(record.event);
            if let (Err(illegal), true) = (judged, self.anomalies.len() < DAMAGE_MAX) {
                self.anomalies.push(UnusualEvent { session, seq: record.seq, rule: illegal.to_string() });
            }
            legality.apply(record.event);
        }
    }

    pub(super) fn add(&mut self, place: DamagePlace, flaw: Flaw) {
        if self.damage.len() < DAMAGE_MAX {
            self.damage.push(Damage { place, flaw });
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Damage, DamagePlace, Flaw, VerifyReport};
    use crate::conformance::material::session;
    use annals_core::{Digest, Seq};

    #[test]
    fn a_damage_reads_with_its_place() {
        let (session, seq) = (session(1), Seq(5));
        let place = DamagePlace { line: Some(12), session: Some(session), seq: Some(seq) };
        let damage = Damage { place, flaw: Flaw::Seq { expected: Seq(4), found: seq } };
        let rest = "session 01KT6NNMG10000000000000001, event 5: the next event is 5, expected 4";
        assert_eq!(damage.to_string(), format!("line 12: {rest}"));
        assert_eq!(damage.in_file("log.jsonl"), format!("log.jsonl:12: {rest}"));
        let json = serde_json::to_value(&damage).unwrap();
        assert_eq!(json["place"]["line"], 12);
        assert_eq!(json["flaw"], serde_json::json!({"flaw": "seq", "expected": 4, "found": 5}));
    }

    #[test]
    fn damage_beyond_what_is_listed_is_counted() {
        let mut report = VerifyReport::default();
        for _ in 0..super::DAMAGE_MAX + 7 {
            report.add(DamagePlace::default(), Flaw::Kept { expected: Digest([0; 32]) });
        }
        assert_eq!((report.damage.len(), report.more, report.is_sound()), (super::DAMAGE_MAX, 7, false));
    }
}
