//! Performs actions in a process.

use super::Process;
use crate::action::{Action, InputScript, RevertAction, SettleTarget};
use crate::report::FailedExpectation;
use crate::world::UnknownName;
use annals_core::SessionId;
use annals_core::event::Location;
use annals_runtime::background::Work;
use annals_runtime::outcome::{Outcome, Refusal, RunError};
use annals_runtime::{Boxed, LogError};
use annals_runtime::{Extent, MessagePlace, NewInput, Session};
use serde_json::{Value, json};

/// Why an action failed: its entry in the view `runs`.
struct ActionRefused {
    kind: &'static str,
    message: String,
}

impl Process {
    /// Performs an action and records its outcome in the world.
    pub fn act<'a>(&'a self, action: &'a Action) -> Boxed<'a, ()> {
        Box::pin(async move {
            let Some(id) = self.world.session() else { return };
            let done = match self.runtime.session(id).await {
                Ok(session) => self.perform_on(&session, action).await,
                Err(refusal) => Err(refusal.into()),
            };
            if let Err(refused) = done {
                self.refused(refused);
            }
        })
    }

    async fn perform_on(&self, session: &Session, action: &Action) -> Result<(), ActionRefused> {
        match action {
            Action::Agent(agent) => session.switch_agent(agent.clone()).await?,
            Action::Model(model) => session.switch_model(model.clone()).await?,
            Action::Move(directory) => {
                session.move_to(Location { directory: directory.clone(), workspace: None }).await?;
            }
            Action::Admit(input) => self.admit(session, input).await,
            Action::Cancel(input) => session.withdraw(input).await?,
            Action::Run => self.ended(session.run().await),
            Action::Prompt(input) => {
                // Both, whether the first one failed or not: a prompt has two outcomes.
                self.admit(session, input).await;
                self.ended(session.run().await);
            }
            Action::Compact => self.ended(session.compact().await),
            Action::Revert(RevertAction::To { user, files }) => {
                let extent = if *files { Extent::ConversationAndFiles } else { Extent::Conversation };
                let plan = session.plan_revert(MessagePlace::User(*user), extent).await?;
                session.stage(&plan).await?;
            }
            Action::Revert(RevertAction::Clear) => drop(session.clear_revert().await?),
            Action::Revert(RevertAction::Commit) => drop(session.commit_revert().await?),
            Action::Pin { user, pinned } => drop(session.pin(MessagePlace::User(*user), *pinned).await?),
            Action::Fork { at, name } => self.fork(session, *at, name).await?,
            Action::Child { number, name } => self.child(session, *number, name).await?,
            Action::Session(name) => self.choose(name)?,
            Action::Settle(aside) => self.settle(session, *aside).await?,
            Action::Interrupt => session.interrupt(),
            Action::Capture(label) => {
                let views = self.views(session).await?;
                self.world.state().captures.insert(label.clone(), views);
            }
            Action::Expect { action, views } => {
                let found = self.views(session).await?;
                let mut state = self.world.state();
                for (view, pattern) in views {
                    let mismatches = pattern.check(view.name(), found.get(view.name()), &state.captures);
                    let failures =
                        mismatches.into_iter().map(|mismatch| FailedExpectation { action: *action, mismatch });
                    state.failures.extend(failures);
                }
            }
            Action::Unregister(key) => {
                self.world.unregister(key)?;
                self.register()?;
            }
            // The player ends this process and starts another one.
            Action::Restart => {}
            _ => self.changed(action)?,
        }
        Ok(())
    }

    /// Changes the world, and registers what the action declares.
    fn changed(&self, action: &Action) -> Result<(), ActionRefused> {
        match self.world.change(action) {
            Some(changed) => changed?,
            None => return Ok(()),
        }
        self.register().map_err(ActionRefused::from)
    }

    async fn admit(&self, session: &Session, input: &InputScript) {
        let InputScript { id, text, delivery, system, tools } = input.clone();
        let new = NewInput { id, text, attachments: Vec::new(), delivery, system, tools };
        match session.admit(new).await {
            Ok(admitted) => self.note(json!({ "outcome": admitted.as_str() })),
            Err(refusal) => self.refused(refusal.into()),
        }
    }

    async fn fork(&self, session: &Session, at: Option<u64>, name: &str) -> Result<(), ActionRefused> {
        self.is_free(name)?;
        let fork = session.fork(at.map(MessagePlace::User)).await?;
        self.name(fork.id(), name);
        Ok(())
    }

