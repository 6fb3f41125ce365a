//! The scripted world: everything outside of the process. Restarts and crashes do not change it.

mod captures;
mod declared;
mod provider;
mod tool;

pub(super) use captures::MemoryCaptures;
pub(super) use declared::{PerformActions, ScenarioSource};
pub(super) use provider::ScenarioProvider;
pub(super) use tool::ScenarioTool;

use super::action::{Action, AttemptScript, CrashPoint, DeclaredSkill, DeclaredSource, DeclaredTool, ReplyScript};
use super::crash::CrashSwitch;
use super::file::{Builtin, Scenario};
use super::{CapturedViews, report::FailedExpectation};
use annals_core::{Key, SessionId};
use annals_projections::SessionView;
use annals_runtime::context::{Builtins, Instructions};
use annals_runtime::ports::{MemoryFilesystem, SeededIds};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Everything outside of the process.
pub(super) struct ScriptedWorld {
    /// The scenario file.
    pub scenario: Scenario,
    /// Starts at noon of 2026-06-03, UTC; only the script and waits advance it.
    pub clock: Arc<ManualClock>,
    /// The same ids in every run.
    pub ids: Arc<SeededIds>,
    /// The scenario's own file tree.
    pub files: Arc<MemoryFilesystem>,
    /// The captures of its worktree, if steps are captured.
    pub captures: Option<Arc<MemoryCaptures>>,
    /// Managed Tool Output Files, under `/outputs`.
    pub outputs: Arc<MemoryOutputs>,
    state: Mutex<WorldState>,
}

/// The state that the script changes.
#[derive(Default)]
pub(super) struct WorldState {
    /// Declared sources, in order of declaration.
    pub sources: Vec<DeclaredSource>,
    /// Built-in contributions whose scope is closed.
    pub closed: BTreeSet<Key>,
    /// The skills of the location.
    pub skills: BTreeMap<String, DeclaredSkill>,
    /// Declared tools, each with the number of its declaration.
    pub tools: BTreeMap<String, (u64, Arc<DeclaredTool>)>,
    /// The number of calls, by declaration.
    called: BTreeMap<u64, usize>,
    /// The next answers of the provider.
    pub attempts: VecDeque<AttemptScript>,
    /// The next answers of the user.
    pub replies: VecDeque<ReplyScript>,
    /// Every request to the provider.
    pub requests: Vec<Value>,
    /// The outcome of each action that can fail.
    pub runs: Vec<Value>,
    /// Captured views, by label.
    pub captures: CapturedViews,
    /// Failed expectations.
    pub failures: Vec<FailedExpectation>,
    /// Sessions by their names in the script.
    pub sessions: BTreeMap<String, SessionId>,
    /// The session that actions apply to.
    pub current: String,
    /// The armed crash, and how often its point is passed before.
    crash: Option<(CrashPoint, u64)>,
    /// The calls that tools ran for, in order.
    #[cfg(test)]
    pub ran: Vec<annals_core::CallId>,
    /// The attempt that the provider answered with last.
    #[cfg(test)]
    pub answering: Option<AttemptScript>,
    declared: u64,
}

/// An action names something that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} {name}")]
pub(super) struct UnknownName {
    /// Such as `skill`.
    pub what: &'static str,
    /// The name.
    pub name: String,
}

impl ScriptedWorld {
    /// The world at the start of a scenario.
    pub fn new(scenario: Scenario) -> Self {
        let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
        let files = Arc::new(MemoryFilesystem::default());
        files.worktree("/project");
        Self {
            captures: scenario.worktree.then(|| Arc::new(MemoryCaptures::new(files.clone(), "/project"))),
            scenario,
            ids: Arc::new(SeededIds::scripted(0)),
            files,
            outputs: Arc::new(MemoryOutputs::new(clock.clone())),
            clock,
            state: Mutex::new(WorldState { current: "main".to_owned(), ..WorldState::default() }),
        }
    }

    /// The state; never held across an await.
    pub fn state(&self) -> MutexGuard<'_, WorldState> {
        // Every change is one step, so a panic elsewhere leaves a consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session that actions apply to.
    pub fn session(&self) -> Option<SessionId> {
        let state = self.state();
        state.sessions.get(&state.current).copied()
    }

    /// Arms one crash at a point that is passed `times` times before.
    #[cfg(test)]
    pub fn arm(&self, point: CrashPoint, times: u64) {
        self.state().crash = Some((point, times));
    }

    /// Ends the process if a crash is armed for this point.
    pub async fn crash_at(&self, point: CrashPoint, crash: &CrashSwitch) {
        if self.take_crash(point) {
            crash.trigger::<()>().await;
        }
    }

    /// Whether a crash is armed for this point and due; it is not armed afterwards.
    pub fn take_crash(&self, point: CrashPoint) -> bool {
        let mut state = self.state();
        match &mut state.crash {
            Some((armed, 0)) if *armed == point => {
                state.crash = None;
                true
            }
            Some((armed, times)) if *armed == point => {
                *times -= 1;
                false
            }
            _ => false,
        }
    }

