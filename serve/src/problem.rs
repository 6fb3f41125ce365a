//! Why a request has no answer, as RFC 9457 says it.

use annals_host::{EditError, HostError};
use annals_index::{IndexError, SqlError};
use annals_inspect::AskError;
use annals_inspect::pins::PinError;
use annals_inspect::reader::FindError;
use annals_inspect::requests::RebuildError;
use annals_inspect::search::SearchPatternError;
use annals_runtime::Refusal;
use annals_store::{ReadError, SharedError};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// A request has no answer (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApiProblem {
    /// Always `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The kind of problem in a few words.
    pub title: &'static str,
    /// What happened, where, and what to ask instead.
    pub detail: String,
}

impl ApiProblem {
    /// A problem with this status.
    pub fn new(status: StatusCode, title: &'static str, detail: impl ToString) -> Self {
        Self { kind: "about:blank", status: status.as_u16(), title, detail: detail.to_string() }
    }

    /// The request itself is wrong.
    pub fn bad_request(detail: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad request", detail)
    }

    /// There is nothing of this name.
    pub fn not_found(detail: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found", detail)
    }

    /// The question has no answer in this log.
    pub fn unanswerable(detail: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no answer", detail)
    }

    /// What is asked for cannot be done now.
    pub fn conflict(detail: impl ToString) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// The store cannot be read.
    pub fn unreadable(detail: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the store cannot be read", detail)
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}

impl From<ReadError> for ApiProblem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoSession(_) => Self::not_found(error),
            ReadError::Damaged { .. } => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the log is damaged", error),
            _ => Self::unreadable(error),
        }
    }
}

impl From<FindError> for ApiProblem {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Read(error) => error.into(),
            FindError::NoSession { .. } | FindError::NoSessions { .. } => Self::not_found(error),
            error => Self::unanswerable(error),
        }
    }
}

impl From<AskError> for ApiProblem {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Read(error) => error.into(),
            AskError::NoStep { .. } | AskError::NoEvent { .. } | AskError::NoView { .. } => Self::not_found(error),
            error => Self::unanswerable(error),
        }
    }
}

impl From<RebuildError> for ApiProblem {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Read(error) => error.into(),
            RebuildError::NoRequest { .. } => Self::not_found(error),
            error => Self::unanswerable(error),
        }
    }
}

impl From<HostError> for ApiProblem {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Find(error) => error.into(),
            HostError::Read(error) => error.into(),
            HostError::Refused(refusal) | HostError::Edit(EditError::Refused { refusal, .. }) => refusal.into(),
            error => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", error),
        }
    }
}

impl From<Refusal> for ApiProblem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(_) => Self::not_found(refusal),
            Refusal::Conflict(_) | Refusal::Busy | Refusal::Outdated => Self::conflict(refusal),
            refusal => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", refusal),
        }
    }
}

impl From<PinError> for ApiProblem {
    fn from(error: PinError) -> Self {
        match error {
            PinError::OtherKind(_) => Self::unanswerable(error),
            PinError::Pinned(_) | PinError::NotPinned(_) => Self::conflict(error),
        }
    }
}

impl From<SearchPatternError> for ApiProblem {
    fn from(error: SearchPatternError) -> Self {
        Self::bad_request(error)
    }
}

impl From<SqlError> for ApiProblem {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Query(_) | SqlError::NotAllowed => Self::bad_request(error),
            error => Self::unreadable(error),
        }
    }
}

impl From<IndexError> for ApiProblem {
    fn from(error: IndexError) -> Self {
        Self::unreadable(error)
    }
}

impl From<SharedError> for ApiProblem {
    fn from(error: SharedError) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be opened", error)
    }
}
