//! Who registers tools: layers of a location over those of the application.

use super::{CallContext, CallError, CallInput, Demand, Offered, Tool, ToolOutput};
use crate::context::{Fault, caught, panic_message};
use annals_core::event::{Rule, ToolDefinition};
use annals_core::permission;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tools of a location, over those of the application. Clones share them.
///
/// ```
/// # use annals_runtime::tools::{FunctionTool, Tool, ToolOutput, ToolRegistry};
/// # use serde_json::{Value, json};
/// # use std::sync::Arc;
/// # fn tool(name: &str) -> Arc<dyn Tool> {
/// #     Arc::new(FunctionTool::new(name, "", &json!({}), |_: Value, _| async { Ok(ToolOutput::default()) }))
/// # }
/// let application = ToolRegistry::default();
/// application.register([tool("read"), tool("write")])?.detach();
/// let location = ToolRegistry::over(&application);
/// let layer = location.register([tool("read")])?; // shadows the application's
/// let offered = location.materialise(&[]);
/// drop(layer);
/// assert_eq!(offered.resolve(&location, "read").err().map(|e| e.to_string()).as_deref(), Some("Stale tool call: read"));
/// assert!(offered.resolve(&location, "write").is_ok());
/// # Ok::<(), annals_runtime::tools::RegistrationError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry {
    layers: Arc<Mutex<Layers>>,
    application: Option<Arc<ToolRegistry>>,
}

type Layered = BTreeMap<String, Arc<Registered>>;

#[derive(Default)]
struct Layers {
    /// Oldest first, by the number of their registration.
    stack: BTreeMap<u64, Layered>,
    registered: u64,
}

/// A registered tool. Its identity is this registration, not its name.
pub struct Registered {
    definition: ToolDefinition,
    action: String,
    tool: Arc<dyn Tool>,
}

/// None of the batch was registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// Names begin with a letter and have at most 64 letters, digits, `_` and `-`.
    #[error("invalid tool name {0:?}: expected a letter, then at most 63 letters, digits, `_` or `-`")]
    InvalidName(String),
    /// One batch names a tool twice.
    #[error("the tool {0} is registered twice at once")]
    Repeated(String),
}

fn valid(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn locked(layers: &Mutex<Layers>) -> MutexGuard<'_, Layers> {
    layers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ToolRegistry {
    /// The registry of a location over the application's, whose tools of the same name it shadows.
    pub fn over(application: &Self) -> Self {
        Self { layers: Arc::default(), application: Some(Arc::new(application.clone())) }
    }

    /// Registers tools as one layer until the [`Layer`] is dropped. They shadow earlier ones of the same name.
    ///
    /// # Errors
    /// When a name is invalid or repeated; then nothing is registered.
    pub fn register(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Layer, RegistrationError> {
        let mut layer = Layered::new();
        for tool in tools {
            let registered = Registered { definition: tool.definition(), action: tool.action(), tool };
            let name = registered.definition.name.clone();
            if !valid(&name) {
                return Err(RegistrationError::InvalidName(name));
            }
            if layer.insert(name.clone(), Arc::new(registered)).is_some() {
                return Err(RegistrationError::Repeated(name));
            }
        }
        let mut layers = locked(&self.layers);
        layers.registered += 1;
        let number = layers.registered;
        layers.stack.insert(number, layer);
        Ok(Layer { layers: self.layers.clone(), number })
    }

    /// The tool that a name resolves to now.
    pub(super) fn current(&self, name: &str) -> Option<Arc<Registered>> {
        let own = locked(&self.layers).stack.values().rev().find_map(|layer| layer.get(name).cloned());
        own.or_else(|| self.application.as_ref()?.current(name))
    }

    fn names(&self) -> BTreeSet<String> {
        let mut names = self.application.as_ref().map(|application| application.names()).unwrap_or_default();
        names.extend(locked(&self.layers).stack.values().flat_map(|layer| layer.keys().cloned()));
        names
    }

    /// The tools that a turn offers to an agent of these rules, by name: all but those it is denied altogether.
    pub fn materialise(&self, rules: &[Rule]) -> Offered {
        let current = self.names().into_iter().filter_map(|name| self.current(&name));
        Offered::new(current.filter(|tool| !permission::hides(rules, &tool.action)).collect())
    }
}

/// The scope of tools registered together. Dropping it removes exactly them and reveals what they shadowed; a call
/// that runs is completed.
#[must_use = "dropping a layer closes it"]
pub struct Layer {
    layers: Arc<Mutex<Layers>>,
    number: u64,
}

impl Layer {
    /// Closes the scope, as dropping does.
    pub fn close(self) {}

    /// Keeps the tools for as long as the registry lives.
    pub fn detach(mut self) {
        self.number = 0;
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        locked(&self.layers).stack.remove(&self.number);
    }
}

impl Registered {
    /// Its definition, which the model reads.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// What its calls are judged as.
    pub fn action(&self) -> &str {
        &self.action
    }

    /// The tool without which it is of no use.
    pub fn needs(&self) -> Option<&str> {
        self.tool.needs()
    }

    /// What a call would touch.
    pub fn resources(&self, input: &CallInput) -> Vec<String> {
        self.tool.resources(input)
    }

    /// What a call needs permission for, in the order in which it is judged.
    pub fn demands(&self, input: &CallInput) -> Vec<Demand> {
        self.tool.demands(input)
    }

    /// Checks the shape of an input, and that its resources can be named.
    ///
    /// # Errors
    /// [`CallError::InvalidInput`], or the tool's panic.
    pub fn validate(&self, input: &CallInput) -> Result<(), CallError> {
        if let Some(fault) = input.fault() {
            return Err(CallError::InvalidInput(format!("the arguments are not valid JSON: {fault}")));
        }
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let valid = self.tool.validate(input);
            if valid.is_ok() {
                // What is judged next must not panic either: a call that cannot be judged is not made.
                self.tool.demands(input);
            }
            valid
        }));
        match checked {
            Ok(valid) => valid.map_err(|wrong| {
                let other = input.other_than_object();
                let found = other.map(|found| format!("the arguments must be a JSON object, not {found}"));
                CallError::InvalidInput(found.unwrap_or(wrong))
            }),
            Err(panic) => Err(CallError::Defect(panic_message(panic.as_ref()))),
        }
    }

    /// Runs a call that was validated and authorised, until it ends or is cancelled. A result that is there when the
    /// cancellation comes counts, and so does one of a tool that is waited for ([`Tool::puts_away`]).
    ///
    /// # Errors
    /// The tool's own error, its panic, or [`CallError::Interrupted`].
    #[tracing::instrument(level = "debug", skip_all, fields(
        session = %context.session, step = %context.step, call = %context.call, tool = self.definition.name,
    ))]
    pub async fn run(&self, input: CallInput, context: CallContext) -> Result<ToolOutput, CallError> {
        let cancellation = context.cancellation.clone();
        let waited_for = self.tool.puts_away();
        if waited_for && cancellation.is_cancelled() {
            return Err(CallError::Interrupted);
        }
        let executed = caught(async move { Ok(self.tool.execute(input, context).await) });
        tokio::select! {
            biased;
            executed = executed => match executed {
                Ok(Err(_)) if waited_for && cancellation.is_cancelled() => Err(CallError::Interrupted),
                Ok(outcome) => Ok(outcome?),
                Err(Fault::Panicked(message) | Fault::Failed(message) | Fault::Codec(message)) => {
                    tracing::error!(message, "a tool panicked");
                    Err(CallError::Defect(message))
                }
            },
            () = cancellation.cancelled(), if !waited_for => Err(CallError::Interrupted),
        }
    }
}
