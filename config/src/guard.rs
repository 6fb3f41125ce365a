//! What a project's file may not do by itself: name commands, redirect keys, allow more, keep less secret.

use crate::keys::{self, Project, is_tuning};
use crate::problem::Problem;
use crate::reading::{Setting, shown};
use crate::settings::{MergedSettings, rule};
use annals_core::event::{Effect, Rule};
use annals_core::permission::{evaluate, relaxes};
use std::path::{Component, Path};

/// What of a project's settings only a trusted file may do, judged against what holds without them.
pub fn refused(project: &[Setting], without: &MergedSettings, root: &Path) -> Vec<Problem> {
    let judge = |setting: &Setting| {
        let why = strictest(&setting.path).into_iter().find_map(|rule| objection(rule, setting, without, root))?;
        let message = format!("`{}`: {why}", shown(&setting.path));
        Some(Problem { origin: setting.origin.clone(), message })
    };
    project.iter().filter(does).filter_map(judge).collect()
}

/// A table that is only there does nothing.
fn does(setting: &&Setting) -> bool {
    !setting.value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// What of a project's settings not even a trusted file may do.
pub fn never(project: &[Setting]) -> Vec<Problem> {
    let judge = |setting: &Setting| {
        let why = strictest(&setting.path).into_iter().find_map(|rule| match rule {
            Project::Never(why) => Some(why),
            _ => None,
        })?;
        Some(Problem { origin: setting.origin.clone(), message: format!("`{}`: {why}", shown(&setting.path)) })
    };
    project.iter().filter(does).filter_map(judge).collect()
}

/// What the key at a path, and every table around it, lets a project do.
fn strictest(path: &[String]) -> Vec<Project> {
    // The most specific one explains best why.
    (1..=path.len()).rev().filter_map(|length| keys::at(path.get(..length)?)).map(|key| key.project).collect()
}

fn objection(project: Project, setting: &Setting, without: &MergedSettings, root: &Path) -> Option<String> {
    match project {
        // Keys that a project may never set do not depend on trust.
        Project::Free | Project::Never(_) => None,
        Project::Trusted(why) => Some(why.to_owned()),
        Project::UnlessUser => {
            let own = without.of_a_file(&setting.path)?;
            Some(format!("{} has another value", own.origin))
        }
        Project::NotOff => (setting.value.as_bool() == Some(false)).then(|| "it would switch this off".to_owned()),
        Project::Inside => {
            let paths = setting.value.as_array().map_or(std::slice::from_ref(&setting.value), Vec::as_slice);
            let mut paths = paths.iter().map(|path| path.as_str().unwrap_or_default());
            let rules = without.rules(&["permissions"]);
            paths.find_map(|path| match path.starts_with('~') || !stays(Path::new(path), root) {
                true => Some(format!("{path:?} leads out of the project")),
                false => is_guarded(path, root, &rules)
                    .then(|| format!("the rules for `read` protect {path:?} more than an AGENTS.md")),
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
pub(crate) fn stays(path: &Path, root: &Path) -> bool {
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
