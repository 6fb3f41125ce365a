//! A world that is as it was recorded: tools give their recorded results, and each boundary finds its recorded context.

use super::RecordedRun;
use crate::Boxed;
use crate::context::instructions::InstructionFiles;
use crate::context::{
    Boundary, Builtins, ContextSource, Fault, Instructions, Loaded, Producer, Skill, SkillCatalogue, SystemContext,
    date, environment,
};
use crate::host::ServicesAt;
use crate::ports::{MemoryFilesystem, SystemClock};
use crate::settings::LocationServices;
use crate::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput, ToolRegistry};
use annals_core::bound::Limits;
use annals_core::event::{Location, Todo, ToolDefinition, ToolOutcome, ToolSettled};
use annals_core::{Blobs, Json, Key, Snapshot};
use annals_store::disk::StorePath;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a model reads for a call that the recorded session did not make.
const UNRECORDED: &str = "This call was not made in the recorded Session; nothing runs while it is run again.";

/// The key of skill guidance.
const SKILLS: &str = "core/skill-guidance";

/// Recorded results were bounded once.
pub const UNBOUNDED: Limits = Limits { lines: usize::MAX, bytes: usize::MAX };

/// The tool whose results change the todo list.
const TODO: &str = "todo";

/// A recorded world.
pub struct RecordedWorld {
    context: Arc<RecordedContext>,
    tools: Vec<ToolDefinition>,
    results: Arc<Results>,
    recorded: RecordedResults,
    /// How many boundaries each producer was asked for.
    asked: Mutex<Vec<Arc<AtomicUsize>>>,
}

/// The values of a snapshot, resolved.
type Values = BTreeMap<Key, Value>;

/// The recorded values at each boundary, in order. The last ones repeat.
struct RecordedContext(Vec<Values>);

impl RecordedContext {
    fn at(&self, boundary: usize, key: &str) -> Option<Value> {
        let values = self.0.get(boundary).or(self.0.last())?;
        values.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value.clone())
    }
}

/// How each recorded call was settled, by tool and input, the first ones first.
struct Results(Mutex<RecordedResults>);

type RecordedResults = BTreeMap<(String, String), VecDeque<RecordedResult>>;

/// What a call gave.
type RecordedResult = Result<ToolOutput, ToolError>;

impl RecordedWorld {
    /// The world that a recorded session met.
    pub fn of(recorded: &RecordedRun, blobs: &dyn Blobs) -> Self {
        let values = |snapshot: &Snapshot| -> Values {
            snapshot.0.iter().map(|(key, entry)| (key.clone(), entry.value.value(blobs))).collect()
        };
        let mut results = RecordedResults::new();
        for (name, input, settled) in &recorded.calls {
            results.entry((name.clone(), input.clone())).or_default().push_back(result(name, settled, blobs));
        }
        Self {
            context: Arc::new(RecordedContext(recorded.snapshots.iter().map(values).collect())),
            tools: recorded.tools.clone(),
            results: Arc::new(Results(Mutex::new(results.clone()))),
            recorded: results,
            asked: Mutex::default(),
        }
    }

    /// Goes back to the beginning: what was met is met again, in the same order, by a session that runs after another one.
    pub fn rewind(&self) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().for_each(|asked| asked.store(0, Ordering::Release));
        *self.results.0.lock().unwrap_or_else(PoisonError::into_inner) = self.recorded.clone();
    }

    /// A counter of boundaries that begins anew with the world.
    fn counter(&self) -> Arc<AtomicUsize> {
        let counter = Arc::new(AtomicUsize::new(0));
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(counter.clone());
        counter
    }
}

fn result(name: &str, settled: &ToolSettled, blobs: &dyn Blobs) -> RecordedResult {
    if settled.outcome != ToolOutcome::Completed {
        let error = settled.error.as_ref().map(|error| error.resolve(blobs).into_owned());
        return Err(ToolError(error.unwrap_or_default()));
    }
    Ok(ToolOutput {
        text: Some(settled.output.resolve(blobs).into_owned()),
        structured: settled.structured.as_ref().map(|value| Json::received(value.0.resolve(blobs))),
        attachments: settled.attachments.clone(),
        paths: settled.paths.clone(),
        read: Vec::new(),
        shown: Vec::new(),
        todos: todos(name, settled, blobs),
    })
}

/// The list that a call of `todo` recorded with its result.
fn todos(name: &str, settled: &ToolSettled, blobs: &dyn Blobs) -> Option<Vec<Todo>> {
    let value = settled.structured.as_ref().filter(|_| name == TODO)?.value(blobs);
    serde_json::from_value(value.get("recorded")?.clone()).ok()
}

impl ServicesAt for RecordedWorld {
    fn services(&self, _: &Location, tools: ToolRegistry, _: &StorePath) -> LocationServices {
        let skills = RecordedSkills { context: self.context.clone(), asked: self.counter() };
        // Without recorded guidance there was no catalogue.
        let context = self.context.0.iter().any(|values| values.keys().any(|key| key.as_str() == SKILLS));
        let skills = context.then(|| Arc::new(skills) as Arc<dyn SkillCatalogue>);
        let services = LocationServices { tools, skills, ..LocationServices::default() };
        for definition in &self.tools {
            let tool: Arc<dyn Tool> =
                Arc::new(RecordedTool { definition: definition.clone(), results: self.results.clone() });
            match services.tools.register([tool]) {
                Ok(registration) => registration.detach(),
                // A log from elsewhere may hold what no registry takes: a call of it is then one of an unknown tool.
                Err(error) => tracing::warn!(%error, "a recorded tool is not offered"),
            }
        }
        let registered = [
            services.registry.register(Builtins::key(), self.producer(builtins)),
            services.registry.register(Instructions::key(), self.producer(instructions)),
        ];
        for registration in registered {
            registration.expect("a registry that was made just now holds neither").detach();
        }
        services
    }
}

