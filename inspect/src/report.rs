//! What a report of one session shows, as plain data: computed once, so that a page without a server can answer for every
//! cut (`docs/report.md`).
//!
//! Nothing is stored per cut: messages, spans and the like are in a pool, each once, and a view is a list of changes. What would
//! grow with the square of the session (requests whole) is limited to [`REQUESTS`]; what was left out is named.

mod bodies;
mod file_page;
mod index;
mod pool;
mod turn_index;
mod turns;
mod views;

pub use file_page::FilePage;
pub use index::SessionIndex;
pub use turn_index::TurnIndex;
pub use turns::{ReportCall, ReportMark, ReportTurn};

use crate::cache::{Asking, Cached};
use crate::compactions::ListedCompaction;
use crate::request::{Walked, walk};
use crate::requests::ListedRequest;
use crate::touched_files::{FileAction, touched_files};
use crate::{AskError, IndexedRequest, SessionAt, cache, why};
use annals_core::event::Purpose;
use annals_core::{Blobs, Digest, Record, Seq, SessionId};
use annals_projections::{Request, ToJson};
use annals_store::exchange::VerifyReport;
use bodies::{ReportBodies, ReportBody};
use pool::{Pool, Runs};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use turns::TurnFold;
use views::ViewChanges;

/// The shape of [`ReportData`], for the page.
const FORMAT: u32 = 3;
/// How many requests are shown whole at most.
pub const REQUESTS: usize = 200;
/// How many spans of requests are looked up, about: what decides how long it takes to write a report of a long session.
const SPANS: usize = 200_000;
/// Milliseconds that a provider keeps an unused prefix, as `annals cache` assumes.
const TTL_MS: u64 = 300_000;

/// Everything that a report of a session shows: the block `annals-data` of its file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportData {
    format: u32,
    /// The session.
    pub session: ReportSession,
    /// The first event that is shown.
    pub from: Seq,
    /// The turns with events that are shown.
    pub turns: Vec<ReportTurn>,
    cuts: Vec<Seq>,
    events: Vec<Value>,
    requests: Vec<ListedRequest>,
    rebuilt: Vec<ShownRequest>,
    bodies: Vec<ReportBody>,
    seen: Vec<SeenRequest>,
    /// Number, event and purpose of every request that is shown or left out.
    steps: Vec<(u64, Seq, Purpose)>,
    cache: Cached,
    /// The compactions that are shown.
    pub compactions: Vec<ListedCompaction>,
    /// The files that events name.
    pub files: Vec<ReportFile>,
    views: ViewChanges,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Value>"))]
    pool: Vec<Box<RawValue>>,
    /// What verifying the export that is in the file gave.
    pub verified: VerifyReport,
    /// The sub-agents that it started, and theirs.
    #[cfg_attr(feature = "schema", schemars(schema_with = "reports"))]
    pub subagents: Vec<ReportData>,
}

/// Reports in a report have its own schema.
#[cfg(feature = "schema")]
fn reports(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "array", "items": {"$ref": "#"}})
}

/// The session that a report is about.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportSession {
    /// Its id.
    pub session: SessionId,
    /// Its title, or its first input.
    pub title: String,
    /// Where it works.
    pub directory: String,
    /// The selected model.
    pub model: String,
    /// The selected agent.
    pub agent: String,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// The sub-agents that the turns that are shown started.
    pub children: Vec<SessionId>,
    /// How many events it has, those that are not shown included.
    pub events: u64,
    /// How many turns are shown.
    pub turns: usize,
    /// Where what is shown ends.
    pub head: ReportHead,
    running: bool,
}

/// The end of what is shown.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportHead {
    /// The first event that is not shown.
    pub seq: Seq,
    /// The digest there.
    pub digest: Option<Digest>,
}

/// A file that an event names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportFile {
    /// The event.
    pub event: Seq,
    /// What was done with it.
    pub action: FileAction,
    /// Its path as it was recorded.
    pub path: String,
}

impl ReportFile {
    fn of(record: &Record<'_>, blobs: &dyn Blobs) -> impl Iterator<Item = Self> {
        let (files, event) = (touched_files(record.event, blobs), record.seq);
        files.into_iter().map(move |file| Self { event, action: file.action, path: file.path })
    }
}

