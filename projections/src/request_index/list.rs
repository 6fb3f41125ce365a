//! A list of requests that is loaded as it was saved: all but the newest are packed rows, decoded when they are asked for.

use super::{IndexedRequest, RequestEnd, SharedProfile};
use crate::shared::PackedBytes;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{Purpose, Usage};
use annals_core::{Seq, Time};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many requests are packed together.
const CHUNK: usize = 64;

/// The requests of a session, in order. Clones share all but the newest ones.
#[derive(Clone, Debug, Default)]
pub struct IndexedRequests {
    /// What requests have in common with others, by its place, and the places.
    shapes: Vec<Arc<SharedProfile>>,
    places: BTreeMap<Arc<SharedProfile>, u32>,
    packed: Vec<Arc<PackedRequests>>,
    /// The newest, fewer than two chunks.
    open: Vec<IndexedRequest>,
    /// Answers that ended here or later are not in view.
    until: Option<Seq>,
}

/// A chunk of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackedRequests {
    first: Seq,
    /// The places of the shapes that occur in it.
    shapes: Vec<u32>,
    /// Its rows ([`SavedRow`]), as postcard writes them.
    rows: PackedBytes,
}

/// A request: Seq and time since the one before, place of its shape, answer. Clocks may go back.
type SavedRow = (u64, i64, u32, Option<SavedAnswer>);

/// An answer: Seq and time since its request, cost, and the five numbers of its usage.
type SavedAnswer = (u64, i64, u64, Option<[u64; 5]>);

impl IndexedRequests {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.packed.len() * CHUNK + self.open.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The request at a place, from 0.
    pub fn get(&self, at: usize) -> Option<IndexedRequest> {
        match self.packed.get(at / CHUNK) {
            Some(_) => self.rows(at / CHUNK).into_iter().nth(at % CHUNK),
            None => self.open.get(at - self.packed.len() * CHUNK).map(|request| self.seen(request)),
        }
    }

    /// What they have in common with others, each once.
    pub fn shapes(&self) -> impl Iterator<Item = &SharedProfile> {
        self.shapes.iter().map(|shape| &**shape)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = IndexedRequest> + '_ {
        self.range(0, self.len())
    }