type ComposeRecorded = fn(&RecordedContext, usize, Boundary) -> Boxed<'static, Result<SystemContext, Fault>>;

impl RecordedWorld {
    fn producer(&self, compose: ComposeRecorded) -> RecordedProducer {
        RecordedProducer { context: self.context.clone(), asked: self.counter(), compose }
    }
}

/// Produces at each boundary what was recorded there.
struct RecordedProducer {
    context: Arc<RecordedContext>,
    asked: Arc<AtomicUsize>,
    compose: ComposeRecorded,
}

impl Producer for RecordedProducer {
    fn produce<'a>(&'a self, boundary: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>> {
        let n = self.asked.fetch_add(1, Ordering::AcqRel);
        (self.compose)(&self.context, n, boundary.clone())
    }
}

fn builtins(context: &RecordedContext, n: usize, boundary: Boundary) -> Boxed<'static, Result<SystemContext, Fault>> {
    let environment = environment(Arc::new(MemoryFilesystem::default()), boundary.location.directory, String::new());
    let sources = [environment, date(Arc::new(SystemClock::local()))];
    let recorded = sources.into_iter().filter_map(|source| {
        let value = context.at(n, source.key().as_str())?;
        Some(Arc::new(RecordedSource { like: source, value }) as Arc<dyn ContextSource>)
    });
    let context = SystemContext::new(recorded).map_err(|error| Fault::Failed(error.to_string()));
    Box::pin(std::future::ready(context))
}

#[derive(Deserialize)]
struct InstructionFile {
    path: String,
    content: String,
}

fn instructions(
    context: &RecordedContext,
    n: usize,
    boundary: Boundary,
) -> Boxed<'static, Result<SystemContext, Fault>> {
    let value = context.at(n, Instructions::key().as_str());
    Box::pin(async move {
        let Some(value) = value else { return Ok(SystemContext::default()) };
        let recorded: Vec<InstructionFile> =
            serde_json::from_value(value).map_err(|error| Fault::Codec(error.to_string()))?;
        let files = MemoryFilesystem::default();
        recorded.iter().for_each(|file| files.write(&file.path, file.content.as_str()));
        let config = InstructionFiles {
            global: Vec::new(),
            names: Vec::new(),
            configured: recorded.into_iter().map(|file| file.path).collect(),
            home: None,
            project: true,
            links_out: false,
            guarded: Vec::new(),
        };
        Instructions { files: Arc::new(files), config }.produce(&Boundary { discovered: Vec::new(), ..boundary }).await
    })
}

/// A source that renders as another one does, with a recorded value.
struct RecordedSource {
    like: Arc<dyn ContextSource>,
    value: Value,
}

impl ContextSource for RecordedSource {
    fn key(&self) -> &Key {
        self.like.key()
    }

    fn load(&self) -> Boxed<'_, Result<Loaded<Value>, Fault>> {
        Box::pin(std::future::ready(Ok(Loaded::Available(self.value.clone()))))
    }

    fn render(&self) -> Arc<dyn annals_core::context::Render> {
        self.like.render()
    }
}

/// The skills that were listed at each boundary. Their bodies come as recorded results.
struct RecordedSkills {
    context: Arc<RecordedContext>,
    asked: Arc<AtomicUsize>,
}

#[derive(Deserialize)]
struct ListedSkill {
    name: String,
    description: String,
}

impl SkillCatalogue for RecordedSkills {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        let n = self.asked.fetch_add(1, Ordering::AcqRel);
        let listed = self.context.at(n, SKILLS).map(serde_json::from_value::<Vec<ListedSkill>>);
        Box::pin(async move {
            match listed {
                None => Loaded::Available(Vec::new()),
                Some(Err(error)) => Loaded::unavailable(error.to_string()),
                Some(Ok(listed)) => {
                    let skill = |ListedSkill { name, description }| Skill {
                        name,
                        description: Some(description),
                        body: String::new(),
                    };
                    Loaded::Available(listed.into_iter().map(skill).collect())
                }
            }
        })
    }
}

/// A tool that gives recorded results.
struct RecordedTool {
    definition: ToolDefinition,
    results: Arc<Results>,
}

impl Tool for RecordedTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn validate(&self, _: &CallInput) -> Result<(), String> {
        Ok(())
    }

    fn execute<'a>(&'a self, input: CallInput, _: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        let key = (self.definition.name.clone(), input.text().to_owned());
        let mut results = self.results.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = results.get_mut(&key).and_then(|results| match results.len() {
            // One that was made once may be made again.
            0 | 1 => results.front().cloned(),
            _ => results.pop_front(),
        });
        Box::pin(std::future::ready(result.unwrap_or_else(|| Err(UNRECORDED.into()))))
    }
}
