//! A permission question as it is answered over HTTP.

use super::AskedPermission;
use annals_core::{PermissionId, SessionId};
use schemars::JsonSchema;
use serde::Serialize;

/// A permission question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PermissionShown {
    /// Its name.
    pub(crate) permission: PermissionId,
    /// The session that asks: this one, or a sub-agent of it.
    pub(crate) session: SessionId,
    /// The call that waits.
    pub(crate) call: String,
    /// The tool.
    pub(crate) tool: String,
    /// What it wants to do.
    pub(crate) action: String,
    /// The resources that the action concerns.
    pub(crate) resources: Vec<String>,
    /// The input of the call, as JSON text.
    pub(crate) input: String,
    /// Whether another process asks, in its terminal: who answers first counts.
    pub(crate) elsewhere: bool,
}

impl PermissionShown {
    /// A question of a session that runs here.
    pub(crate) fn of(asked: &AskedPermission) -> Self {
        let asked = &asked.asked;
        Self {
            permission: asked.permission.clone(),
            session: asked.session,
            call: asked.call.as_str().to_owned(),
            tool: asked.tool.clone(),
            action: asked.action.clone(),
            resources: asked.resources.clone(),
            input: asked.input.clone(),
            elsewhere: false,
        }
    }
}