    /// Those at the places from `from` on, before `until`.
    pub fn range(&self, from: usize, until: usize) -> impl DoubleEndedIterator<Item = IndexedRequest> + '_ {
        let until = until.min(self.len()).max(from);
        ((from / CHUNK).min(self.packed.len())..until.div_ceil(CHUNK).min(self.packed.len() + 1)).flat_map(
            move |chunk| {
                let (rows, first) = (self.chunk(chunk), chunk * CHUNK);
                let (skipped, end) = (from.saturating_sub(first), until.saturating_sub(first));
                rows.into_iter().take(end).skip(skipped)
            },
        )
    }

    /// How many were sent before an event.
    pub fn before(&self, seq: Seq) -> usize {
        if self.open.first().is_some_and(|request| request.seq < seq) {
            return self.packed.len() * CHUNK + self.open.partition_point(|request| request.seq < seq);
        }
        let chunk = self.packed.partition_point(|chunk| chunk.first < seq);
        let Some(chunk) = chunk.checked_sub(1) else { return 0 };
        chunk * CHUNK + self.rows(chunk).partition_point(|request| request.seq < seq)
    }

    /// The part before an event, of which answers that ended later are not in view. It cannot be extended.
    pub(super) fn until(&self, seq: Seq) -> Self {
        let count = self.before(seq);
        let chunks = (count / CHUNK).min(self.packed.len());
        let until = Some(self.until.map_or(seq, |until| until.min(seq)));
        Self {
            shapes: self.shapes.clone(),
            places: BTreeMap::new(),
            packed: self.packed.iter().take(chunks).cloned().collect(),
            open: self.range(chunks * CHUNK, count).collect(),
            until,
        }
    }

    /// The number of the first request of a run: of those of a purpose, the ones that end with number `last` and whose shape is
    /// `same`, without interruption. `None` if that request is not `same`.
    pub fn run(&self, last: u64, purpose: Purpose, mut same: impl FnMut(&SharedProfile) -> bool) -> Option<u64> {
        // Each shape is asked about once.
        let mut asked: BTreeMap<*const SharedProfile, bool> = BTreeMap::new();
        let mut goes_on = |shape: &Arc<SharedProfile>| {
            shape.purpose != purpose || *asked.entry(Arc::as_ptr(shape)).or_insert_with(|| same(shape))
        };
        let end = usize::try_from(last).unwrap_or(usize::MAX).min(self.len());
        let mut found = None;
        for chunk in (0..end.div_ceil(CHUNK).min(self.packed.len() + 1)).rev() {
            let is_whole = (chunk + 1) * CHUNK <= end;
            let shapes = self.packed.get(chunk).filter(|_| is_whole).map(|packed| self.shapes_of(packed));
            // Nothing of it interrupts the run: where in it the run begins is asked when that is known to be here.
            if let Some(shapes) = shapes.filter(|shapes| shapes.iter().all(|shape| goes_on(shape))) {
                if shapes.iter().any(|shape| shape.purpose == purpose) {
                    found = Some(RunStart::In(chunk));
                }
                continue;
            }
            for request in self.chunk(chunk).into_iter().take(end - chunk * CHUNK).rev() {
                if !goes_on(&request.shape) {
                    return self.begins(found?, purpose);
                }
                if request.purpose == purpose {
                    found = Some(RunStart::At(request.number));
                }
            }
        }
        self.begins(found?, purpose)
    }

    fn shapes_of(&self, packed: &PackedRequests) -> Vec<&Arc<SharedProfile>> {
        packed.shapes.iter().filter_map(|place| self.shapes.get(*place as usize)).collect()
    }

    fn begins(&self, run: RunStart, purpose: Purpose) -> Option<u64> {
        match run {
            RunStart::At(number) => Some(number),
            RunStart::In(chunk) => {
                let rows = self.rows(chunk);
                rows.iter().find(|request| request.purpose == purpose).map(|request| request.number)
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn push(&mut self, seq: Seq, at: Time, shape: SharedProfile) {
        // Summaries and titles are between turns.
        let near = self.open.iter().rev().take(4).find(|request| *request.shape == shape);
        let near = near.map(|near| near.shape.clone());
        let shape = near.unwrap_or_else(|| self.shared(shape));
        let number = self.len() as u64 + 1;
        self.open.push(IndexedRequest { number, seq, at, shape, answer: None });
        if self.open.len() == 2 * CHUNK {
            let chunk: Vec<IndexedRequest> = self.open.drain(..CHUNK).collect();
            let packed = self.pack(&chunk);
            self.packed.push(Arc::new(packed));
        }
    }

    fn shared(&mut self, shape: SharedProfile) -> Arc<SharedProfile> {
        let known = self.places.get(&shape).and_then(|place| self.shapes.get(*place as usize)).cloned();
        known.unwrap_or_else(|| {
            let shape = Arc::new(shape);
            self.places.insert(shape.clone(), u32::try_from(self.shapes.len()).unwrap_or(u32::MAX));
            self.shapes.push(shape.clone());
            shape
        })
    }

    /// Ends the newest request of one of these purposes, unless it has ended.
    pub(super) fn end(&mut self, purposes: &[Purpose], end: RequestEnd) {
        let meant = |request: &IndexedRequest| purposes.contains(&request.purpose);
        if let Some(request) = self.open.iter_mut().rev().find(|request| meant(request)) {
            request.answer.get_or_insert(end);
            return;
        }
        let asked =
            |place: &u32| self.shapes.get(*place as usize).is_some_and(|shape| purposes.contains(&shape.purpose));
        let Some(chunk) = self.packed.iter().rposition(|chunk| chunk.shapes.iter().any(asked)) else { return };
        let mut rows = self.rows(chunk);
        if let Some(request) = rows.iter_mut().rev().find(|request| meant(request)).filter(|it| it.answer.is_none()) {
            request.answer = Some(end);
            let packed = self.pack(&rows);
            if let Some(chunk) = self.packed.get_mut(chunk) {
                *chunk = Arc::new(packed);
            }
        }
    }

    fn pack(&self, requests: &[IndexedRequest]) -> PackedRequests {
        let first = requests.first().map_or(Seq::ZERO, |request| request.seq);
        let rows = self.saved(requests);
        let shapes: BTreeSet<u32> = rows.iter().map(|(_, _, place, _)| *place).collect();
        // Rows of numbers can always be written.
        let rows = PackedBytes(postcard::to_allocvec(&rows).unwrap_or_default());
        PackedRequests { first, shapes: shapes.into_iter().collect(), rows }
    }

    fn saved(&self, requests: &[IndexedRequest]) -> Vec<SavedRow> {
        let (mut seq, mut at) = (Seq::ZERO, Time(0));
        let row = |request: &IndexedRequest| {
            let place = self.places.get(&request.shape).copied().unwrap_or(u32::MAX);
            let usage = |usage: Usage| {
                let Usage { input, output, reasoning, cache_read, cache_write } = usage;
                [input, output, reasoning, cache_read, cache_write]
            };
            let answer = request.answer.map(|end| {
                let (seq, at) = (end.seq.0.wrapping_sub(request.seq.0), since(end.at, request.at));
                (seq, at, end.cost, end.usage.map(usage))
            });
            // The number is the place in the list.
            let row = (request.seq.0.wrapping_sub(seq.0), since(request.at, at), place, answer);
            (seq, at) = (request.seq, request.at);
            row
        };
        requests.iter().map(row).collect()
    }

    /// Rows as requests, of which the first has this number. `None` if one names a shape that is not there.
    fn read(&self, first: u64, rows: Vec<SavedRow>) -> Option<Vec<IndexedRequest>> {
        let (mut before, mut time) = (Seq::ZERO, Time(0));
        let request = |(number, (distance, delay, place, answer)): (u64, SavedRow)| {
            let shape = self.shapes.get(place as usize)?.clone();
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
            let answer = answer.filter(|answer| self.until.is_none_or(|until| answer.seq < until));
            Some(IndexedRequest { number, seq, at, shape, answer })
        };
        (first..).zip(rows).map(request).collect()
    }

    /// The requests of a packed chunk. Bytes of another form, which a saved view with a sound hash cannot have, have none.
    fn rows(&self, chunk: usize) -> Vec<IndexedRequest> {
        let rows = self.packed.get(chunk).and_then(|packed| postcard::from_bytes(&packed.rows.0).ok());
        rows.and_then(|rows| self.read((chunk * CHUNK) as u64 + 1, rows)).unwrap_or_default()
    }

    /// The requests of a chunk; behind the packed ones, those that are open.
    fn chunk(&self, chunk: usize) -> Vec<IndexedRequest> {
        if chunk < self.packed.len() {
            return self.rows(chunk);
        }
        self.open.iter().map(|request| self.seen(request)).collect()
    }

    fn seen(&self, request: &IndexedRequest) -> IndexedRequest {
        let answer = request.answer.filter(|answer| self.until.is_none_or(|until| answer.seq < until));
        IndexedRequest { answer, ..request.clone() }
    }
}

/// The earliest request of a run, as far as it was followed.
enum RunStart {
    /// This number.
    At(u64),
    /// The first of its purpose in a packed chunk.
    In(usize),
}

impl PartialEq for IndexedRequests {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for IndexedRequests {}

fn since(time: Time, before: Time) -> i64 {
    time.0.wrapping_sub(before.0).cast_signed()
}

fn after(time: Time, since: i64) -> Time {
    Time(time.0.wrapping_add(since.cast_unsigned()))
}

/// The form in which a list is saved.
#[derive(Serialize, Deserialize)]
struct SavedList {
    shapes: Vec<SharedProfile>,
    packed: Vec<PackedRequests>,
    open: Vec<SavedRow>,
}

impl Serialize for IndexedRequests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shapes = self.shapes.iter().map(|shape| (**shape).clone()).collect();
        let packed = self.packed.iter().map(|chunk| (**chunk).clone()).collect();
        SavedList { shapes, packed, open: self.saved(&self.open) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IndexedRequests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let SavedList { shapes, packed, open: rows } = SavedList::deserialize(deserializer)?;
        let shapes: Vec<Arc<SharedProfile>> = shapes.into_iter().map(Arc::new).collect();
        let places = shapes.iter().cloned().zip(0..).collect();
        let packed: Vec<_> = packed.into_iter().map(Arc::new).collect();
        let first = (packed.len() * CHUNK) as u64 + 1;
        let list = Self { shapes, places, packed, open: Vec::new(), until: None };
        let open = list.read(first, rows).ok_or_else(|| D::Error::custom("a saved request names what is not saved"))?;
        Ok(Self { open, ..list })
    }
}

#[cfg(test)]
mod tests;
