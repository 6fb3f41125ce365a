//! Ports of the runtime that read from the world.

use crate::action::ReplyScript;
use crate::file::Builtin;
use crate::world::ScriptedWorld;
use annals_core::event::{AgentProfile, ModelProfile};
use annals_core::{AgentName, ModelName};
use annals_runtime::Boxed;
use annals_runtime::context::{Loaded, Skill, SkillCatalogue};
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use annals_runtime::settings::{Definitions, bare_agent, bare_model};
use std::sync::Arc;

/// The skills of the location, if the file enables them.
pub(super) fn skills(world: &Arc<ScriptedWorld>) -> Option<Arc<dyn SkillCatalogue>> {
    let on = world.scenario.builtins.contains(&Builtin::Skills);
    on.then(|| Arc::new(WorldPorts(world.clone())) as Arc<dyn SkillCatalogue>)
}

/// The user who answers permission questions.
pub(super) fn approver(world: &Arc<ScriptedWorld>) -> Arc<dyn Approver> {
    Arc::new(WorldPorts(world.clone()))
}

/// The agents and models of the file; others exist with default settings.
pub(super) fn definitions(world: &Arc<ScriptedWorld>) -> Arc<dyn Definitions> {
    Arc::new(WorldPorts(world.clone()))
}

struct WorldPorts(Arc<ScriptedWorld>);

impl SkillCatalogue for WorldPorts {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        let skill = |skill: &crate::action::DeclaredSkill| Skill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            body: skill.body.clone().unwrap_or_default(),
        };
        let skills: Vec<Skill> = self.0.state().skills.values().map(skill).collect();
        Box::pin(std::future::ready(Loaded::Available(skills)))
    }
}

impl Approver for WorldPorts {
    fn ask(&self, _: PermissionQuestion) -> Boxed<'_, Answered> {
        let answer = match self.0.state().replies.pop_front() {
            None | Some(ReplyScript::Once) => PermissionAnswer::Once,
            Some(ReplyScript::Always) => PermissionAnswer::Always,
            Some(ReplyScript::Reject(feedback)) => PermissionAnswer::Reject { feedback },
        };
        Box::pin(std::future::ready(Answered::by_user(answer)))
    }
}

impl Definitions for WorldPorts {
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        let declared = self.0.scenario.agents.get(agent).cloned().unwrap_or_default();
        Some(AgentProfile {
            system: declared.system.map(Into::into),
            steps: declared.steps,
            permissions: declared.permissions,
            ..bare_agent(agent)
        })
    }

    fn model(&self, model: &ModelName) -> Option<ModelProfile> {
        let declared = self.0.scenario.models.get(model).copied().unwrap_or_default();
        let profile = bare_model(model, declared.context, declared.output);
        Some(ModelProfile { system_messages: declared.system_messages, ..profile })
    }
}
