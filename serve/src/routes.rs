//! Every operation of the API.

use crate::answers::{
    edits, events, prompts, questions, requests, sessions, streams, timeline, user_questions, whole_store,
};
use crate::operation::{AnswerShape, Operation, get, post};
use crate::work::WorkKind;
use annals_core::schema::of;
use annals_inspect::compactions::ListedCompaction;
use annals_inspect::report::FilePage;
use annals_inspect::tree::TreeSession;
use annals_store::exchange::VerifyReport;
use serde_json::{Value, json};

fn any() -> Value {
    json!({})
}

/// The operations, in the order of the documentation.
pub fn operations() -> Vec<Operation> {
    use WorkKind::{Query, Session, Store};
    let json = AnswerShape::Json;
    let mut all = vec![
        get(
            "/v1/info",
            "info",
            "The version, the store, and how many sessions it has.",
            json(of::<sessions::ServerInfo>),
            Session,
            sessions::info,
        ),
        get(
            "/v1/sessions",
            "listSessions",
            "Sessions, those that changed last first.",
            json(of::<sessions::SessionPage>),
            Session,
            sessions::sessions,
        ),
        get(
            "/v1/sessions/{session}",
            "getSession",
            "One session and where it ends.",
            json(of::<sessions::SessionDetail>),
            Session,
            sessions::session,
        ),
        get(
            "/v1/sessions/{session}/timeline",
            "getTimeline",
            "The turns of a session: prompt, calls, marks, tokens, cost.",
            json(of::<timeline::TimelinePage>),
            Session,
            timeline::timeline,
        ),
        get(
            "/v1/sessions/{session}/axis",
            "getAxis",
            "Where turns begin and what failed, from the first to the last event; the errors next to a cut.",
            json(of::<timeline::SessionAxis>),
            Session,
            timeline::axis,
        ),
        get(
            "/v1/sessions/{session}/cuts",
            "getCuts",
            "The places that views can be asked for at: the ends of batches.",
            json(of::<timeline::CutPage>),
            Session,
            timeline::cuts,
        ),
        get(
            "/v1/sessions/{session}/views/{view}",
            "getView",
            "A view at a cut: session, history, transcript, baseline, snapshot, pending, epochs, requests, usage or events.",
            json(any),
            Session,
            questions::view,
        ),
        get(
            "/v1/sessions/{session}/requests",
            "listRequests",
            "The newest recorded requests.",
            json(of::<requests::RequestList>),
            Session,
            requests::requests,
        ),
        get(
            "/v1/sessions/{session}/requests/{number}",
            "getRequest",
            "A recorded request, rebuilt from the log and compared with its digest.",
            json(any),
            Session,
            requests::request,
        ),
        get(
            "/v1/sessions/{session}/requests/{number}/body",
            "getRequestBody",
            "The exact bytes of a request; annals-proof says whether the log proves them.",
            AnswerShape::Bytes("application/json"),
            Session,
            requests::body,
        ),
        get(
            "/v1/sessions/{session}/why",
            "why",
            "Which event each part of a request came from.",
            AnswerShape::Named("why"),
            Session,
            questions::why,
        ),
        get(
            "/v1/sessions/{session}/when",
            "when",
            "When a text entered and left what the model sees.",
            AnswerShape::Named("when"),
            Session,
            questions::when,
        ),
        get(
            "/v1/sessions/{session}/diff",
            "diff",
            "What differs between two cuts, two sessions or two requests.",
            json(any),
            Session,
            questions::diff,
        ),
        get(
            "/v1/sessions/{session}/cache",
            "cache",
            "How much of each request a prompt cache can reuse, and what broke it.",
            AnswerShape::Named("cache"),
            Session,
            questions::cache,
        ),
        get(
            "/v1/sessions/{session}/compactions",
            "compactions",
            "The compactions and what each removed.",
            json(of::<Vec<ListedCompaction>>),
            Session,
            questions::compactions,
        ),
        get(
            "/v1/sessions/{session}/usage",
            "usage",
            "Tokens and recorded cost.",
            AnswerShape::Named("usage"),
            Session,
            questions::usage,
        ),
        get(
            "/v1/sessions/{session}/files",
            "files",
            "The files that events name, and what was done with each, the newest first.",
            json(of::<FilePage>),
            Session,
            timeline::files,
        ),
        get(
            "/v1/sessions/{session}/verify",
            "verifySession",
            "Whether a session is unaltered: digests, chain, blobs.",
            json(of::<VerifyReport>),
            Session,
            questions::verify,
        ),
        get(
            "/v1/sessions/{session}/tree",
            "tree",
            "The forks and sub-agents that a session belongs to.",
            json(of::<Vec<TreeSession>>),
            Session,
            questions::tree,
        ),
        get(
            "/v1/search",
            "search",
            "Matches in the texts of all sessions.",
            AnswerShape::Named("search"),
            Store,
            whole_store::search,
        ),
        post(
            "/v1/sql",
            "sql",
            "The rows of a query (annals sql --schema lists the tables).",
            AnswerShape::Named("sql"),
            Query,
            whole_store::sql,
        ),
        get(
            "/v1/blobs/{hash}",
            "getBlob",
            "A long text.",
            AnswerShape::Bytes("text/plain"),
            Session,
            whole_store::blob,
        ),
        get(
            "/v1/verify",
            "verifyStore",
            "Whether the whole store is unaltered.",
            json(of::<VerifyReport>),
            Store,
            whole_store::verify,
        ),
    ];
    all.push(Operation {
        path: "/v1/sessions/{session}/events",
        name: "events",
        summary: "The events of a session: a page, or each as it comes, with its number as id.",
        given: of::<events::EventsAsked>(),
        answer: AnswerShape::Page { items: "events", schema: "events" },
        has_body: false,
        is_streamed: true,
        handler: axum::routing::get(streams::session_events),
    });
    all.push(Operation {
        path: "/v1/events",
        name: "allEvents",
        summary: "Every event of the store as it comes, from a position on; the last event of each batch has its position as id.",
        given: of::<events::StoreEventsAsked>(),
        answer: AnswerShape::Bytes("text/event-stream"),
        has_body: false,
        is_streamed: true,
        handler: axum::routing::get(streams::store_events),
    });
    all
}

