//! Questions about one session, answered as the command answers them.

use crate::clip::Clipped;
use crate::operation::{AsJson, AtCut, NewestAsked, Nothing, Question, past};
use crate::problem::ApiProblem;
use annals_core::{Seq, SessionId};
use annals_host::project::root;
use annals_inspect::SessionAt;
use annals_inspect::cache::{self, Asking, Cached};
use annals_inspect::compactions::ListedCompaction;
use annals_inspect::tree::TreeSession;
use annals_inspect::view_diff::changes;
use annals_inspect::when::When;
use annals_inspect::why::{self, SpanPage, Why};
use annals_inspect::{diff, views};
use annals_projections::{Messages, SessionView};
use annals_store::exchange::VerifyReport;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Seconds that a provider keeps an unused prefix, as the command assumes.
const TTL: u64 = 300;

/// Which request is explained.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyAsked {
    /// How many events of the session have happened: the newest request before is explained. Without it all of them.
    at: Option<u64>,
    /// The request with this number instead of the newest.
    step: Option<u64>,
    /// Only the parts that contain this text.
    text: Option<String>,
    /// The place of the first part that is answered (0).
    from: Option<usize>,
    /// How many parts are answered from there on (all).
    limit: Option<usize>,
    /// How many of the last parts are answered in addition (0).
    last: Option<usize>,
    /// The most characters of a text, at least 128; what is cut is said at its end (all).
    clip: Option<usize>,
}

/// Which text is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhenAsked {
    /// The exact text.
    text: String,
    /// How many events of the session have happened. Without it all of them.
    at: Option<u64>,
}

/// What is compared: two cuts, two sessions, or two requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffAsked {
    /// The first cut. With `other` it is the cut of this session; without it all events.
    from: Option<u64>,
    /// The second cut. With `other` it is the cut of the other session. Without it all events.
    to: Option<u64>,
    /// Another session, compared turn by turn.
    other: Option<SessionId>,
    /// A request of this session, compared with `other_step`.
    step: Option<u64>,
    /// A request of `other`, or of this session.
    other_step: Option<u64>,
    /// The most characters of a text, at least 128; what is cut is said at its end (all).
    clip: Option<usize>,
}

/// What a cache could keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheAsked {
    /// How many events of the session have happened. Without it all of them.
    at: Option<u64>,
    /// The newest requests only.
    last: Option<usize>,
    /// Seconds that the provider keeps an unused prefix (300).
    ttl: Option<u64>,
}

/// Which view is answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewAsked {
    /// How many events of the session have happened. Without it all of them. A cut inside of a batch means its end.
    at: Option<u64>,
    /// Of a list only so many of its last items (all).
    last: Option<usize>,
    /// Of a list of messages only those of this type, such as `system` (all).
    only: Option<String>,
    /// The most characters of a text, at least 128; what is cut is said at its end (all).
    clip: Option<usize>,
}

/// `GET /v1/sessions/{session}/views/{view}`
pub async fn view(asked: Question<ViewAsked>) -> Result<Clipped<Value>, ApiProblem> {
    let limit = asked.given.clip;
    let past = asked.past(asked.given.at).await?;
    let name = views::named(asked.argument("view"))?;
    let view = match (name, asked.given.last) {
        ("transcript", Some(last)) if asked.given.only.is_none() => {
            let view = past.seen(past.until).await?;
            let items = view.transcript.items.len();
            // What was evicted is asked for: all of it is folded.
            if items >= last || view.transcript.dropped == 0 {
                let answer = newest_messages(&asked, &past, &view, items.saturating_sub(last)).await?;
                return Ok(Clipped { answer, limit });
            }
            past.view(past.until).await?
        }
        ("transcript" | "usage", _) => past.view(past.until).await?,
        _ => past.seen(past.until).await?,
    };
    let mut views = views::json(&past, &view, past.until, &[name]).await?;
    let mut answer = views.get_mut(name).map(Value::take).unwrap_or_default();
    if let Value::Array(items) = &mut answer {
        if let Some(only) = &asked.given.only {
            items.retain(|item| item["type"] == only.as_str());
        }
        items.drain(..items.len().saturating_sub(asked.given.last.unwrap_or(usize::MAX)));
    }
    Ok(Clipped { answer, limit })
}

