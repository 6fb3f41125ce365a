//! What a changed decision would have changed.

use super::{Measured, WhatIfChange, difference};
use crate::diff::{First, Part};
use crate::{IndexedRequest, Lack};
use annals_core::{Seq, SessionId, Time};
use serde::Serialize;
use std::collections::BTreeSet;

/// What would have been sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfAnswer {
    /// The session.
    pub session: SessionId,
    /// What was changed.
    pub changes: Vec<String>,
    /// Whether anything would differ.
    pub differs: bool,
    /// Every turn request, oldest first.
    pub requests: Vec<WhatIfRequest>,
    /// The parts that differ in one request: the one that was asked for, or the first that differs.
    pub detail: Vec<Part>,
    /// Its number.
    pub detail_of: Option<u64>,
    /// Compactions and prunes that would have been, or not.
    pub compactions: Vec<WhatIfCompaction>,
    /// All requests as they were.
    pub before: WhatIfTotals,
    /// All requests as they would have been.
    pub after: WhatIfTotals,
    /// Requests that cannot be rebuilt: the log is damaged.
    pub damaged: u64,
    /// Requests that follow answers of which no request was recorded: nothing of them counts as cached.
    pub unknown: u64,
    /// Recorded requests whose bodies and events have not the same parts: the answer is about what the events have.
    pub differing: u64,
    /// What the answer assumes.
    pub notes: Vec<String>,
    /// What the log lacks of the requests.
    pub lacks: BTreeSet<Lack>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfRequest {
    /// Its number, as in `annals cache`.
    pub number: u64,
    /// The event that recorded it, or that began its answer.
    pub seq: Seq,
    /// When.
    pub at: Time,
    /// Whether it would have been the same.
    pub same: bool,
    /// The first difference.
    pub first: Option<First>,
    /// As it was.
    pub before: WhatIfSide,
    /// As it would have been.
    pub after: WhatIfSide,
}

/// A request, measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfSide {
    /// Estimate of all of it in tokens.
    pub tokens: u64,
    /// Estimate of what a cache could have kept of it.
    pub cached: u64,
    /// The price of the input in nano-dollars, if one is known.
    pub price: Option<u64>,
    /// Whether it broke the cached prefix.
    pub broke: bool,
}

/// Requests together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfTotals {
    /// Tokens.
    pub tokens: u64,
    /// Tokens that a cache could have kept.
    pub cached: u64,
    /// The price of the input in nano-dollars, as far as prices are known; `null` if none is.
    pub price: Option<u64>,
    /// Breaks of the cached prefix.
    pub breaks: u64,
    /// Compactions.
    pub compactions: u64,
    /// The largest request in tokens.
    pub largest: u64,
}

/// What would have happened to a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CompactionOutcomeIf {
    /// As recorded.
    Same,
    /// It would have kept another tail.
    Changed,
    /// It would not have happened.
    Dropped,
    /// One more would have happened.
    Added,
}

/// A compaction, or outputs that were cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfCompaction {
    /// The event; for one more, the request that it would have been for.
    pub seq: Seq,
    /// A summary, or outputs that are cleared or shortened.
    pub what: &'static str,
    /// What would have happened to it.
    pub outcome: CompactionOutcomeIf,
    /// The messages that would have left the view with it, estimated in tokens; 0 when unknown.
    pub tokens: u64,
}

impl WhatIfAnswer {
    pub(super) fn new(session: SessionId, changes: &[WhatIfChange]) -> Self {
        Self {
            session,
            changes: changes.iter().map(|change| format!("{change:?}")).collect(),
            differs: false,
            requests: Vec::new(),
            detail: Vec::new(),
            detail_of: None,
            compactions: Vec::new(),
            before: WhatIfTotals::default(),
            after: WhatIfTotals::default(),
            damaged: 0,
            unknown: 0,
            differing: 0,
            notes: Vec::new(),
            lacks: BTreeSet::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        number: u64,
        step: &IndexedRequest,
        one: Measured,
        two: Measured,
        wanted: Option<u64>,
    ) {
        let found = difference(&one, &two);
        let same = found.is_none();
        let (first, parts) = found.unzip();
        if !same && wanted.map_or(self.detail_of.is_none(), |wanted| wanted == number) {
            (self.detail_of, self.detail) = (Some(number), parts.unwrap_or_default());
        }
        self.differs |= !same;
        self.before.add(&one);
        self.after.add(&two);
        self.requests.push(WhatIfRequest {
            number,
            seq: step.seq,
            at: step.at,
            same,
            first,
            before: WhatIfSide::of(&one),
            after: WhatIfSide::of(&two),
        });
    }

    pub(super) fn finish(&mut self, (compactions, notes): (Vec<WhatIfCompaction>, Vec<String>)) {
        use CompactionOutcomeIf::{Added, Dropped};
        let summaries = || compactions.iter().filter(|compaction| compaction.what == "summary");
        self.before.compactions = summaries().filter(|it| it.outcome != Added).count() as u64;
        self.after.compactions = summaries().filter(|it| it.outcome != Dropped).count() as u64;
        self.differs |= compactions.iter().any(|it| it.outcome != CompactionOutcomeIf::Same);
        self.compactions = compactions;
        self.notes = notes;
        if self.unknown > 0 {
            let requests = crate::format::counted(self.unknown, "request");
            self.notes.push(format!("not counted as cached: {requests} behind answers without a recorded request"));
        }
        if self.differing > 0 {
            let requests = crate::format::counted(self.differing, "request");
            self.notes.push(format!(
                "the bodies of {requests} have other parts than the events (see annals verify --requests); compared are those \
                 of the events"
            ));
        }
    }
}

impl WhatIfSide {
    fn of(side: &Measured) -> Self {
        Self { tokens: side.tokens, cached: side.shared, price: side.price, broke: side.broke }
    }
}

impl WhatIfTotals {
    fn add(&mut self, side: &Measured) {
        self.tokens += side.tokens;
        self.cached += side.shared;
        self.price = side.price.map_or(self.price, |price| Some(self.price.unwrap_or_default() + price));
        self.breaks += u64::from(side.broke);
        self.largest = self.largest.max(side.tokens);
    }
}
