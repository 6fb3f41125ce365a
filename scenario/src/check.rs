//! Checks of the whole file: names that nothing declares.

use super::action::Action;
use super::reader::unknown;
use super::{Invalid, Scenario};

/// Checks that every `set` and `unavailable` names a declared source, and every `session` a session that the script creates.
///
/// # Errors
/// The first name that is not declared.
pub(super) fn names(scenario: &Scenario) -> Result<(), Invalid> {
    let mut sources = Vec::new();
    visit(&scenario.script, "$.script", &mut |_, action| {
        if let Action::Source(source) = action {
            sources.push(source.key.clone());
        }
        Ok(())
    })?;
    let mut sessions = vec!["main"];
    for (index, action) in scenario.script.iter().enumerate() {
        match action {
            Action::Fork { name, .. } | Action::Child { name, .. } => sessions.push(name),
            Action::Session(name) if !sessions.contains(&name.as_str()) => {
                let path = format!("$.script[{index}].session");
                return Err(Invalid { path, reason: unknown("Session", name, &sessions) });
            }
            _ => {}
        }
    }
    visit(&scenario.script, "$.script", &mut |path, action| {
        let (key, path) = match action {
            Action::Set { key, .. } => (key, format!("{path}.set.key")),
            Action::Unavailable(key) => (key, format!("{path}.unavailable")),
            Action::Absent(key) => (key, format!("{path}.absent")),
            _ => return Ok(()),
        };
        if sources.contains(key) {
            return Ok(());
        }
        let known: Vec<&str> = sources.iter().map(|key| key.as_str()).collect();
        Err(Invalid { path, reason: unknown("source", key.as_str(), &known) })
    })
}

/// Calls `see` for every action, those inside others included, with the JSON path of the action.
fn visit(
    actions: &[Action],
    path: &str,
    see: &mut dyn FnMut(&str, &Action) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    use super::action::AttemptScript;
    for (index, action) in actions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        see(&path, action)?;
        match action {
            Action::Source(source) => visit(&source.on_load, &format!("{path}.source.on_load"), see)?,
            Action::Tool(tool) => visit(&tool.during, &format!("{path}.tool.during"), see)?,
            Action::Provider(attempts) => {
                for (at, attempt) in attempts.iter().enumerate() {
                    if let AttemptScript::Answer(answer) = attempt {
                        visit(&answer.during, &format!("{path}.provider[{at}].during"), see)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
