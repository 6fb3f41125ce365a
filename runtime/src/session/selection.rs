//! What a Session is set to: agent, model, Location, title. Recorded now, in force from the next turn on.

use super::Session;
use crate::lane::Decision;
use crate::outcome::LogError;
use annals_core::event::{AgentSwitched, Location, ModelSwitched, SessionMoved, SessionTitled};
use annals_core::{AgentName, ModelName};

impl Session {
    /// Selects an agent for the turns that follow.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn switch_agent(&self, agent: impl Into<AgentName>) -> Result<(), LogError> {
        self.lane.record(&[AgentSwitched { agent: agent.into() }.into()]).await
    }

    /// Selects a model for the turns that follow.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn switch_model(&self, model: impl Into<ModelName>) -> Result<(), LogError> {
        self.lane.record(&[ModelSwitched { model: model.into() }.into()]).await
    }

    /// Moves it: its Context Epoch ends, and a run at the old Location ends interrupted. Moving it to where it is does
    /// nothing. Gives whether it moved.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn move_to(&self, location: Location) -> Result<bool, LogError> {
        self.lane
            .decide(|view| {
                if view.session.location.as_ref() == Some(&location) {
                    return Ok(Decision::nothing(false));
                }
                Ok(Decision::append(vec![SessionMoved { location: location.clone() }.into()], true))
            })
            .await
    }

    /// Gives it a title of one line.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn entitle(&self, title: impl Into<String>) -> Result<(), LogError> {
        self.lane.record(&[SessionTitled { title: title.into() }.into()]).await
    }
}
