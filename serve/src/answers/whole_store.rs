//! Questions about all sessions: search, SQL, blobs, and whether the store is unaltered.

use crate::operation::{AsJson, Bytes, Nothing, Question};
use crate::problem::ApiProblem;
use crate::work::{WorkKind, took_too_long};
use annals_core::{BlobHash, SessionId};
use annals_index::{IndexPlace, IndexReader, SqlError, SqlTables, SqlValue};
use annals_inspect::search::{SearchIndex, SearchMatch, SearchPattern, SearchQuery};
use annals_inspect::sessions::SessionFilter;
use annals_store::exchange::{VerifyReport, verify_store};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io;

/// How many matches are given unless another number is asked for, and at most.
const MATCHES: u64 = 200;
const MOST_MATCHES: u64 = 10_000;
/// The same of rows.
const ROWS: usize = 1_000;
const MOST_ROWS: usize = 100_000;
/// How many bytes of values are answered at most.
const MOST_BYTES: usize = 64 << 20;
/// How often a query is repeated when a writer changes the index meanwhile.
const TRIES: usize = 5;
/// How many matches of one event are given.
const PER_EVENT: usize = 5;

/// What is searched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchAsked {
    /// Words, "phrases" and file:PATH; all must match.
    q: String,
    /// This session only.
    session: Option<SessionId>,
    /// Sessions of this agent only.
    agent: Option<String>,
    /// How many matches at most (200; at most 10,000).
    limit: Option<u64>,
}

/// A query in SQL.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlAsked {
    /// One query that only reads.
    query: String,
    /// How many rows at most (1,000; at most 100,000).
    limit: Option<usize>,
}

/// `GET /v1/search`
pub async fn search(asked: Question<SearchAsked>) -> Result<AsJson<Vec<SearchMatch>>, ApiProblem> {
    let given = &asked.given;
    let query = SearchQuery {
        pattern: SearchPattern::parse(&given.q, &[])?,
        session: given.session,
        sessions: SessionFilter { agent: given.agent.clone(), children: true, ..SessionFilter::default() },
        limit: Some(given.limit.unwrap_or(MATCHES).clamp(1, MOST_MATCHES)),
        per_event: Some(PER_EVENT),
        ..SearchQuery::default()
    };
    let index = IndexReader::open(&IndexPlace::in_store(asked.service.store.dir()));
    let index = index.as_ref().map(|index| index as &dyn SearchIndex);
    let mut found = Vec::new();
    let visit = |one: &SearchMatch| {
        found.push(one.clone());
        Ok::<_, ApiProblem>(())
    };
    asked.reader().search(&query, index, visit).await?;
    Ok(AsJson(found))
}

/// `POST /v1/sql`
pub async fn sql(asked: Question<SqlAsked>) -> Result<AsJson<Vec<Value>>, ApiProblem> {
    let place = IndexPlace::in_store(asked.service.store.dir());
    let limit = asked.given.limit.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let (mut tries, mut indexed) = (0, true);
    loop {
        tries += 1;
        let tables = SqlTables::open(&**asked.reader().log(), indexed.then_some(&place)).await?;
        let (end, place) = (asked.end.clone(), asked.place.clone());
        let tables = tables.limited(move || place.share(&end) || end.is_due())?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let answered = tables.query(&asked.given.query, |columns, row| {
            bytes += row.iter().map(SqlValue::bytes).sum::<usize>();
            if rows.len() == limit || bytes > MOST_BYTES {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rows.push(to_json(columns, row));
            Ok(())
        });
        match answered {
            Err(SqlError::Output(_)) if rows.len() < limit => {
                let detail = format!("the values of the answer are longer than {} MiB; ask for less", MOST_BYTES >> 20);
                return Err(ApiProblem::unanswerable(detail));
            }
            Err(SqlError::Stopped) => return Err(took_too_long(WorkKind::Query)),
            Err(SqlError::Changed) if tries < TRIES => {}
            Err(SqlError::Damaged) if indexed => indexed = false,
            // The rows that were asked for are there.
            Err(SqlError::Output(_)) | Ok(_) => return Ok(AsJson(rows)),
            Err(error) => return Err(error.into()),
        }
    }
}

fn to_json(columns: &[String], row: &[SqlValue]) -> Value {
    let members = columns.iter().zip(row).map(|(name, value)| (name.clone(), serde_json::json!(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

/// `GET /v1/blobs/{hash}`
pub async fn blob(asked: Question<Nothing>) -> Result<Bytes, ApiProblem> {
    let text = asked.argument("hash");
    let hash: BlobHash =
        text.parse().map_err(|_| ApiProblem::not_found(format!("{text:?} is not the hash of a blob")))?;
    let blob = asked.reader().blobs().text(&hash);
    let blob = blob.ok_or_else(|| ApiProblem::not_found(format!("blob {hash} is not in the store")))?;
    Ok(Bytes { kind: "text/plain; charset=utf-8", facts: Vec::new(), bytes: blob.into_bytes() })
}

/// `GET /v1/verify`
pub async fn verify(asked: Question<Nothing>) -> Result<AsJson<VerifyReport>, ApiProblem> {
    Ok(AsJson(verify_store(&**asked.reader().log(), &mut |_| {}).await?))
}
