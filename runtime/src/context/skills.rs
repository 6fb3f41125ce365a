//! Skill guidance: which skills the agent of a turn may load (`docs/reference/context.md#skills`).

use super::fault::caught;
use super::source::{Loaded, Source};
use super::{ContextError, Fault, SystemContext, own_key, xml};
use crate::Boxed;
use annals_core::event::{Effect, Rule};
use annals_core::permission::{self, SKILL};
use serde::{Deserialize, Serialize};
use std::future::ready;

/// A skill of a location. Only name and description reach the System Context; the body comes through the skill tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Unique in its catalogue.
    pub name: String,
    /// Its purpose; a skill without a description is not listed.
    pub description: Option<String>,
    /// What loading it gives.
    pub body: String,
}

/// The skills of a location. Read once per boundary, so that what it gives is never older than the boundary.
pub trait SkillCatalogue: Send + Sync {
    /// Every skill, or why they cannot be read for now.
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>>;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillSummary {
    name: String,
    description: String,
}

const INTRODUCTION: &str = "Skills provide specialized instructions and workflows for specific tasks.\n\
                            Use the skill tool to load a skill when a task matches its description.";

/// The source `core/skill-guidance`, or nothing for an agent that may load none.
pub(super) async fn guidance(
    catalogue: Option<&dyn SkillCatalogue>,
    rules: Option<&[Rule]>,
) -> Result<SystemContext, ContextError> {
    let (Some(catalogue), Some(rules)) = (catalogue, rules) else { return Ok(SystemContext::default()) };
    if permission::hides(rules, SKILL) {
        // Independent of the catalogue: an agent that is denied all skills does not wait for it either.
        return Ok(SystemContext::default());
    }
    let key = own_key("core/skill-guidance");
    let loaded = match caught(async { Ok::<_, Fault>(catalogue.skills().await) }).await {
        Ok(Loaded::Available(skills)) => match list(skills, rules) {
            Some(listed) => Loaded::Available(listed),
            None => return Ok(SystemContext::default()),
        },
        Ok(Loaded::Absent) => return Ok(SystemContext::default()),
        Ok(Loaded::Unavailable { reason }) => Loaded::Unavailable { reason },
        Err(fault) => return Err(ContextError::Source { key, fault }),
    };
    let source = Source::new(key, move || ready(loaded.clone()), |listed: &Vec<SkillSummary>| baseline(listed))
        .update(|_, listed| {
            let list = baseline(listed);
            format!(
                "The available skills have changed. This list supersedes the previous available skills list.\n{list}"
            )
        })
        .removed(|_| "Skill guidance is no longer available. Do not use any previously listed skill.".into());
    Ok(source.into())
}

/// The described skills that are permitted, by name in code point order; `None` when the agent is denied all skills and
/// none that would be listed is allowed again (`docs/reference/context.md#skills`).
fn list(skills: Vec<Skill>, rules: &[Rule]) -> Option<Vec<SkillSummary>> {
    let permitted = skills.into_iter().filter(|skill| permission::permits_skill(rules, &skill.name));
    let described = |skill: Skill| Some(SkillSummary { name: skill.name, description: skill.description? });
    let mut listed: Vec<SkillSummary> = permitted.filter_map(described).collect();
    if listed.is_empty() && permission::evaluate(rules, SKILL, "*") == Effect::Deny {
        return None;
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Some(listed)
}

fn baseline(listed: &[SkillSummary]) -> String {
    if listed.is_empty() {
        return format!("{INTRODUCTION}\nNo skills are currently available.");
    }
    let items: Vec<String> = listed
        .iter()
        .map(|skill| xml::item("skill", &[("name", &skill.name), ("description", &skill.description)]))
        .collect();
    format!("{INTRODUCTION}\n<available_skills>\n{}\n</available_skills>", items.join("\n"))
}
