//! Recorded requests, rebuilt from the log, and their exact bytes.

use crate::operation::{AsJson, Bytes, NewestAsked, Nothing, Question};
use crate::problem::ApiProblem;
use annals_inspect::prove::Wire;
use annals_inspect::requests::ListedRequest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// How many requests are listed at most: the newest.
const NEWEST: usize = 1_000;

/// The newest requests before a cut.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequestList {
    requests: Vec<ListedRequest>,
    /// How many there are, those that are not listed included.
    total: usize,
}

/// `GET /v1/sessions/{session}/requests`
pub async fn requests(asked: Question<NewestAsked>) -> Result<AsJson<RequestList>, ApiProblem> {
    let past = asked.past(asked.given.at).await?;
    let recorded = past.requests().await?;
    let requests = recorded.newest(asked.given.last.unwrap_or(NEWEST).min(NEWEST)).collect();
    Ok(AsJson(RequestList { requests, total: recorded.len() }))
}

/// `GET /v1/sessions/{session}/requests/{number}`
pub async fn request(asked: Question<Nothing>) -> Result<AsJson<Value>, ApiProblem> {
    let number = usize::try_from(asked.number("number")?).unwrap_or(usize::MAX);
    Ok(AsJson(asked.past(None).await?.rebuilt_request(number).await?.to_json()))
}

/// `GET /v1/sessions/{session}/requests/{number}/body`
pub async fn body(asked: Question<Nothing>) -> Result<Bytes, ApiProblem> {
    let number = usize::try_from(asked.number("number")?).unwrap_or(usize::MAX);
    let past = asked.past(None).await?;
    let rebuilt = past.rebuilt_request(number).await?;
    let (body, proof) = match rebuilt.wire(past.blobs()).map_err(ApiProblem::unanswerable)? {
        Wire::Proved(body) => (body, "proved"),
        Wire::Recorded(body) => (body, "recorded"),
        Wire::Redacted(body) => (body, "redacted"),
        Wire::Agent(body, proof) => (body, proof.name()),
        Wire::Differs(_, Some(body)) => (body, "differs"),
        Wire::NotRecorded => return Err(ApiProblem::not_found("no body is recorded for this request")),
        Wire::OfAnotherBuild(why) | Wire::Differs(why, None) => return Err(ApiProblem::unanswerable(why)),
    };
    let facts = vec![("annals-digest", body.digest.to_string()), ("annals-proof", proof.to_owned())];
    Ok(Bytes { kind: "application/json", facts, bytes: body.bytes })
}
