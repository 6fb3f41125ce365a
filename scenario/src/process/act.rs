//! What a process does for each action.

use super::Process;
use crate::action::{Action, Aside, Input, Revert};
use crate::report::Failure;
use crate::world::Missing;
use annals_core::SessionId;
use annals_core::event::Location;
use annals_runtime::background::Work;
use annals_runtime::outcome::{Outcome, Refusal, RunError};
use annals_runtime::{Boxed, LogError};
use annals_runtime::{Extent, MessagePlace, NewInput, Session};
use serde_json::{Value, json};

/// Why an action did not happen: what `runs` says of it.
struct Refused {
    kind: &'static str,
    message: String,
}

impl Process {
    /// Does what an action says; what comes of it stands in the world.
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

    async fn perform_on(&self, session: &Session, action: &Action) -> Result<(), Refused> {
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
                // Both, whatever became of the first: a prompt gives two outcomes.
                self.admit(session, input).await;
                self.ended(session.run().await);
            }
            Action::Compact => self.ended(session.compact().await),
            Action::Revert(Revert::To { user, files }) => {
                let extent = if *files { Extent::ConversationAndFiles } else { Extent::Conversation };
                let plan = session.plan_revert(MessagePlace::User(*user), extent).await?;
                session.stage(&plan).await?;
            }
            Action::Revert(Revert::Clear) => drop(session.clear_revert().await?),
            Action::Revert(Revert::Commit) => drop(session.commit_revert().await?),
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
                    let failures = mismatches.into_iter().map(|mismatch| Failure { action: *action, mismatch });
                    state.failures.extend(failures);
                }
            }
            Action::Unregister(key) => {
                self.world.unregister(key)?;
                self.register()?;
            }
            // The player ends this process and begins another one.
            Action::Restart => {}
            _ => self.changed(action)?,
        }
        Ok(())
    }

    /// Makes a change that concerns nothing but the world, and registers what it declares.
    fn changed(&self, action: &Action) -> Result<(), Refused> {
        match self.world.change(action) {
            Some(changed) => changed?,
            None => return Ok(()),
        }
        self.register().map_err(Refused::from)
    }

    async fn admit(&self, session: &Session, input: &Input) {
        let Input { id, text, delivery } = input.clone();
        let new = NewInput { id, text, attachments: Vec::new(), delivery };
        match session.admit(new).await {
            Ok(admitted) => self.note(json!({ "outcome": admitted.as_str() })),
            Err(refusal) => self.refused(refusal.into()),
        }
    }

    async fn fork(&self, session: &Session, at: Option<u64>, name: &str) -> Result<(), Refused> {
        self.is_free(name)?;
        let fork = session.fork(at.map(MessagePlace::User)).await?;
        self.name(fork.id(), name);
        Ok(())
    }

    async fn child(&self, session: &Session, number: u64, name: &str) -> Result<(), Refused> {
        self.is_free(name)?;
        let child = child_of(session, number).await?;
        self.name(child, name);
        Ok(())
    }

    /// Lets work beside the turns of a Session begin, and waits until it ended with all that it led to.
    async fn settle(&self, session: &Session, aside: Aside) -> Result<(), Refused> {
        let work = match aside {
            Aside::Title => Work::Title(session.id()),
            Aside::Child(number) => Work::Task { parent: session.id(), child: child_of(session, number).await? },
        };
        // Inside a turn, whoever waited for the Session would wait for itself.
        let within = session.is_running();
        let nothing = || Refused { kind: "not-found", message: "no such work waits to begin".to_owned() };
        self.pace.lets_begin(work).ok_or_else(nothing)?.await;
        if !within {
            session.idle().await;
        }
        Ok(())
    }

    fn is_free(&self, name: &str) -> Result<(), Refused> {
        match self.world.state().sessions.contains_key(name) {
            true => Err(Refused { kind: "conflict", message: format!("there is a Session {name} already") }),
            false => Ok(()),
        }
    }

    /// Later actions go to a Session, under this name.
    fn name(&self, session: SessionId, name: &str) {
        let mut state = self.world.state();
        state.sessions.insert(name.to_owned(), session);
        state.current = name.to_owned();
    }

    fn choose(&self, name: &str) -> Result<(), Refused> {
        let mut state = self.world.state();
        if !state.sessions.contains_key(name) {
            return Err(Missing { what: "Session", name: name.to_owned() }.into());
        }
        state.current = name.to_owned();
        Ok(())
    }

    /// How a run or a compaction ended.
    fn ended(&self, ended: Result<Outcome, RunError>) {
        self.note(match ended {
            Ok(outcome) => json!({ "outcome": outcome.as_str() }),
            Err(error) => {
                let mut told = json!({ "kind": error.kind(), "message": error.to_string() });
                if let (Some(keys), Value::Object(fields)) = (error.keys(), &mut told) {
                    fields.insert("keys".to_owned(), json!(keys));
                }
                json!({ "outcome": "failed", "error": told })
            }
        });
    }

    fn refused(&self, Refused { kind, message }: Refused) {
        self.note(json!({ "outcome": "failed", "error": { "kind": kind, "message": message } }));
    }

    fn note(&self, entry: Value) {
        self.world.state().runs.push(entry);
    }

    /// The first Session of the scenario.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn create(&self) -> Result<SessionId, LogError> {
        let crate::file::Start { location, agent, model } = self.world.scenario.session.clone();
        let policy = self.world.scenario.policy;
        let new = annals_runtime::NewSession { policy, ..annals_runtime::NewSession::at(location, agent, model) };
        Ok(self.runtime.create(new).await?.id())
    }
}

/// The n-th child that a Session began.
async fn child_of(session: &Session, number: u64) -> Result<SessionId, Refused> {
    // One that was resumed stands in the list again.
    let mut children: Vec<SessionId> = Vec::new();
    for child in &session.view().await?.session.children {
        if !children.contains(&child.child) {
            children.push(child.child);
        }
    }
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let child = place.and_then(|place| children.get(place)).copied();
    Ok(child.ok_or_else(|| Missing { what: "child", name: number.to_string() })?)
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { kind: refusal.kind(), message: refusal.to_string() }
    }
}

impl From<Missing> for Refused {
    fn from(missing: Missing) -> Self {
        Self { kind: "not-found", message: missing.to_string() }
    }
}

/// What is wrong with the log, with a name, or with a registration.
macro_rules! refused {
    ($($error:ty => $kind:literal),*) => {$(
        impl From<$error> for Refused {
            fn from(error: $error) -> Self {
                Self { kind: $kind, message: error.to_string() }
            }
        }
    )*};
}

refused!(
    LogError => "log",
    annals_store::ReadError => "log",
    super::Unfit => "refused"
);