    /// Counts a call of a declared tool; returns the number of calls before it.
    pub fn called(&self, number: u64) -> usize {
        let mut state = self.state();
        let calls = state.called.entry(number).or_default();
        *calls += 1;
        *calls - 1
    }

    /// The built-in contributions that are on and whose scope is open.
    pub fn builtins(&self) -> Vec<Key> {
        let on = &self.scenario.builtins;
        let own = (on.contains(&Builtin::Environment) || on.contains(&Builtin::Date)).then(Builtins::key);
        let instructions = on.contains(&Builtin::Instructions).then(Instructions::key);
        let state = self.state();
        own.into_iter().chain(instructions).filter(|key| !state.closed.contains(key)).collect()
    }

    /// Adds the views that are an addition to `fixtures/scenarios/FORMAT.md`: the file tree, where it is
    /// captured, and what sessions are to each other, where there are subagents.
    pub fn add_to(&self, view: &SessionView, views: &mut Value) {
        let session = &view.session;
        if let Some(captures) = &self.captures {
            views["files"] = json!(captures.tree());
            views["session"]["changed"] = json!(session.changed.totals());
        }
        if self.scenario.subagents.is_some() {
            let child = |child: &annals_projections::Child| json!({ "agent": child.agent, "outcome": child.outcome });
            views["session"]["children"] = session.children.iter().map(child).collect();
            views["session"]["parent"] = json!(session.parent.as_ref().map(|parent| &parent.call));
        }
    }

    /// The contributions of declared sources.
    pub fn contributions(&self) -> BTreeSet<Key> {
        self.state().sources.iter().map(|source| source.contribution.clone()).collect()
    }

    /// Performs an action that only changes the world; `None` for other actions.
    pub fn change(&self, action: &Action) -> Option<Result<(), UnknownName>> {
        let lost = |what, name: &str| Err(UnknownName { what, name: name.to_owned() });
        let done = |found: bool, what, name: &str| if found { Ok(()) } else { lost(what, name) };
        let mut state = self.state();
        Some(match action {
            Action::Source(source) => {
                state.declare((**source).clone());
                Ok(())
            }
            Action::Set { key, value } => match state.source(key) {
                Some(source) => {
                    (source.value, source.absent) = (Some(value.clone()), false);
                    Ok(())
                }
                None => lost("source", key.as_str()),
            },
            Action::Unavailable(key) | Action::Absent(key) => match state.source(key) {
                Some(source) => {
                    (source.value, source.absent) = (None, matches!(action, Action::Absent(_)));
                    Ok(())
                }
                None => lost("source", key.as_str()),
            },
            Action::Skill(skill) => {
                state.skills.insert(skill.name.clone(), skill.clone());
                Ok(())
            }
            Action::Unskill(name) => done(state.skills.remove(name).is_some(), "skill", name),
            Action::File { path, content } => {
                self.files.write(path, content.clone());
                Ok(())
            }
            Action::Unfile(path) => done(self.files.remove(path), "file", path),
            Action::Advance { ms } => {
                self.clock.advance(*ms);
                Ok(())
            }
            Action::Provider(attempts) => {
                state.attempts.extend(attempts.iter().cloned());
                Ok(())
            }
            Action::Replies(replies) => {
                state.replies = replies.iter().cloned().collect();
                Ok(())
            }
            Action::Tool(tool) => {
                state.declared += 1;
                let number = state.declared;
                state.tools.insert(tool.name.clone(), (number, Arc::new((**tool).clone())));
                Ok(())
            }
            Action::Untool(name) => done(state.tools.remove(name).is_some(), "tool", name),
            Action::Crash(point) => {
                state.crash = Some((*point, 0));
                Ok(())
            }
            _ => return None,
        })
    }

    /// Closes the scope of a contribution.
    ///
    /// # Errors
    /// When there is no such contribution.
    pub fn unregister(&self, key: &Key) -> Result<(), UnknownName> {
        let builtin = self.builtins().contains(key);
        let mut state = self.state();
        if builtin {
            state.closed.insert(key.clone());
        }
        let before = state.sources.len();
        state.sources.retain(|source| source.contribution != *key);
        match !builtin && state.sources.len() == before {
            true => Err(UnknownName { what: "contribution", name: key.as_str().to_owned() }),
            false => Ok(()),
        }
    }
}

impl WorldState {
    /// Adds a source, or replaces the one with its key in its position.
    fn declare(&mut self, source: DeclaredSource) {
        match self.source(&source.key) {
            Some(former) => *former = source,
            None => self.sources.push(source),
        }
    }

    fn source(&mut self, key: &Key) -> Option<&mut DeclaredSource> {
        self.sources.iter_mut().find(|source| source.key == *key)
    }
}
