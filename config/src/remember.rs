//! Writes permission rules for one project into the user's file.

use crate::places::Places;
use crate::problem::ConfigError;
use crate::settings::MergedSettings;
use crate::user_file;
use annals_core::event::Rule;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// The table of projects in the user's file.
pub(crate) const PROJECTS: &str = "projects";

/// Where rules were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedRules {
    /// The user's file.
    pub file: PathBuf,
    /// How many rules were added; those that it had already are not repeated.
    pub added: usize,
}

/// Adds rules to those of a project in the user's file, which is created if it is missing. Everything else in it stays as it is.
///
/// # Errors
/// If the file is not a valid configuration, or cannot be written.
pub fn remember(places: &Places, project: &Path, rules: &[Rule]) -> Result<RememberedRules, ConfigError> {
    let (file, added) = user_file::edit(&places.user_file, |document| {
        let project = project.to_str().ok_or("a project whose path is not UTF-8 has no rules")?;
        let list = list(document, project).ok_or_else(|| {
            format!("`{PROJECTS}.\"{project}\".permissions` is not a list of rules; write the rule by hand")
        })?;
        let known: Vec<Rule> = list.iter().filter_map(written).collect();
        let new: Vec<&Rule> = rules.iter().filter(|rule| !known.contains(rule)).collect();
        for rule in &new {
            let mut words = Array::from_iter([rule.action.as_str(), rule.resource.as_str(), rule.effect.as_str()]);
            words.decor_mut().set_prefix("\n    ");
            list.push_formatted(words.into());
        }
        list.set_trailing_comma(true);
        list.set_trailing("\n");
        Ok((new.len(), !new.is_empty()))
    })?;
    Ok(RememberedRules { file, added })
}

/// The rules of a project in the file, made if they are missing.
fn list<'d>(document: &'d mut DocumentMut, project: &str) -> Option<&'d mut Array> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let projects = document.entry(PROJECTS).or_insert_with(implicit).as_table_like_mut()?;
    let own = projects.entry(project).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()?;
    let rules = own.entry("permissions").or_insert_with(|| Item::Value(Value::Array(Array::new())));
    rules.as_array_mut()
}

fn written(value: &Value) -> Option<Rule> {
    let words: Option<Vec<_>> = value.as_array()?.iter().map(|word| word.as_str().map(Into::into)).collect();
    crate::settings::rule(&serde_json::Value::Array(words?))
}

/// Makes the rules of the projects that a directory belongs to rules for every agent, after all others of the user's file.
pub(crate) fn apply(settings: &mut MergedSettings, places: &Places, directory: &Path) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = real(directory);
    let of_here = |setting: &&crate::reading::Setting| {
        let [projects, project, key] = setting.path.as_slice() else { return false };
        projects == PROJECTS
            && key == "permissions"
            && here.starts_with(real(&places.resolve(project, &places.user_dir)))
    };
    let mut own: Vec<crate::reading::Setting> = settings.all().iter().filter(of_here).cloned().collect();
    for setting in &mut own {
        setting.path = vec!["permissions".into()];
    }
    settings.lay(own);
}

#[cfg(test)]
mod tests {
    use super::remember;
    use crate::places::Places;
    use crate::{Config, Variables};
    use annals_core::event::{Effect, Rule};
    use annals_core::permission::evaluate;
    use std::fs;
    use std::path::Path;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn places(root: &Path) -> Places {
        let user_dir = root.join("config");
        Places { user_file: user_dir.join("config.toml"), user_dir, trust: root.join("trust"), home: None }
    }

    fn rules() -> Vec<Rule> {
        let rule = |resource: &str| Rule { action: "bash".into(), resource: resource.into(), effect: Effect::Allow };
        vec![rule("cargo test *"), rule("git \"commit\" *")]
    }

    #[test]
    fn rules_are_added_to_the_users_file_for_one_project_and_nothing_else_changes() -> Tested {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        for project in ["shop/src", "other"] {
            fs::create_dir_all(root.join(project))?;
        }
        let places = places(&root);
        fs::create_dir_all(&places.user_dir)?;
        let text = "# mine\ntitles   = false\n\npermissions = [ [\"bash\", \"ls *\", \"allow\"] ]\n";
        fs::write(&places.user_file, text)?;
        assert_eq!(remember(&places, &root.join("shop"), &rules())?.added, 2);
        assert_eq!(remember(&places, &root.join("shop"), &rules())?.added, 0, "nothing twice");
        let written = fs::read_to_string(&places.user_file)?;
        assert!(written.starts_with(text), "{written}");
        assert!(written.contains("permissions = [\n    [\"bash\", \"cargo test *\", \"allow\"],\n"), "{written}");
        let judged = |directory: &str, command: &str| -> Result<Effect, Box<dyn std::error::Error>> {
            let config = Config::load(&places, &root.join(directory), Variables::fixed([]))?;
            Ok(evaluate(&config.settings.all_rules(), "bash", command))
        };
        assert_eq!(judged("shop", "cargo test a")?, Effect::Allow);
        assert_eq!(judged("shop/src", "git \"commit\" x")?, Effect::Allow);
        assert_eq!((judged("other", "cargo test a")?, judged("other", "ls -l")?), (Effect::Ask, Effect::Allow));
        Ok(())
    }

    #[test]
    fn a_missing_file_is_made_and_one_that_is_no_configuration_stays() -> Tested {
        let folder = tempfile::tempdir()?;
        let places = places(folder.path());
        assert_eq!(remember(&places, folder.path(), &rules())?.added, 2);
        for text in ["permissions = [", "projects = 1\n"] {
            fs::write(&places.user_file, text)?;
            assert!(remember(&places, folder.path(), &rules()).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&places.user_file)?, text);
        }
        Ok(())
    }

    #[test]
    fn a_projects_own_file_has_no_rules_for_projects() -> Tested {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join(".annals"))?;
        fs::write(
            folder.path().join(".annals/config.toml"),
            "[projects.\"/\"]\npermissions = [[\"*\", \"*\", \"allow\"]]\n",
        )?;
        let error = Config::load(&places(folder.path()), folder.path(), Variables::fixed([])).err();
        assert!(error.is_some_and(|error| error.to_string().contains("only your own configuration")));
        Ok(())
    }
}