/// The messages of a transcript from an item on.
async fn newest_messages(
    asked: &Question<ViewAsked>,
    past: &SessionAt,
    view: &SessionView,
    from: usize,
) -> Result<Value, ApiProblem> {
    let items = &view.transcript.items;
    let wanted: BTreeSet<Seq> = items.range(from..items.len()).map(|item| item.seq).collect();
    let Some((first, last)) = view.transcript.reach(from..items.len()) else { return Ok(json!([])) };
    let mut messages = Messages::default();
    asked
        .reader()
        .each(past.session, first, last.min(past.until), |record| {
            messages.apply(record);
        })
        .await?;
    let shown = view.transcript.page_json(&messages, past.blobs());
    let is_wanted =
        |message: &&Value| message.get("seq").and_then(Value::as_u64).is_some_and(|seq| wanted.contains(&Seq(seq)));
    Ok(shown.as_array().map(|all| all.iter().filter(is_wanted).cloned().collect()).unwrap_or_default())
}

/// `GET /v1/sessions/{session}/why`
pub async fn why(asked: Question<WhyAsked>) -> Result<Clipped<Why>, ApiProblem> {
    let given = &asked.given;
    let whole = SpanPage::ALL;
    let page = SpanPage {
        from: given.from.unwrap_or(whole.from),
        limit: given.limit.unwrap_or(whole.limit),
        last: given.last.unwrap_or(whole.last),
    };
    let past = asked.past(given.at).await?;
    let answer = why::ask_page(&past, given.step, given.text.as_deref(), page).await?;
    Ok(Clipped { answer, limit: given.clip })
}

/// `GET /v1/sessions/{session}/when`
pub async fn when(asked: Question<WhenAsked>) -> Result<AsJson<When>, ApiProblem> {
    Ok(AsJson(asked.past(asked.given.at).await?.when(&asked.given.text).await?))
}

/// `GET /v1/sessions/{session}/diff`
pub async fn diff(asked: Question<DiffAsked>) -> Result<Clipped<Value>, ApiProblem> {
    let given = &asked.given;
    let one = asked.past(if given.other.is_some() { given.from } else { given.to }).await?;
    let other = match given.other {
        Some(other) => past(asked.reader(), other, given.to).await?,
        None => one.clone(),
    };
    let answer = match (given.step, given.other_step, given.other, given.from) {
        (Some(step), Some(other_step), ..) => {
            serde_json::to_value(diff::requests((&one, step), (&other, other_step)).await?)
        }
        (None, None, Some(_), _) => serde_json::to_value(diff::sessions(&one, &other).await?),
        (None, None, None, Some(from)) => {
            let from = asked.past(Some(from)).await?.until;
            let changes = match from <= one.until {
                true => one.diff_views(from).await?,
                false => changes(&other_view(&asked, from.0).await?, &one.view(one.until).await?, one.blobs()),
            };
            serde_json::to_value(changes)
        }
        _ => return Err(ApiProblem::bad_request("give from (and to), or other, or step and other_step")),
    };
    Ok(Clipped { answer: answer.map_err(ApiProblem::unreadable)?, limit: given.clip })
}

async fn other_view(asked: &Question<DiffAsked>, at: u64) -> Result<annals_projections::SessionView, ApiProblem> {
    let past = asked.past(Some(at)).await?;
    Ok(past.view(past.until).await?)
}

/// `GET /v1/sessions/{session}/cache`
pub async fn cache(asked: Question<CacheAsked>) -> Result<AsJson<Cached>, ApiProblem> {
    let given = &asked.given;
    let asking = Asking { last: given.last, ttl_ms: given.ttl.unwrap_or(TTL).saturating_mul(1_000) };
    Ok(AsJson(cache::ask(&asked.past(given.at).await?, asking).await?))
}

/// `GET /v1/sessions/{session}/compactions`
pub async fn compactions(asked: Question<NewestAsked>) -> Result<AsJson<Vec<ListedCompaction>>, ApiProblem> {
    let mut compactions = asked.past(asked.given.at).await?.compactions().await?;
    compactions.drain(..compactions.len().saturating_sub(asked.given.last.unwrap_or(usize::MAX)));
    Ok(AsJson(compactions))
}

/// `GET /v1/sessions/{session}/usage`
pub async fn usage(asked: Question<AtCut>) -> Result<AsJson<Value>, ApiProblem> {
    let past = asked.past(asked.given.at).await?;
    Ok(AsJson(past.audited_usage(&|directory| root(Path::new(directory))).await?))
}

/// `GET /v1/sessions/{session}/verify`
pub async fn verify(asked: Question<Nothing>) -> Result<AsJson<VerifyReport>, ApiProblem> {
    Ok(AsJson(asked.past(None).await?.integrity().await?))
}

/// `GET /v1/sessions/{session}/tree`
pub async fn tree(asked: Question<Nothing>) -> Result<AsJson<Vec<TreeSession>>, ApiProblem> {
    let session = asked.session()?;
    asked.reader().head(session).await?;
    Ok(AsJson(asked.reader().trees(Some(session)).await?.sessions))
}
