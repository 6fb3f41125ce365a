//! A tool as its input type, its permissions and its work.

use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_runtime::Boxed;
use annals_runtime::tools::{CallContext, CallInput, Demand, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What one tool of the workbench is.
pub(super) trait TypedTool: Send + Sync + 'static {
    /// What a call takes.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Its name.
    const NAME: &str;
    /// What its calls are judged as.
    const ACTION: &str = Self::NAME;
    /// The tool without which it is of no use.
    const NEEDS: Option<&str> = None;
    /// The description for the model.
    const ABOUT: &str;
    /// Whether an interrupted call is waited for.
    const PUTS_AWAY: bool = false;

    /// What the types do not say about an input.
    fn check(&self, input: &Self::Input) -> Result<(), String>;

    /// What a call needs permission for.
    fn demands(&self, input: &Self::Input) -> Vec<Demand>;

    /// Does it.
    fn run(&self, input: Self::Input, context: CallContext) -> impl Future<Output = Worked> + Send;
}

/// What a call gives, or its own error.
pub(super) type Worked = Result<ToolOutput, ToolError>;

/// [`TypedTool`] as a [`Tool`].
pub(super) struct TypedAdapter<W>(pub(super) W);

impl<W: TypedTool> TypedAdapter<W> {
    fn input(&self, input: &CallInput) -> Result<W::Input, String> {
        serde_json::from_value(input.value()).map_err(|error| error.to_string())
    }
}

impl<W: TypedTool> Tool for TypedAdapter<W> {
    fn definition(&self) -> ToolDefinition {
        let schema = Json::canonical(&schema::<W::Input>());
        ToolDefinition { name: W::NAME.into(), description: W::ABOUT.into(), schema }
    }

    fn action(&self) -> String {
        W::ACTION.into()
    }

    fn needs(&self) -> Option<&str> {
        W::NEEDS
    }

    fn resources(&self, input: &CallInput) -> Vec<String> {
        self.demands(input).pop().map(|demand| demand.resources).unwrap_or_default()
    }

    fn demands(&self, input: &CallInput) -> Vec<Demand> {
        // An input that does not decode is refused before it is judged.
        self.input(input).map(|input| self.0.demands(&input)).unwrap_or_default()
    }

    fn puts_away(&self) -> bool {
        W::PUTS_AWAY
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        self.0.check(&self.input(input)?)
    }

    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Worked> {
        Box::pin(async move {
            let input = self.input(&input)?;
            let demands = self.0.demands(&input);
            if !demands.iter().all(|demand| context.authorised.contains(demand)) {
                return Err("A path of this call leads elsewhere than when permission was given. Nothing was done; \
                            call again to be judged anew."
                    .into());
            }
            self.0.run(input, context).await
        })
    }
}

/// The JSON Schema of an input: no dialect, no titles, no formats; what may be left out is not also `null`.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    schema
}

fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for noise in ["title", "format", "default"] {
                // A property may have such a name; its value is a schema, never a text or null.
                if fields.get(noise).is_some_and(|value| !value.is_object()) {
                    fields.remove(noise);
                }
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|one| one != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".into(), only);
                }
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}