/// The operations that change sessions, and those about what runs here. A server that only reads refuses them.
pub fn writing() -> Vec<Operation> {
    use WorkKind::{Change, Session};
    let json = AnswerShape::Json;
    vec![
        post(
            "/v1/sessions",
            "createSession",
            "Start a session in a directory, with a first prompt if there is one.",
            json(of::<prompts::InputTaken>),
            Change,
            prompts::create,
        ),
        post(
            "/v1/sessions/{session}/inputs",
            "admitInput",
            "Admit a prompt and run the session. An id that was admitted before is not admitted again.",
            json(of::<prompts::InputTaken>),
            Change,
            prompts::admit,
        ),
        get(
            "/v1/sessions/{session}/run",
            "getRun",
            "Whether this server runs the session, how its last run ended, and the permission questions that wait.",
            json(of::<prompts::RunState>),
            Session,
            prompts::run,
        ),
        get(
            "/v1/permissions",
            "listPermissions",
            "The permission questions that wait, of all sessions that this server runs.",
            json(of::<prompts::PermissionList>),
            Session,
            prompts::permissions,
        ),
        post(
            "/v1/sessions/{session}/permissions/{permission}",
            "answerPermission",
            "Answer a permission question that waits.",
            json(of::<prompts::PermissionTaken>),
            Change,
            prompts::answer,
        ),
        get(
            "/v1/questions",
            "listQuestions",
            "The questions of models to the user that wait.",
            json(of::<user_questions::UserQuestionList>),
            Session,
            user_questions::waiting,
        ),
        post(
            "/v1/sessions/{session}/questions/{question}",
            "answerQuestion",
            "Answer a question of a model that waits.",
            json(of::<user_questions::UserAnswerTaken>),
            Change,
            user_questions::answer,
        ),
        post(
            "/v1/sessions/{session}/interrupt",
            "interrupt",
            "Interrupt the turn that runs here; what arrived is kept.",
            json(of::<prompts::Interrupted>),
            Change,
            prompts::interrupt,
        ),
        post(
            "/v1/sessions/{session}/fork",
            "forkSession",
            "Branch a session at a cut (no copy).",
            json(of::<edits::ForkMade>),
            Change,
            edits::fork,
        ),
        post(
            "/v1/sessions/{session}/revert",
            "revertSession",
            "Stage an undo of a message and everything after it, apply it, or drop it.",
            json(of::<edits::RevertDone>),
            Change,
            edits::revert,
        ),
        post(
            "/v1/sessions/{session}/pins",
            "pinMessage",
            "Pin a message, so that compactions keep it word for word, or unpin it.",
            json(of::<edits::PinDone>),
            Change,
            edits::pin,
        ),
    ]
}
