//! The tool `question`: asks the user.

use super::typed::{TypedTool, Worked};
use annals_core::Json;
use annals_runtime::prompt::{UserPrompt, UserQuestion};
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// How long a question and its options may be, and how many there are.
const LONGEST: usize = 4_000;
const OPTIONS: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    question: String,
    /// Answers to choose from; the user may also write another one.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several of them may be chosen.
    #[serde(default)]
    multiple: bool,
}

/// Asks the user.
pub(super) struct QuestionTool(pub(super) Arc<dyn UserPrompt>);

impl TypedTool for QuestionTool {
    type Input = Input;
    const NAME: &str = "question";
    const ABOUT: &str = "Asks the user a question and waits for the answer. Use it for a decision that is the user's and that \
        the project does not answer.";

    fn check(&self, input: &Input) -> Result<(), String> {
        if input.question.trim().is_empty() {
            return Err("the question is empty".into());
        }
        if input.options.len() > OPTIONS {
            return Err(format!("there are more than {OPTIONS} options"));
        }
        let all = input.question.len() + input.options.iter().map(String::len).sum::<usize>();
        if all > LONGEST { Err(format!("question and options are longer than {LONGEST} bytes")) } else { Ok(()) }
    }

    fn demands(&self, _: &Input) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: vec!["*".into()] }]
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let Input { question, options, multiple } = input;
        let asked = UserQuestion { session: context.session, call: context.call, question, options, multiple };
        match self.0.ask(asked).await {
            Some(answer) if answer.trim().is_empty() => Ok(ToolOutput::text("The user gave no answer.")),
            Some(answer) => Ok(ToolOutput {
                structured: Some(Json::canonical(&json!({ "answer": answer }))),
                ..ToolOutput::text(answer)
            }),
            None => {
                Err("The user cannot be asked now. Decide yourself, and say in your answer what you assumed.".into())
            }
        }
    }
}
