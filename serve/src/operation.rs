//! Operations of the API: a path, what may be given, what is answered, and how. Routes and their documentation are made of
//! the same list.

use crate::problem::ApiProblem;
use crate::service::Service;
use crate::work::{StoppedLog, WorkEnd, WorkKind, WorkPlace, took_too_long};
use annals_core::schema::of;
use annals_core::{Seq, SessionId};
use annals_inspect::SessionAt;
use annals_inspect::live_store::StoreSnapshot;
use annals_inspect::reader::{FindError, Reader};
use annals_store::EventLog;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// What is in the path, by name.
pub type PathArguments = BTreeMap<String, String>;

/// An operation.
pub struct Operation {
    /// Its path; what is in braces is given.
    pub path: &'static str,
    /// Its name in clients that are made from the documentation.
    pub name: &'static str,
    /// What it answers.
    pub summary: &'static str,
    /// What may be given: a JSON Schema of an object.
    pub given: Value,
    /// The shape of the answer.
    pub answer: AnswerShape,
    /// Whether what is given is a body.
    pub has_body: bool,
    /// Whether it can be followed as server-sent events.
    pub is_streamed: bool,
    pub(crate) handler: MethodRouter<Arc<Service>>,
}

/// The shape of an answer.
pub enum AnswerShape {
    /// The JSON of a view or of an answer of the command, by its name in `annals dev schema`.
    Named(&'static str),
    /// JSON of this schema.
    Json(fn() -> Value),
    /// A page: the list `items` of values of a named schema, and `next`.
    Page {
        /// The member that holds the list.
        items: &'static str,
        /// The name of the list's schema.
        schema: &'static str,
    },
    /// Bytes of this media type.
    Bytes(&'static str),
}

/// How long the end of a question that is stopped is waited for before its client gets an answer.
const GRACE: Duration = Duration::from_secs(1);

/// Nothing can be given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The place of a question about a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtCut {
    /// How many events of the session have happened. Without it all of them. A cut inside of a batch means its end.
    pub at: Option<u64>,
}

/// The newest of a list about a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewestAsked {
    /// How many events of the session have happened. Without it all of them. A cut inside of a batch means its end.
    pub at: Option<u64>,
    /// Only so many of the last items.
    pub last: Option<usize>,
}

/// What was asked.
pub struct Question<Q> {
    /// What all requests share.
    pub service: Arc<Service>,
    /// The store as it is now.
    pub store: Arc<StoreSnapshot>,
    /// Where sessions are read, until the work on the question ends.
    pub reader: Reader,
    /// When to stop working.
    pub end: WorkEnd,
    /// Where it is worked on.
    pub place: Arc<WorkPlace>,
    /// What is in the path.
    pub path: PathArguments,
    /// What else was given.
    pub given: Q,
}

