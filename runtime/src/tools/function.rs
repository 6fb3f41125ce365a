//! A tool made of a function.

use super::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use crate::Boxed;
use annals_core::Json;
use annals_core::event::ToolDefinition;
use serde::de::DeserializeOwned;
use serde_json::Value;

type DemandsFn<I> = Box<dyn Fn(&I) -> Vec<String> + Send + Sync>;
type ToolFn<I> = Box<dyn Fn(I, CallContext) -> Boxed<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

/// A tool whose input is a serde type and whose body is a function.
///
/// ```
/// # use annals_runtime::tools::{FunctionTool, ToolOutput};
/// # use serde_json::json;
/// #[derive(serde::Deserialize)]
/// struct Add { a: i64, b: i64 }
///
/// let add = FunctionTool::new(
///     "add",
///     "Adds two whole numbers.",
///     &json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}),
///     |Add { a, b }, _| async move { Ok(ToolOutput::text(format!("{}", a + b))) },
/// );
/// ```
pub struct FunctionTool<I> {
    definition: ToolDefinition,
    action: String,
    resources: DemandsFn<I>,
    body: ToolFn<I>,
}

impl<I: DeserializeOwned + Send + 'static> FunctionTool<I> {
    /// A tool of a name, what it does, the JSON Schema of its input, and its body. Its calls are judged by its name, on
    /// every resource.
    pub fn new<F>(
        name: &str,
        description: &str,
        schema: &Value,
        body: impl Fn(I, CallContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let definition =
            ToolDefinition { name: name.into(), description: description.into(), schema: Json::canonical(schema) };
        Self {
            definition,
            action: name.into(),
            resources: Box::new(|_| vec!["*".into()]),
            body: Box::new(move |input, context| Box::pin(body(input, context))),
        }
    }

    /// What its calls are judged as, and on what.
    #[must_use]
    pub fn judged(mut self, action: &str, resources: impl Fn(&I) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.action = action.into();
        self.resources = Box::new(resources);
        self
    }
}

impl<I: DeserializeOwned + Send + 'static> Tool for FunctionTool<I> {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn action(&self) -> String {
        self.action.clone()
    }

    fn resources(&self, input: &CallInput) -> Vec<String> {
        // An input that does not decode is refused before it is judged.
        I::deserialize(&input.value()).map(|input| (self.resources)(&input)).unwrap_or_default()
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        I::deserialize(&input.value()).map(drop).map_err(|error| error.to_string())
    }

    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        match I::deserialize(&input.value()) {
            Ok(input) => (self.body)(input, context),
            Err(error) => Box::pin(async move { Err(ToolError(error.to_string())) }),
        }
    }
}