/// A recorded request; its lists are in the pool.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ShownRequest {
    seq: Seq,
    rest: Value,
    lists: BTreeMap<&'static str, Runs>,
}

/// What the model saw with one request; its spans are in the pool.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SeenRequest {
    step: IndexedRequest,
    spans: Runs,
    of: u64,
    lacks: Value,
}

impl ReportData {
    /// How many requests are not shown whole.
    pub fn left_out(&self) -> usize {
        let turns = self.steps.iter().filter(|(.., purpose)| *purpose == Purpose::Turn).count();
        turns.saturating_sub(self.seen.len())
    }
}

impl SessionAt {
    /// What a report shows of the events from `from` to the end of this past; `verified` is what verifying the export that goes
    /// with it gave.
    pub async fn report(&self, from: Seq, verified: VerifyReport) -> Result<ReportData, AskError> {
        let mut pool = Pool::default();
        let shown = self.shown(from, &mut pool).await?;
        let steps = self.steps().await?;
        let wanted: Vec<IndexedRequest> =
            steps.requests.range(steps.requests.before(from), steps.requests.len()).collect();
        let recorded = self.requests().await?;
        let mut requests: Vec<ListedRequest> = recorded.iter().filter(|request| request.seq >= from).collect();
        let is_whole = verified.withheld.is_none();
        let rebuilt = self.rebuilt(&wanted, is_whole, &mut requests, &mut pool).await?;
        let bodies = ReportBodies::of(self, &wanted).await?;
        let seen = self.seen_requests(&wanted, &shown.turns, &mut pool).await?;
        let mut cache = cache::ask(self, Asking { last: None, ttl_ms: TTL_MS }).await?;
        cache.requests.retain(|request| request.step.seq >= from);
        let mut compactions = self.compactions().await?;
        compactions.retain(|compaction| compaction.entry.seq >= from);
        let statistics = self.statistics().await?;
        let opening = statistics.opening.as_ref().map(|text| text.resolve(self.blobs()).into_owned());
        let info = statistics.session;
        let title = info.title.filter(|title| !title.trim().is_empty()).or(opening).unwrap_or_default();
        Ok(ReportData {
            format: FORMAT,
            session: ReportSession {
                session: self.session,
                title: turns::start(&title, turns::PROMPT),
                directory: info.location.map(|location| location.directory.clone()).unwrap_or_default(),
                model: info.model.to_string(),
                agent: info.agent.to_string(),
                parent: info.parent.map(|parent| parent.session),
                children: shown.turns.iter().flat_map(|turn| &turn.calls).filter_map(|call| call.child).collect(),
                events: statistics.events,
                turns: shown.turns.len(),
                head: ReportHead { seq: self.until, digest: shown.digest },
                running: false,
            },
            from,
            turns: shown.turns,
            cuts: shown.cuts,
            events: shown.events,
            steps: wanted.iter().map(|step| (step.number, step.seq, step.purpose)).collect(),
            requests,
            rebuilt,
            bodies,
            seen,
            cache,
            compactions,
            files: shown.files,
            views: shown.views,
            pool: pool.into_items(),
            verified,
            subagents: Vec::new(),
        })
    }

    /// One pass over the events: what is listed, and how the views change.
    async fn shown(&self, from: Seq, pool: &mut Pool) -> Result<ShownEvents, AskError> {
        let blobs = self.blobs();
        let mut shown = ShownEvents::default();
        let (mut turns, mut views) = (TurnFold::default(), ViewChanges::default());
        let mut pages = self.log().pages(self.session, Seq::ZERO..self.until);
        while let Some(slice) = pages.next_slice().await? {
            for record in slice.records() {
                let json = (record.seq >= from).then(|| record.to_json(blobs));
                turns.take(&record, blobs);
                views.take(&record);
                if let Some(json) = json {
                    shown.files.extend(ReportFile::of(&record, blobs));
                    shown.events.push(json);
                }
            }
            if slice.until > from {
                shown.cuts.push(slice.until);
                views.cut(slice.until, pool, blobs);
            }
            shown.digest = Some(slice.batch.digest);
        }
        shown.turns = turns.end(from);
        shown.views = views;
        Ok(shown)
    }

