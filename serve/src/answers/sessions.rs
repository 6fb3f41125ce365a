//! The list of sessions, and one of them.

use crate::operation::{AsJson, Nothing, Question};
use crate::problem::ApiProblem;
use annals_core::{Digest, Seq, SessionId, Time};
use annals_inspect::reader::Reader;
use annals_inspect::sessions::{SessionFilter, SessionOrder, SessionOverview, list};
use annals_projections::CatalogueEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many sessions a page has, unless another number is asked for, and at most.
const PAGE: usize = 50;
const LARGEST: usize = 1_000;

/// Which sessions are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsAsked {
    /// Words: each is in the title, the directory or the name of the model.
    query: Option<String>,
    /// Sessions of this agent only: claude-code, codex, opencode, or the name of an agent.
    agent: Option<String>,
    /// Sessions of projects whose directory contains this text.
    project: Option<String>,
    /// Sessions with an event at or after this time (milliseconds since 1970).
    since: Option<u64>,
    /// Sub-agents are listed as well.
    #[serde(default)]
    children: bool,
    /// How many at most (50; at most 1,000).
    limit: Option<usize>,
    /// What the page before gave as `next`.
    cursor: Option<String>,
}

/// A page of sessions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionPage {
    sessions: Vec<SessionOverview>,
    /// The cursor of the next page; null at the end.
    next: Option<String>,
    /// How many sessions match.
    total: usize,
}

/// What is running.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// The version of annals.
    version: &'static str,
    /// The folder of the store.
    store: String,
    /// Whether sessions can be changed.
    write: bool,
    /// How many sessions the store has.
    sessions: usize,
}

/// One session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionDetail {
    /// Its id.
    session: SessionId,
    /// Its title, or the beginning of its first input.
    title: String,
    /// Where it works.
    directory: String,
    /// The selected model.
    model: String,
    /// The selected agent.
    agent: String,
    /// The session that started this sub-agent.
    parent: Option<SessionId>,
    /// The sub-agents that it started.
    children: Vec<ChildSession>,
    /// How many events it has.
    events: u64,
    /// How many rows its timeline has.
    turns: usize,
    /// Where it ends.
    head: SessionEnd,
    /// Whether its log ends inside of a turn.
    running: bool,
}

/// A sub-agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChildSession {
    /// Its id.
    id: SessionId,
    /// Its title.
    title: String,
}

/// The end of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionEnd {
    /// The event that would be next.
    seq: Seq,
    /// The digest of everything before.
    digest: Digest,
}

/// `GET /v1/info`
pub async fn info(asked: Question<Nothing>) -> Result<AsJson<ServerInfo>, ApiProblem> {
    Ok(AsJson(ServerInfo {
        version: env!("CARGO_PKG_VERSION"),
        store: asked.service.store.name().to_owned(),
        write: asked.service.writes(),
        sessions: sessions_of(asked.reader()).await?,
    }))
}

async fn sessions_of(reader: &Reader) -> Result<usize, ApiProblem> {
    let mut list = reader.log().sessions();
    let mut count = 0;
    while let Some(page) = list.next_page().await? {
        count += page.len();
    }
    Ok(count)
}

/// `GET /v1/sessions`
pub async fn sessions(asked: Question<SessionsAsked>) -> Result<AsJson<SessionPage>, ApiProblem> {
    let given = &asked.given;
    let filter = SessionFilter {
        agent: given.agent.clone(),
        since: given.since.map(Time),
        children: given.children,
        ..SessionFilter::default()
    };
    let catalogue = asked.store.catalogue().await?;
    let words: Vec<String> =
        given.query.as_deref().unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let mut found = list((*catalogue).clone(), &filter, SessionOrder::Updated, &asked.service.pricing);
    found.retain(|row| {
        let text = format!("{}\n{}\n{}", row.title, row.directory, row.model).to_lowercase();
        let in_project = given.project.as_ref().is_none_or(|project| row.directory.contains(project));
        in_project && words.iter().all(|word| text.contains(word))
    });
    let total = found.len();
    let from = match &given.cursor {
        Some(cursor) => after(&found, cursor)?,
        None => 0,
    };
    let limit = given.limit.unwrap_or(PAGE).clamp(1, LARGEST);
    let mut rest = found.split_off(from.min(total));
    let more = rest.len() > limit;
    rest.truncate(limit);
    let next = rest.last().filter(|_| more).map(|row| format!("{}-{}", row.updated.0, row.id));
    Ok(AsJson(SessionPage { sessions: rest, next, total }))
}

/// Where the page after a cursor begins: also when the session of the cursor has changed since.
fn after(rows: &[SessionOverview], cursor: &str) -> Result<usize, ApiProblem> {
    let parts = cursor.split_once('-').and_then(|(at, id)| Some((Time(at.parse().ok()?), id.parse().ok()?)));
    let Some((at, id)): Option<(Time, SessionId)> = parts else {
        return Err(ApiProblem::bad_request(format!("{cursor:?} is not a cursor of this list")));
    };
    Ok(rows.partition_point(|row| row.updated > at || (row.updated == at && row.id <= id)))
}

/// `GET /v1/sessions/{session}`
pub async fn session(asked: Question<Nothing>) -> Result<AsJson<SessionDetail>, ApiProblem> {
    let id = asked.session()?;
    let head = asked.reader().head(id).await?;
    let past = asked.past(None).await?;
    let index = past.turn_index().await?;
    let info = &index.info;
    // Only a session that started others needs the list of all.
    let children = match info.children.is_empty() {
        true => Vec::new(),
        false => {
            let catalogue = asked.store.catalogue().await?;
            let is_of = |child: &CatalogueEntry| child.parent.as_ref().is_some_and(|parent| parent.session == id);
            let started = catalogue.sessions.iter().filter(|(_, child)| is_of(child));
            started.map(|(id, child)| ChildSession { id: *id, title: child.title.clone() }).collect()
        }
    };
    Ok(AsJson(SessionDetail {
        session: id,
        title: info.title.clone().filter(|title| !title.is_empty()).unwrap_or_else(|| index.opening.clone()),
        directory: info.location.as_ref().map(|location| location.directory.clone()).unwrap_or_default(),
        model: info.model.to_string(),
        agent: info.agent.to_string(),
        parent: info.parent.as_ref().map(|parent| parent.session),
        children,
        events: past.until.0,
        turns: index.len(),
        head: SessionEnd { seq: head.next, digest: head.digest },
        running: info.running,
    }))
}
