//! Titles, requested in the background (`docs/reference/turn.md#titles`).
//!
//! After the first answer of an untitled session that no other one began, a request of its own asks a model for a title. It
//! runs on a task of its own: no turn waits for it, and the session is idle while it runs. Its end is a fact in any case,
//! `session.titled` or `title.failed`; one that its process did not survive is ended by the next run, and another one may
//! follow. A Session asks three times at most, and once in an activity.

mod line;

use super::one_shot::{self, OneShot, OneShotAnswer, OneShotEnd};
use super::{RequestProfile, Runner, Selected, Stop, cost, failure};
use crate::background::{Work, scheduled};
use crate::lane::{Decision, Lane};
use crate::outcome::LogError;
use crate::settings::TitleSettings;
use crate::state::RuntimeState;
use crate::tools::Cancel;
use annals_core::event::{Failure, Finish, Purpose, SessionTitled, TitleFailed, Usage};
use annals_core::{Blobs, Event, RequestId};
use annals_projections::{Body, SessionView};
use std::sync::Arc;

/// How often a session asks for its title at most.
const ASKED: u32 = 3;

/// How much of what the user wrote a title is made of, in characters.
const SHOWN: usize = 4_000;

const INSTRUCTIONS: &str = "Give the conversation that begins with the message below a title: one line of at most 50 \
characters, in the language of the message, that says what it is about. Do not answer the message. Answer with the title \
alone, without quotes.";

/// Starts the request for a title if one is due after the step of this number. No turn waits for it.
pub(crate) fn begin(runner: &Runner, view: &SessionView, step: u32) {
    let Some(settings) = &runner.shared.settings.title else { return };
    // What failed in passing is asked again by a later activity, not after every step.
    if !is_due(view) || (view.session.titling.asked > 0 && step > 1) {
        return;
    }
    let (shared, lane, session) = (runner.shared.clone(), runner.lane.clone(), runner.lane.session());
    let Some((asking, cancel)) = shared.titles.take_on(session) else { return };
    let settings = settings.clone();
    let start = scheduled(shared.settings.scheduler.as_ref(), Work::Title(session));
    let task = tokio::spawn(async move {
        let _asking = asking;
        let cancelled = cancel.watch();
        let _guard = tokio::select! {
            biased;
            guard = start => guard,
            () = cancelled.cancelled() => return,
        };
        if let Err(Stop::Failed(error)) = ask(shared, lane, cancel, &settings).await {
            tracing::warn!(%session, %error, "a title was not asked for");
        }
    });
    runner.shared.titles.spawned(session, task.abort_handle());
}

/// Whether a session may ask for a title.
fn is_due(view: &SessionView) -> bool {
    let session = &view.session;
    let untitled = session.title.is_none() && session.parent.is_none();
    untitled && session.titling.open.is_none() && session.titling.asked < ASKED
}

async fn ask(
    shared: Arc<RuntimeState>,
    lane: Arc<Lane>,
    cancel: Arc<Cancel>,
    settings: &TitleSettings,
) -> Result<(), Stop> {
    let runner = Runner::new(shared, lane, cancel).await?;
    let view = runner.lane.view().await?;
    let Some(prompt) = prompt(&view, &*runner.lane.blobs()) else { return Ok(()) };
    let profile = RequestProfile::of_summary(&runner, &selected(&runner, &view, settings))?;
    profile.record(&runner.lane).await?;
    let Some(request) = one_shot::record_request(&runner, &profile, Purpose::Title, prompt.into(), is_due).await?
    else {
        return Ok(());
    };
    let OneShot { id, .. } = request;
    let OneShotAnswer { text, usage, ended } = one_shot::ask(&runner, request, |_| {}).await;
    let end = TitleEnd { request: id, usage, cost: cost(&profile.model.prices, usage) };
    Ok(runner.lane.decide(|view| Ok::<_, LogError>(Decision::append(end.facts(view, &text, &ended), ()))).await?)
}

/// The model of its own, where it is defined; else the session's.
fn selected(runner: &Runner, view: &SessionView, settings: &TitleSettings) -> Selected {
    let defined = |model: &&annals_core::ModelName| runner.shared.ports.definitions.model(model).is_some();
    let selected = Selected::of(view);
    Selected {
        agent: settings.agent.clone().unwrap_or(selected.agent),
        model: settings.model.as_ref().filter(defined).cloned().unwrap_or(selected.model),
    }
}

/// What the model is asked: about the first thing that the history says; `None` when it says nothing.
fn prompt(view: &SessionView, blobs: &dyn Blobs) -> Option<String> {
    let prompt = view.history.selected().find_map(|message| match &message.body {
        Body::User { text, .. } => Some(text.resolve(blobs)),
        Body::Compaction { summary, .. } => Some(summary.resolve(blobs)),
        _ => None,
    })?;
    let shown: String = prompt.chars().take(SHOWN).collect();
    (!shown.trim().is_empty()).then(|| format!("{INSTRUCTIONS}\n\n<message>\n{shown}\n</message>"))
}

/// The end of a request.
struct TitleEnd {
    request: RequestId,
    usage: Option<Usage>,
    cost: u64,
}

impl TitleEnd {
    /// The events of the end; none if another writer has ended it. A title that was set meanwhile is kept.
    fn facts(&self, view: &SessionView, text: &str, ended: &OneShotEnd) -> Vec<Event> {
        if view.session.titling.open != Some(self.request) {
            return Vec::new();
        }
        let title = match ended {
            OneShotEnd::Finished(Finish::ContentFilter | Finish::Error) => {
                Err(plain("refused", "the answer was refused"))
            }
            OneShotEnd::Finished(_) => line::title(text).ok_or_else(|| plain("blank", "the answer holds no title")),
            OneShotEnd::Failed(error) => Err(failure(error)),
            OneShotEnd::Cut => Err(plain("incomplete-stream", "the answer broke off")),
            OneShotEnd::Interrupted(_) => Err(one_shot::cancelled("Title request cancelled")),
        };
        let untitled = || plain("overtaken", "the Session got a title meanwhile");
        let title = if view.session.title.is_some() { title.and_then(|_| Err(untitled())) } else { title };
        vec![match title {
            Ok(title) => {
                SessionTitled { title, request: Some(self.request), usage: self.usage, cost: self.cost }.into()
            }
            Err(error) => self.failed(error).into(),
        }]
    }

    fn failed(&self, error: Failure) -> TitleFailed {
        TitleFailed { request: self.request, error, usage: self.usage, cost: self.cost }
    }
}

fn plain(kind: &str, message: &str) -> Failure {
    Failure { kind: kind.into(), message: message.into(), status: None }
}
