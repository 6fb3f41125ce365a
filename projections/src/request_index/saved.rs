//! The form in which an index is saved: what many requests have in common is written once, each request as a short row.

use super::{IndexedRequest, RequestEnd, RequestIndex};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use annals_core::event::{Purpose, Usage};
use annals_core::{AgentName, Digest, ModelName, Seq, Time};
use serde::{Deserialize, Serialize};

/// A saved index.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedIndex {
    shapes: Vec<SavedShape>,
    requests: Vec<SavedRow>,
    users: Vec<Seq>,
    recorded: Vec<(Digest, Seq)>,
    returns: Vec<Seq>,
    waits: bool,
}

/// What most requests share with the one before: recorded, purpose, attempt, agent, model, agent profile, tools, options.
type SavedShape = (bool, Purpose, u32, AgentName, ModelName, Option<Digest>, Option<Digest>, Option<Digest>);

/// A request: Seq, time, place of its shape, answer.
type SavedRow = (Seq, Time, usize, Option<SavedAnswer>);

/// An answer: Seq, time, cost, and the five numbers of its usage.
type SavedAnswer = (Seq, Time, u64, Option<[u64; 5]>);

/// A row names a shape that is not there.
#[derive(Debug, thiserror::Error)]
#[error("a saved request names what is not saved with it")]
pub(super) struct NoShape;

impl From<RequestIndex> for SavedIndex {
    fn from(index: RequestIndex) -> Self {
        let RequestIndex { requests, users, recorded, returns, waits } = index;
        let (mut shapes, mut places): (Vec<SavedShape>, BTreeMap<SavedShape, usize>) = (Vec::new(), BTreeMap::new());
        let row = |request: IndexedRequest| {
            // The number is the place in the list.
            let IndexedRequest { number: _, seq, at, recorded, purpose, attempt, agent, model, answer, .. } = request;
            let IndexedRequest { agent_profile, tools, options, .. } = request;
            let shape = (recorded, purpose, attempt, agent, model, agent_profile, tools, options);
            let place = *places.entry(shape).or_insert_with_key(|shape| {
                shapes.push(shape.clone());
                shapes.len() - 1
            });
            let usage = |usage: Usage| {
                let Usage { input, output, reasoning, cache_read, cache_write } = usage;
                [input, output, reasoning, cache_read, cache_write]
            };
            (seq, at, place, answer.map(|end| (end.seq, end.at, end.cost, end.usage.map(usage))))
        };
        let requests = requests.into_iter().map(row).collect();
        Self { shapes, requests, users, recorded, returns, waits }
    }
}

impl TryFrom<SavedIndex> for RequestIndex {
    type Error = NoShape;

    fn try_from(saved: SavedIndex) -> Result<Self, NoShape> {
        let SavedIndex { shapes, requests, users, recorded, returns, waits } = saved;
        let request = |(number, (seq, at, place, answer)): (u64, SavedRow)| {
            let shape = shapes.get(place).cloned().ok_or(NoShape)?;
            let (recorded, purpose, attempt, agent, model, agent_profile, tools, options) = shape;
            let usage = |[input, output, reasoning, cache_read, cache_write]: [u64; 5]| Usage {
                input,
                output,
                reasoning,
                cache_read,
                cache_write,
            };
            let end = |(seq, at, cost, tokens): SavedAnswer| RequestEnd { seq, at, usage: tokens.map(usage), cost };
            let answer = answer.map(end);
            Ok(IndexedRequest {
                number,
                seq,
                at,
                recorded,
                purpose,
                attempt,
                agent,
                model,
                agent_profile,
                tools,
                options,
                answer,
            })
        };
        let requests = (1..).zip(requests).map(request).collect::<Result<_, _>>()?;
        Ok(Self { requests, users, recorded, returns, waits })
    }
}