/// Bytes that are answered as they are.
pub struct Bytes {
    /// The media type.
    pub kind: &'static str,
    /// What is known about them, as headers.
    pub facts: Vec<(&'static str, String)>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An answer that can be sent.
pub trait IntoAnswer {
    /// The response, made where the question was worked on.
    fn into_answer(self) -> Result<Response, ApiProblem>;
}

/// An answer as JSON.
pub struct AsJson<T>(pub T);

impl<T: Serialize> IntoAnswer for AsJson<T> {
    fn into_answer(self) -> Result<Response, ApiProblem> {
        let bytes = serde_json::to_vec(&self.0).map_err(ApiProblem::unreadable)?;
        Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
    }
}

impl IntoAnswer for Bytes {
    fn into_answer(self) -> Result<Response, ApiProblem> {
        let mut response = ([(header::CONTENT_TYPE, self.kind)], self.bytes).into_response();
        for (name, value) in self.facts {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }
}

impl<Q> Question<Q> {
    /// Where sessions are read.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What the path holds under a name.
    pub fn argument(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// A number in the path.
    pub fn number(&self, name: &str) -> Result<u64, ApiProblem> {
        let text = self.argument(name);
        text.parse().map_err(|_| ApiProblem::not_found(format!("{text:?} is not a number")))
    }

    /// The session in the path.
    pub fn session(&self) -> Result<SessionId, ApiProblem> {
        session_in(&self.path)
    }

    /// The session in the path up to a cut: the whole batch that the cut is in.
    pub async fn past(&self, at: Option<u64>) -> Result<SessionAt, ApiProblem> {
        past(self.reader(), self.session()?, at).await
    }
}

/// The session in a path.
pub fn session_in(path: &PathArguments) -> Result<SessionId, ApiProblem> {
    let text = path.get("session").map_or("", String::as_str);
    text.parse().map_err(|_| ApiProblem::not_found(format!("{text:?} is not the id of a session")))
}

/// A session up to a cut: the whole batch that the cut is in.
pub async fn past(reader: &Reader, session: SessionId, at: Option<u64>) -> Result<SessionAt, ApiProblem> {
    let until = match at {
        Some(0) => {
            reader.head(session).await?;
            Seq::ZERO
        }
        Some(at) => match reader.until(session, Some(Seq(at - 1))).await {
            Err(error @ FindError::PastTheEnd { .. }) => return Err(ApiProblem::bad_request(error)),
            until => until?,
        },
        None => reader.until(session, None).await?,
    };
    Ok(reader.session_at(session, until))
}

/// An operation that answers what is asked by a query.
pub fn get<Q, T, F, W>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    answer: AnswerShape,
    kind: WorkKind,
    ask: F,
) -> Operation
where
    Q: DeserializeOwned + JsonSchema + Send + 'static,
    T: IntoAnswer,
    F: Fn(Question<Q>) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Result<T, ApiProblem>>,
{
    let handler = axum::routing::get(
        move |State(service): State<Arc<Service>>, Path(path): Path<PathArguments>, given: QueryGiven<Q>| async move {
            let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
            work(service, path, given, kind, ask).await
        },
    );
    Operation { path, name, summary, given: of::<Q>(), answer, has_body: false, is_streamed: false, handler }
}

type QueryGiven<Q> = Result<Query<Q>, QueryRejection>;
type BodyGiven<Q> = Result<Json<Q>, JsonRejection>;

/// An operation that answers what is asked by a body.
pub fn post<Q, T, F, W>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    answer: AnswerShape,
    kind: WorkKind,
    ask: F,
) -> Operation
where
    Q: DeserializeOwned + JsonSchema + Send + 'static,
    T: IntoAnswer,
    F: Fn(Question<Q>) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Result<T, ApiProblem>>,
{
    let handler = axum::routing::post(
        move |State(service): State<Arc<Service>>, Path(path): Path<PathArguments>, given: BodyGiven<Q>| async move {
            let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
            work(service, path, given, kind, ask).await
        },
    );
    Operation { path, name, summary, given: of::<Q>(), answer, has_body: true, is_streamed: false, handler }
}

/// Works on a question on a thread of its own: folds are work for a processor, and may wait for the disk.
pub async fn work<Q, T, F, W>(
    service: Arc<Service>,
    path: PathArguments,
    given: Q,
    kind: WorkKind,
    ask: F,
) -> Result<Response, ApiProblem>
where
    Q: Send + 'static,
    T: IntoAnswer,
    F: FnOnce(Question<Q>) -> W + Send + 'static,
    W: Future<Output = Result<T, ApiProblem>>,
{
    let place = Arc::new(WorkPlace::take(kind.places(&service)).await.map_err(ApiProblem::unreadable)?);
    // Dropped with this future, when the client leaves.
    let (_client, client) = watch::channel(());
    let until = kind.limit().map(|limit| Instant::now() + limit);
    let end = WorkEnd::new(client, service.running.clone(), until);
    let handle = Handle::current();
    let answered = tokio::task::spawn_blocking(move || {
        handle.block_on(async {
            let ended = end.clone();
            let asked = async {
                let store = service.store.now().await?;
                let before = |log| Arc::new(StoppedLog { log, end: end.clone() }) as Arc<dyn EventLog>;
                let reader = store.reader.clone().with_log(before);
                ask(Question { service, store, reader, end, place, path, given }).await?.into_answer()
            };
            tokio::select! {
                answer = asked => answer,
                () = ended.due() => Err(took_too_long(kind)),
            }
        })
    });
    let failed = |error| {
        tracing::error!(%error, "a question was not answered");
        ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "the question was not answered", "see the server's messages")
    };
    let Some(until) = until else { return answered.await.map_err(failed)? };
    // Work between two reads is not stopped; its client is answered all the same.
    timeout_at(until + GRACE, answered).await.map_err(|_| took_too_long(kind))?.map_err(failed)?
}
