//! Skill and reference guidance.

use super::super::*;
use super::{Outcome, baseline, boundary, update_text};
use crate::Boxed;
use annals_core::event::{Effect, Rule};

struct Skills(Loaded<Vec<Skill>>);

impl SkillCatalogue for Skills {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        Box::pin(async { self.0.clone() })
    }
}

struct References(Vec<Reference>);

impl ReferenceCatalogue for References {
    fn references(&self) -> Boxed<'_, Loaded<Vec<Reference>>> {
        Box::pin(async { Loaded::Available(self.0.clone()) })
    }
}

fn skill(name: &str, description: Option<&str>) -> Skill {
    Skill { name: name.into(), description: description.map(Into::into), body: "never shown".into() }
}

fn rule(resource: &str, effect: Effect) -> Rule {
    Rule { action: "skill".into(), resource: resource.into(), effect }
}

async fn skills(list: &[Skill], rules: Option<&[Rule]>) -> Result<SystemContext, ContextError> {
    let catalogue = Skills(Loaded::Available(list.to_vec()));
    let guidance = Guidance { rules, skills: Some(&catalogue), references: None };
    compose(&Registry::default(), &boundary("/project"), guidance).await
}

const INTRODUCTION: &str = "Skills provide specialized instructions and workflows for specific tasks.\n\
    Use the skill tool to load a skill when a task matches its description.";

#[tokio::test]
async fn described_skills_that_are_not_denied_are_listed_by_code_point_and_escaped() -> Outcome {
    let list = [
        skill("zeta", Some("Last")),
        skill("Ärger", Some("Umlaut")),
        skill("Zeta", Some("a < b & c")),
        skill("secret", None),
        skill("denied", Some("no")),
    ];
    let context = skills(&list, Some(&[rule("denied", Effect::Deny)])).await?;
    let item =
        |name, text| format!("  <skill>\n    <name>{name}</name>\n    <description>{text}</description>\n  </skill>\n");
    let listed = [item("Zeta", "a &lt; b &amp; c"), item("zeta", "Last"), item("Ärger", "Umlaut")].concat();
    assert_eq!(baseline(&context).await?, format!("{INTRODUCTION}\n<available_skills>\n{listed}</available_skills>"));
    Ok(())
}

#[tokio::test]
async fn a_changed_list_supersedes_the_former_and_an_empty_one_says_so() -> Outcome {
    let before = skills(&[skill("a", Some("x"))], Some(&[])).await?;
    let after = skills(&[], Some(&[])).await?;
    assert_eq!(
        update_text(&before, &after).await?.as_deref(),
        Some(
            format!(
                "The available skills have changed. This list supersedes the previous available skills list.\n\
                 {INTRODUCTION}\nNo skills are currently available."
            )
            .as_str()
        )
    );
    assert_eq!(
        update_text(&before, &SystemContext::default()).await?.as_deref(),
        Some("Skill guidance is no longer available. Do not use any previously listed skill.")
    );
    Ok(())
}

#[tokio::test]
async fn an_agent_denied_all_skills_has_no_guidance_unless_one_is_allowed_again() -> Outcome {
    let list = [skill("a", Some("x"))];
    let absent = |context: SystemContext| context.keys().count() == 0;
    assert!(absent(skills(&list, Some(&[rule("*", Effect::Deny)])).await?));
    assert!(absent(skills(&list, Some(&[rule("*", Effect::Deny), rule("b", Effect::Allow)])).await?));
    assert!(absent(skills(&list, None).await?), "nobody defined that agent");
    assert!(!absent(skills(&list, Some(&[rule("*", Effect::Deny), rule("a", Effect::Allow)])).await?));
    assert!(!absent(skills(&list, Some(&[rule("a", Effect::Deny)])).await?), "present, though empty");
    Ok(())
}

#[tokio::test]
async fn a_catalogue_that_cannot_be_read_is_unavailable_guidance() -> Outcome {
    let catalogue = Skills(Loaded::unavailable("disk"));
    let guidance = Guidance { rules: Some(&[]), skills: Some(&catalogue), references: None };
    let context = compose(&Registry::default(), &boundary("/project"), guidance).await?;
    let observed = context.observe().await?;
    assert_eq!(observed.unavailable, [(own_key("core/skill-guidance"), "disk".to_string())]);
    Ok(())
}

#[tokio::test]
async fn references_follow_the_skills_and_only_described_ones_are_told() -> Outcome {
    let reference = |name: &str, description: Option<&str>| Reference {
        name: name.into(),
        path: format!("/ref/{name}"),
        description: description.map(Into::into),
    };
    let (catalogue, references) =
        (Skills(Loaded::Available(Vec::new())), References(vec![reference("b", Some("B&B")), reference("a", None)]));
    let guidance = Guidance { rules: Some(&[]), skills: Some(&catalogue), references: Some(&references) };
    let context = compose(&Registry::default(), &boundary("/project"), guidance).await?;
    assert_eq!(
        baseline(&context).await?,
        format!(
            "{INTRODUCTION}\nNo skills are currently available.\n\n\
             Project references provide additional directories that can be accessed when relevant.\n\
             <available_references>\n  <reference>\n    <name>b</name>\n    <path>/ref/b</path>\n    \
             <description>B&amp;B</description>\n  </reference>\n</available_references>"
        )
    );
    let none = References(vec![reference("a", None)]);
    let guidance = Guidance { rules: None, skills: None, references: Some(&none) };
    assert_eq!(compose(&Registry::default(), &boundary("/"), guidance).await?.keys().count(), 0);
    Ok(())
}