    async fn child(&self, session: &Session, number: u64, name: &str) -> Result<(), ActionRefused> {
        self.is_free(name)?;
        let child = child_of(session, number).await?;
        self.name(child, name);
        Ok(())
    }

    /// Starts background work of a session and waits until it has ended, with everything that it started.
    async fn settle(&self, session: &Session, aside: SettleTarget) -> Result<(), ActionRefused> {
        let work = match aside {
            SettleTarget::Title => Work::Title(session.id()),
            SettleTarget::Child(number) => Work::Task { parent: session.id(), child: child_of(session, number).await? },
        };
        // Inside a turn, waiting for the session would be waiting for itself.
        let within = session.is_running();
        let nothing = || ActionRefused { kind: "not-found", message: "no such work waits to begin".to_owned() };
        self.pace.start(work).ok_or_else(nothing)?.await;
        if !within {
            session.idle().await;
        }
        Ok(())
    }

    fn is_free(&self, name: &str) -> Result<(), ActionRefused> {
        match self.world.state().sessions.contains_key(name) {
            true => Err(ActionRefused { kind: "conflict", message: format!("there is a Session {name} already") }),
            false => Ok(()),
        }
    }

    /// Names a session and applies later actions to it.
    fn name(&self, session: SessionId, name: &str) {
        let mut state = self.world.state();
        state.sessions.insert(name.to_owned(), session);
        state.current = name.to_owned();
    }

    fn choose(&self, name: &str) -> Result<(), ActionRefused> {
        let mut state = self.world.state();
        if !state.sessions.contains_key(name) {
            return Err(UnknownName { what: "Session", name: name.to_owned() }.into());
        }
        state.current = name.to_owned();
        Ok(())
    }

    /// How a run or a compaction ended.
    fn ended(&self, ended: Result<Outcome, RunError>) {
        self.note(match ended {
            Ok(outcome) => json!({ "outcome": outcome.as_str() }),
            Err(error) => {
                let mut failure = json!({ "kind": error.kind(), "message": error.to_string() });
                if let (Some(keys), Value::Object(fields)) = (error.keys(), &mut failure) {
                    fields.insert("keys".to_owned(), json!(keys));
                }
                json!({ "outcome": "failed", "error": failure })
            }
        });
    }

    fn refused(&self, ActionRefused { kind, message }: ActionRefused) {
        self.note(json!({ "outcome": "failed", "error": { "kind": kind, "message": message } }));
    }

    fn note(&self, entry: Value) {
        self.world.state().runs.push(entry);
    }

    /// Creates the first session of the scenario.
    pub async fn create(&self) -> Result<SessionId, LogError> {
        let crate::file::InitialSession { location, agent, model } = self.world.scenario.session.clone();
        let policy = self.world.scenario.policy;
        let new = annals_runtime::NewSession { policy, ..annals_runtime::NewSession::at(location, agent, model) };
        Ok(self.runtime.create(new).await?.id())
    }
}

/// The n-th child of a session.
async fn child_of(session: &Session, number: u64) -> Result<SessionId, ActionRefused> {
    // A resumed child is in the list twice.
    let mut children: Vec<SessionId> = Vec::new();
    for child in &session.view().await?.session.children {
        if !children.contains(&child.child) {
            children.push(child.child);
        }
    }
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let child = place.and_then(|place| children.get(place)).copied();
    Ok(child.ok_or_else(|| UnknownName { what: "child", name: number.to_string() })?)
}

impl From<Refusal> for ActionRefused {
    fn from(refusal: Refusal) -> Self {
        Self { kind: refusal.kind(), message: refusal.to_string() }
    }
}

impl From<UnknownName> for ActionRefused {
    fn from(missing: UnknownName) -> Self {
        Self { kind: "not-found", message: missing.to_string() }
    }
}

/// Conversions of errors of the log and of registrations.
macro_rules! refused {
    ($($error:ty => $kind:literal),*) => {$(
        impl From<$error> for ActionRefused {
            fn from(error: $error) -> Self {
                Self { kind: $kind, message: error.to_string() }
            }
        }
    )*};
}

refused!(
    LogError => "log",
    annals_store::ReadError => "log",
    super::RegisterError => "refused"
);
