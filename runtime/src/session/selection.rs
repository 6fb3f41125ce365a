//! What a session is set to: agent, model, title. Recorded now, in force from the next turn on.

use super::SessionEditor;
use crate::outcome::LogError;
use annals_core::event::{AgentSwitched, ModelSwitched, SessionTitled, ShellRan};
use annals_core::{AgentName, ModelName};

impl SessionEditor {
    /// Selects an agent for the turns that follow.
    pub async fn switch_agent(&self, agent: impl Into<AgentName>) -> Result<(), LogError> {
        self.lane.record(&[AgentSwitched { agent: agent.into() }.into()]).await
    }

    /// Selects a model for the turns that follow.
    pub async fn switch_model(&self, model: impl Into<ModelName>) -> Result<(), LogError> {
        self.lane.record(&[ModelSwitched { model: model.into() }.into()]).await
    }

    /// Sets the title, which is one line.
    pub async fn set_title(&self, title: impl Into<String>) -> Result<(), LogError> {
        self.lane.record(&[SessionTitled::given(title).into()]).await
    }

    /// Records a command that the user ran, with what it printed: the model reads it with the next request.
    pub async fn record_shell(&self, command: &str, output: &str, exit: Option<i32>) -> Result<(), LogError> {
        self.lane.record(&[ShellRan { command: command.into(), output: output.into(), exit }.into()]).await
    }
}
