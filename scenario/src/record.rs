//! Writes a recorded session as a scenario that makes the same events happen and expects the same views.
//!
//! Context sources are written as declared ones whose templates are the recorded texts, answers as attempts, and the
//! results of tools as the `results` of declared ones. Where the language of scenarios has no word for an event, the
//! error names its place.

mod context;
mod expectation;
mod run;
mod text;
mod walk;

use super::views::each;
use annals_core::event::{Event, InputConfigured, ProfileEvent, SessionEvent, Switch, SystemMessages};
use annals_core::{Blobs, Seq, SessionId, Time};
use annals_projections::{Projection, SessionView};
use annals_store::{EventLog, ReadError};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A Session cannot be recorded as a scenario.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The session contains something that a scenario cannot express: record another session.
    #[error("session {session}, event {seq}: a scenario cannot express {what}")]
    Untold {
        /// The session.
        session: SessionId,
        /// The event.
        seq: Seq,
        /// The event or behaviour.
        what: String,
    },
}

/// A fact with its place, its texts resolved.
struct RecordedEvent {
    seq: Seq,
    at: Time,
    event: Event,
}

/// The text of a scenario that plays a session of `log` again and expects its present views.
///
/// # Errors
/// When the log cannot be read, or contains something that a scenario cannot express.
pub async fn record(log: &dyn EventLog, session: SessionId) -> Result<String, RecordError> {
    let blobs = log.blobs();
    let mut facts = Vec::new();
    each(log, session, |record| {
        facts.push(RecordedEvent { seq: record.seq, at: record.at, event: record.event.clone() });
    })
    .await?;
    let document = RecordedSession { session, blobs }.document(&facts)?;
    Ok(text::write(&document))
}

struct RecordedSession {
    session: SessionId,
    blobs: Arc<dyn Blobs + Send + Sync>,
}

impl RecordedSession {
    fn inexpressible(&self, seq: Seq, what: impl Into<String>) -> RecordError {
        RecordError::Untold { session: self.session, seq, what: what.into() }
    }

    fn document(&self, facts: &[RecordedEvent]) -> Result<Vec<(&'static str, Value)>, RecordError> {
        let Some(RecordedEvent { event: Event::Session(SessionEvent::Created(created)), .. }) = facts.first() else {
            return Err(self.inexpressible(Seq::ZERO, "a Session that does not begin with its creation"));
        };
        let mut walk = walk::ScriptBuilder::new(self, facts);
        facts.iter().try_for_each(|fact| walk.take(fact))?;
        let recorded = walk.finish()?;
        let mut script = recorded.script;
        script.push(json!({ "expect": expectation::of(self, facts, &recorded.tolerances) }));

        let word = |switch: Switch| switch.as_str();
        let name = format!("the Session {} plays again", self.session);
        let (agents, models) = self.profiles(facts, &recorded.asked);
        Ok(vec![
            ("scenario", json!(1)),
            ("name", json!(name)),
            (
                "session",
                json!({ "location": created.location.directory, "agent": created.agent, "model": created.model }),
            ),
            (
                "policy",
                json!({
                    "agent_switch": word(created.policy.agent_switch), "model_switch": word(created.policy.model_switch),
                }),
            ),
            ("agents", Value::Object(agents)),
            ("models", Value::Object(models)),
            ("config", json!({ "compaction": recorded.compaction })),
            ("script", Value::Array(script)),
        ])
    }

    /// Agents and models as they were first recorded. What was ever asked is asked again, the rest is allowed: the log
    /// records which questions were asked, not the rules behind them.
    fn profiles(&self, facts: &[RecordedEvent], asked: &[String]) -> (Map<String, Value>, Map<String, Value>) {
        let (mut agents, mut models) = (Map::new(), Map::new());
        let system =
            |configured: InputConfigured| configured.system.map(|text| text.resolve(self.blobs.as_ref()).into_owned());
        let brought: Vec<String> = walk::configured(facts).into_values().filter_map(system).collect();
        let mut rules = vec![json!(["*", "*", "allow"])];
        rules.extend(asked.iter().map(|action| json!([action, "*", "ask"])));
        for fact in facts {
            match &fact.event {
                Event::Profile(ProfileEvent::AgentRecorded(recorded)) => {
                    let profile = &recorded.profile;
                    let mut agent = Map::new();
                    if let Some(system) = &profile.system {
                        let own = without(&system.resolve(self.blobs.as_ref()), &brought);
                        own.into_iter().for_each(|own| drop(agent.insert("system".to_owned(), json!(own))));
                    }
                    if let Some(steps) = profile.steps {
                        agent.insert("steps".to_owned(), json!(steps));
                    }
                    agent.insert("permissions".to_owned(), json!(rules));
                    agents.entry(profile.agent.0.clone()).or_insert(Value::Object(agent));
                }
                Event::Profile(ProfileEvent::ModelRecorded(recorded)) => {
                    let profile = &recorded.profile;
                    let wrapped = profile.system_messages == SystemMessages::Wrapped;
                    models.entry(profile.model.0.clone()).or_insert(json!({
                        "context": profile.context, "output": profile.output,
                        "system_messages": if wrapped { "wrapped" } else { "native" },
                    }));
                }
                _ => {}
            }
        }
        (agents, models)
    }

    fn view(&self, facts: &[RecordedEvent]) -> SessionView {
        let mut view = SessionView::default();
        facts.iter().for_each(|fact| view.apply(&fact.record(self.session)));
        view
    }
}

/// The system text of an agent without those that inputs brought, which follow it.
fn without(system: &str, brought: &[String]) -> Option<String> {
    let mut own = system;
    while let Some(text) = brought.iter().find(|text| !text.is_empty() && own.ends_with(text.as_str())) {
        own = own[..own.len() - text.len()].trim_end_matches("\n\n");
    }
    (!own.is_empty()).then(|| own.to_owned())
}

impl RecordedEvent {
    fn record(&self, session: SessionId) -> annals_core::Record<'_> {
        annals_core::Record { session, seq: self.seq, at: self.at, event: &self.event }
    }
}
