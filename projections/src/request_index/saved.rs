//! The form in which an index is saved: what requests have in common is written once, each request as a short row whose numbers
//! are differences.

use super::{IndexedRequest, RequestEnd, RequestIndex, SharedProfile};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::Usage;
use annals_core::{Digest, Seq, Time};
use serde::{Deserialize, Serialize};

/// A saved index.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedIndex {
    shapes: Vec<SharedProfile>,
    requests: Vec<SavedRow>,
    users: Vec<Seq>,
    recorded: Vec<(Digest, Seq)>,
    returns: Vec<Seq>,
    waits: bool,
}

/// A request: Seq and time since the one before, place of its shape, answer.
type SavedRow = (u64, i64, usize, Option<SavedAnswer>);

/// An answer: Seq and time since its request, cost, and the five numbers of its usage.
type SavedAnswer = (u64, i64, u64, Option<[u64; 5]>);

/// A row names a shape that is not there.
#[derive(Debug, thiserror::Error)]
#[error("a saved request names what is not saved with it")]
pub(super) struct NoShape;

/// Clocks may go back.
fn since(time: Time, before: Time) -> i64 {
    time.0.wrapping_sub(before.0).cast_signed()
}

fn after(time: Time, since: i64) -> Time {
    Time(time.0.wrapping_add(since.cast_unsigned()))
}

impl From<RequestIndex> for SavedIndex {
    fn from(index: RequestIndex) -> Self {
        let RequestIndex { requests, users, recorded, returns, waits } = index;
        let mut shapes: Vec<SharedProfile> = Vec::new();
        let mut places: BTreeMap<Arc<SharedProfile>, usize> = BTreeMap::new();
        let (mut seq, mut at) = (Seq::ZERO, Time(0));
        let row = |request: IndexedRequest| {
            let place = *places.entry(request.shape).or_insert_with_key(|shape| {
                shapes.push((**shape).clone());
                shapes.len() - 1
            });
            let usage = |usage: Usage| {
                let Usage { input, output, reasoning, cache_read, cache_write } = usage;
                [input, output, reasoning, cache_read, cache_write]
            };
            let answer = |end: RequestEnd| {
                let (seq, at) = (end.seq.0.wrapping_sub(request.seq.0), since(end.at, request.at));
                (seq, at, end.cost, end.usage.map(usage))
            };
            // The number is the place in the list.
            let row = (request.seq.0.wrapping_sub(seq.0), since(request.at, at), place, request.answer.map(answer));
            (seq, at) = (request.seq, request.at);
            row
        };
        let requests = requests.into_iter().map(row).collect();
        Self { shapes, requests, users, recorded, returns, waits }
    }
}

impl TryFrom<SavedIndex> for RequestIndex {
    type Error = NoShape;

    fn try_from(saved: SavedIndex) -> Result<Self, NoShape> {
        let SavedIndex { shapes, requests, users, recorded, returns, waits } = saved;
        let shapes: Vec<Arc<SharedProfile>> = shapes.into_iter().map(Arc::new).collect();
        let (mut before, mut time) = (Seq::ZERO, Time(0));
        let request = |(number, (distance, delay, place, answer)): (u64, SavedRow)| {
            let shape = shapes.get(place).cloned().ok_or(NoShape)?;
            let (seq, at) = (Seq(before.0.wrapping_add(distance)), after(time, delay));
            (before, time) = (seq, at);
            let usage = |[input, output, reasoning, cache_read, cache_write]: [u64; 5]| Usage {
                input,
                output,
                reasoning,
                cache_read,
                cache_write,
            };
            let answer = answer.map(|(distance, delay, cost, tokens): SavedAnswer| RequestEnd {
                seq: Seq(seq.0.wrapping_add(distance)),
                at: after(at, delay),
                usage: tokens.map(usage),
                cost,
            });
            Ok(IndexedRequest { number, seq, at, shape, answer })
        };
        let requests = (1..).zip(requests).map(request).collect::<Result<_, _>>()?;
        Ok(Self { requests, users, recorded, returns, waits })
    }
}
