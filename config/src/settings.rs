//! Settings of several files laid over one another.

use crate::keys::{self, ConfigKey, KEYS, ValueKind};
use crate::origin::{ConfigLayer, ValueOrigin};
use crate::reading::{Setting, read};
use crate::variables::Variables;
use annals_core::event::{Effect, Rule};
use annals_guard::guarded_patterns;
use annals_tools::EDIT;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What holds unless a file says otherwise.
const BUILT_IN: &str = include_str!("built-in.toml");

/// Everything that is set, each value with where it comes from.
#[derive(Clone, Debug, Default)]
pub struct MergedSettings {
    all: Vec<Setting>,
}

impl MergedSettings {
    /// The defaults.
    pub fn built_in() -> Self {
        let mut read = read(ConfigLayer::User, PathBuf::new(), BUILT_IN);
        for setting in &mut read.settings {
            setting.origin = ValueOrigin::BuiltIn;
        }
        Self { all: read.settings }
    }

    /// Lays settings over these: of a list that is added to, both stay.
    pub fn lay(&mut self, over: impl IntoIterator<Item = Setting>) {
        for setting in over {
            let added =
                matches!(keys::at(&setting.path), Some(ConfigKey { kind: ValueKind::Added | ValueKind::Rules, .. }));
            match self.all.iter_mut().find(|under| under.path == setting.path) {
                Some(under) if !added => *under = setting,
                _ => self.all.push(setting),
            }
        }
    }

    /// Lays over what environment variables say for this run.
    pub fn lay_environment(&mut self, variables: &Variables) {
        let from_variable = |key: &ConfigKey| {
            let name = key.variable?;
            let value = variables.get(name)?;
            Some(Setting {
                path: vec![key.name.to_owned()],
                value: value.into(),
                origin: ValueOrigin::Environment(name),
            })
        };
        self.lay(KEYS.iter().filter_map(from_variable).collect::<Vec<_>>());
    }

    /// Every setting, in the order in which they came.
    pub fn all(&self) -> &[Setting] {
        &self.all
    }

    /// What one key says.
    pub fn get(&self, path: &[&str]) -> Option<&Setting> {
        self.list(path).next()
    }

    /// What one key says, if a file or a variable says it.
    pub fn of_a_file(&self, path: &[String]) -> Option<&Setting> {
        self.all.iter().find(|setting| setting.path == path && setting.origin != ValueOrigin::BuiltIn)
    }

    /// What a list says.
    pub fn list<'s, 'p>(&'s self, path: &'p [&'p str]) -> impl Iterator<Item = &'s Setting> + use<'s, 'p> {
        self.all.iter().filter(move |setting| setting.path.iter().eq(path.iter()))
    }

    /// The names below a path.
    pub fn names(&self, path: &[&str]) -> BTreeSet<&str> {
        let below = |setting: &'_ Setting| setting.path.iter().zip(path).filter(|(a, b)| a == *b).count() == path.len();
        self.all
            .iter()
            .filter(|setting| below(setting))
            .filter_map(|setting| Some(setting.path.get(path.len())?.as_str()))
            .collect()
    }

    /// A text.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.value.as_str()
    }

    /// Yes or no.
    pub fn flag(&self, path: &[&str]) -> Option<bool> {
        self.get(path)?.value.as_bool()
    }

    /// A whole number.
    pub fn count(&self, path: &[&str]) -> Option<u64> {
        self.get(path)?.value.as_u64()
    }

    /// A list of texts in one place.
    pub fn texts(&self, path: &[&str]) -> Option<Vec<String>> {
        let list = self.get(path)?.value.as_array()?;
        Some(list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
    }

    /// Rules.
    pub fn rules(&self, path: &[&str]) -> Vec<Rule> {
        self.list(path).filter_map(|setting| rule(&setting.value)).collect()
    }

    /// The rules for every agent: the built-in ones, those that other settings imply, those of the files.
    pub fn all_rules(&self) -> Vec<Rule> {
        let built_in = |setting: &&Setting| setting.origin == ValueOrigin::BuiltIn;
        let of = |settings: Vec<&Setting>| settings.into_iter().filter_map(|setting| rule(&setting.value)).collect();
        let (first, then): (Vec<_>, Vec<_>) = self.list(&["permissions"]).partition(built_in);
        let (first, then): (Vec<Rule>, Vec<Rule>) = (of(first), of(then));
        [first, implied(self), then].concat()
    }

    /// The rules that apply before a rule at a path, in their order.
    pub fn rules_before(&self, path: &[String]) -> Vec<Rule> {
        let mut rules = self.all_rules();
        if path.len() > 1 {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            rules.extend(self.rules(&path));
        }
        rules
    }
}

/// A rule as `[action, resource, effect]`.
pub fn rule(value: &Value) -> Option<Rule> {
    let [action, resource, effect] = value.as_array()?.as_slice() else { return None };
    let effect = match effect.as_str()? {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        "deny" => Effect::Deny,
        _ => return None,
    };
    Some(Rule { action: action.as_str()?.into(), resource: resource.as_str()?.into(), effect })
}

/// The rules that follow from the sandbox and from how much is to be asked. They come after the built-in ones and before
/// those of any file, which may be stricter.
fn implied(settings: &MergedSettings) -> Vec<Rule> {
    let allow = |action: &str| Rule { action: action.into(), resource: "*".into(), effect: Effect::Allow };
    let confined = settings.text(&["sandbox", "mode"]).is_some_and(|mode| mode != "off");
    let unasked = confined && settings.flag(&["sandbox", "allow"]).unwrap_or(true);
    let mut rules = Vec::new();
    rules.extend(unasked.then(|| allow("bash")));
    match settings.text(&["approval"]) {
        Some("edits") => {
            rules.push(allow(EDIT));
            let ask = |resource| Rule { action: EDIT.into(), resource, effect: Effect::Ask };
            rules.extend(guarded_patterns().map(ask));
        }
        Some("all") => rules.push(allow("*")),
        _ => {}
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, ConfigLayer, PathBuf, read};

    #[test]
    fn what_is_built_in_is_a_configuration_without_problems() {
        assert_eq!(read(ConfigLayer::User, PathBuf::new(), BUILT_IN).problems, []);
    }
}
