//! What a project's file may not do by itself: name commands, redirect keys, allow more, keep less secret.

use super::keys::{self, Project, is_tuning};
use super::patterns::{covers, overlap};
use super::problem::Problem;
use super::reading::{Setting, shown};
use super::settings::{Settings, rule};
use annals_core::event::{Effect, Rule};
use annals_core::permission::evaluate;
use std::path::{Component, Path};

/// What of a project's settings only a trusted file may do, judged against what holds without them.
pub fn refused(project: &[Setting], without: &Settings, root: &Path) -> Vec<Problem> {
    let judge = |setting: &Setting| {
        let why = strictest(&setting.path).into_iter().find_map(|rule| objection(rule, setting, without, root))?;
        let message = format!("`{}`: {why}", shown(&setting.path));
        Some(Problem { origin: setting.origin.clone(), message })
    };
    // A table that is only there does nothing.
    let does = |setting: &&Setting| !setting.value.as_object().is_some_and(serde_json::Map::is_empty);
    project.iter().filter(does).filter_map(judge).collect()
}

/// What the key at a path, and every table around it, lets a project do.
fn strictest(path: &[String]) -> Vec<Project> {
    // The most specific one tells best why.
    (1..=path.len()).rev().filter_map(|length| keys::at(path.get(..length)?)).map(|key| key.project).collect()
}

fn objection(project: Project, setting: &Setting, without: &Settings, root: &Path) -> Option<String> {
    match project {
        Project::Free => None,
        Project::Trusted(why) => Some(why.to_owned()),
        Project::UnlessUser => {
            let own = without.of_a_file(&setting.path)?;
            Some(format!("{} says otherwise", own.origin))
        }
        Project::NotOff => (setting.value.as_bool() == Some(false)).then(|| "it would switch this off".to_owned()),
        Project::Inside => {
            let paths = setting.value.as_array().map_or(std::slice::from_ref(&setting.value), Vec::as_slice);
            let mut paths = paths.iter().map(|path| path.as_str().unwrap_or_default());
            let rules = without.rules(&["permissions"]);
            paths.find_map(|path| match path.starts_with('~') || !stays(Path::new(path), root) {
                true => Some(format!("{path:?} leads out of the project")),
                false => is_guarded(path, root, &rules)
                    .then(|| format!("the rules for reading guard {path:?} more than an AGENTS.md")),
            })
        }
        Project::Tuning(why) => {
            let name = setting.path.last()?;
            (!is_tuning(name)).then(|| why.to_owned())
        }
        Project::Stricter => {
            let rule = rule(&setting.value)?;
            relaxes(&rule, &without.rules_before(&setting.path)).then(|| {
                format!("[{}, {}, {}] allows more than the rules without it", rule.action, rule.resource, rule.effect)
            })
        }
    }
}

/// Whether a relative path stays below the root, links included. Of one that is not there, or is a pattern, what of it is
/// there counts.
pub(super) fn stays(path: &Path, root: &Path) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Ok(real_root) = root.canonicalize() else { return plain };
    let whole = root.join(path);
    let there =
        whole.ancestors().take_while(|above| above.starts_with(root)).find_map(|above| above.canonicalize().ok());
    plain && there.is_none_or(|real| real.starts_with(real_root))
}

/// Whether what a path in the project leads to may not be read unasked, while instructions may.
fn is_guarded(path: &str, root: &Path, rules: &[Rule]) -> bool {
    let real = root.join(path).canonicalize().ok();
    let target = real.as_deref().zip(root.canonicalize().ok()).and_then(|(real, root)| real.strip_prefix(root).ok());
    let allowed = |path: &str| evaluate(rules, "read", path) == Effect::Allow;
    let target = target.map_or(path.into(), Path::to_string_lossy);
    allowed("AGENTS.md") && !(allowed(path) && allowed(&target))
}

/// Whether a rule after others can allow what they do not. May say yes where the answer is no, never the reverse.
fn relaxes(rule: &Rule, before: &[Rule]) -> bool {
    let meets = |other: &Rule| overlap(&other.action, &rule.action) && overlap(&other.resource, &rule.resource);
    let within = |other: &Rule| covers(&other.action, &rule.action) && covers(&other.resource, &rule.resource);
    // Whether, whatever it matches, the last of them that does has an effect that is no stricter.
    let holds = |no_stricter: &dyn Fn(Effect) -> bool| {
        let mut later = before.iter().rev();
        later
            .find(|other| within(other) || meets(other) && !no_stricter(other.effect))
            .is_some_and(|other| within(other) && no_stricter(other.effect))
    };
    match rule.effect {
        Effect::Deny => false,
        Effect::Ask => {
            let denied = before.iter().any(|other| other.effect == Effect::Deny && meets(other));
            denied && !holds(&|effect| effect != Effect::Deny)
        }
        Effect::Allow => !holds(&|effect| effect == Effect::Allow),
    }
}

#[cfg(test)]
mod tests {
    use super::relaxes;
    use annals_core::event::{Effect, Rule};
    use annals_core::permission::evaluate;

    fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
        Rule { action: action.into(), resource: resource.into(), effect }
    }

    #[test]
    fn a_rule_relaxes_when_it_allows_what_the_others_do_not() {
        use Effect::{Allow, Ask, Deny};
        let before =
            [rule("*", "*", Ask), rule("read", "*", Allow), rule("read", "*.env", Deny), rule("bash", "git *", Allow)];
        for (added, more) in [
            (rule("*", "*", Deny), false),
            (rule("*", "*", Allow), true),
            (rule("read", "*", Allow), true),
            (rule("read", "src/main.rs", Allow), false),
            (rule("read", "*.env", Ask), true),
            (rule("read", "a.env", Ask), true),
            (rule("bash", "*", Ask), false),
            (rule("bash", "git log *", Allow), false),
            (rule("bash", "git", Allow), false),
            (rule("bash", "make", Allow), true),
        ] {
            assert_eq!(relaxes(&added, &before), more, "{added:?}");
        }
        assert!(relaxes(&rule("x", "y", Allow), &[]) && !relaxes(&rule("x", "y", Ask), &[]));
    }

    #[test]
    fn what_passes_as_no_relaxation_never_allows_more() {
        let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
        let patterns = ["*", "a", "a*", "*b", "?", "ab"];
        let texts = ["", "a", "b", "ab", "ba", "abb"];
        let rank = |effect: Effect| match effect {
            Effect::Deny => 0,
            Effect::Ask => 1,
            Effect::Allow => 2,
        };
        let rules: Vec<Rule> =
            patterns.iter().flat_map(|pattern| effects.map(|effect| rule("x", pattern, effect))).collect();
        for first in &rules {
            for second in &rules {
                let before = [first.clone(), second.clone()];
                for added in rules.iter().filter(|added| !relaxes(added, &before)) {
                    for text in texts {
                        let held = evaluate(&before, "x", text);
                        let holds = evaluate(before.iter().chain([added]), "x", text);
                        assert!(rank(holds) <= rank(held), "{before:?} and {added:?} on {text:?}");
                    }
                }
            }
        }
    }
}