    /// The newest recorded requests whole; compares the digest of each with the recorded one.
    async fn rebuilt(
        &self,
        steps: &[IndexedRequest],
        is_whole: bool,
        listed: &mut [ListedRequest],
        pool: &mut Pool,
    ) -> Result<Vec<ShownRequest>, AskError> {
        let mut recorded: Vec<IndexedRequest> = steps.iter().filter(|step| step.recorded).cloned().collect();
        recorded.drain(..recorded.len().saturating_sub(REQUESTS));
        let mut rebuilt = Vec::new();
        walk(self, recorded, true, |walked| {
            let Walked::Request { step, built: Ok((built, _)), body, .. } = walked else { return Ok(()) };
            let Some(row) = listed.iter_mut().find(|row| row.seq == step.seq) else { return Ok(()) };
            let digest = built.digest();
            let is_proved = digest == row.digest;
            // Where texts are withheld, a request that differs may be one of which parts are missing.
            row.proved = (is_proved || is_whole).then_some(is_proved);
            let request = body.map_or_else(|| built.request(), |body| body.request);
            rebuilt.push(ShownRequest::of(&request, digest, row, pool));
            Ok::<_, AskError>(())
        })
        .await?;
        Ok(rebuilt)
    }

    /// What the model saw with the requests that are shown: all of them; of long sessions the last ones of turns, evenly
    /// spaced, the newest among them.
    async fn seen_requests(
        &self,
        steps: &[IndexedRequest],
        turns: &[ReportTurn],
        pool: &mut Pool,
    ) -> Result<Vec<SeenRequest>, AskError> {
        let of_turns: Vec<&IndexedRequest> = steps.iter().filter(|step| step.purpose == Purpose::Turn).collect();
        let last = |turn: &ReportTurn| of_turns.iter().rev().find(|step| step.seq <= turn.last).map(|step| step.number);
        let lasts: BTreeSet<u64> = turns.iter().filter_map(last).collect();
        let all = of_turns.len() <= REQUESTS;
        let mut wanted: Vec<&IndexedRequest> =
            of_turns.iter().copied().filter(|step| all || lasts.contains(&step.number)).collect();
        let mut seen: Vec<SeenRequest> = Vec::new();
        wanted.reverse();
        let mut every = wanted.len().div_ceil(REQUESTS).max(1);
        let mut at = 0;
        while let Some(step) = wanted.get(at) {
            let answer = match why::ask(self, Some(step.number), None).await {
                Ok(answer) => answer,
                // What shaped it is missing: the page says that it is not there.
                Err(AskError::Build { .. }) => {
                    at += every;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let spans: Vec<u32> = answer.spans.iter().map(|span| pool.add(span)).collect();
            let lacks = serde_json::json!(answer.lacks);
            if seen.is_empty() {
                // Requests grow: those before have half as many spans on average.
                let affordable = (2 * SPANS / spans.len().max(1)).clamp(2, REQUESTS);
                every = wanted.len().div_ceil(affordable).max(1);
            }
            seen.push(SeenRequest { step: answer.step, spans: Runs::of(&spans), of: answer.of, lacks });
            at += every;
        }
        seen.reverse();
        Ok(seen)
    }
}

/// What one pass over the events gives.
#[derive(Default)]
struct ShownEvents {
    turns: Vec<ReportTurn>,
    cuts: Vec<Seq>,
    events: Vec<Value>,
    files: Vec<ReportFile>,
    views: ViewChanges,
    digest: Option<Digest>,
}

impl ShownRequest {
    fn of(request: &Request, digest: Digest, row: &ListedRequest, pool: &mut Pool) -> Self {
        let mut rest = request.to_json();
        let mut lists = BTreeMap::new();
        if let Value::Object(fields) = &mut rest {
            for name in ["messages", "system", "tools"] {
                if let Some(Value::Array(items)) = fields.remove(name) {
                    let ids: Vec<u32> = items.iter().map(|item| pool.add(item)).collect();
                    lists.insert(name, Runs::of(&ids));
                }
            }
            fields.insert("digest".to_owned(), serde_json::json!(digest));
            fields.insert("seq".to_owned(), serde_json::json!(row.seq));
            fields.insert("recorded".to_owned(), serde_json::json!(row.digest));
            fields.insert("proved".to_owned(), serde_json::json!(row.proved));
        }
        Self { seq: row.seq, rest, lists }
    }
}
