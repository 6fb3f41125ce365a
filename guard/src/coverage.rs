//! What an `always` can cover beyond the call that was asked for: commands that begin alike, all edits of the project, a
//! folder, a host (`docs/reference/permissions.md`).

mod commands;

pub use commands::command_prefix;

use crate::obeyed::{guarded_patterns, guarded_resource};
use annals_core::event::{Effect, Rule};

/// What an `always` allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The rules that the reply adds.
    pub rules: Vec<Rule>,
    /// What they allow, in words: `cargo test *`, `all edits in this project`.
    pub covers: Vec<String>,
}

impl Coverage {
    /// Exactly what a question is about. Empty if that can only be allowed once: as a rule it would be a pattern.
    pub fn exact(action: &str, resources: &[String]) -> Self {
        let rules = exact_rules(action, resources);
        // One part that cannot be remembered makes the same call ask again.
        if rules.len() < resources.len() {
            return Self::default();
        }
        let words = |rule: &Rule| match rule.resource.as_str() {
            "*" => format!("everything that {action} is asked for"),
            resource => resource.to_owned(),
        };
        Self { covers: rules.iter().map(words).collect(), rules }
    }

    /// What a question is about and what resembles it: the same as [`exact`](Self::exact) where nothing wider is sensible.
    pub fn wider(action: &str, resources: &[String]) -> Self {
        let mut all = Self::default();
        let commands = ["bash", "outside_sandbox"].contains(&action);
        for resource in resources {
            // A loop or a condition is covered as it is; what is in it may be covered with what begins alike.
            let syntax = commands && commands::is_syntax(resource);
            let one = std::slice::from_ref(resource);
            let wider = if syntax { Some(Self::exact(action, one)) } else { wider(action, resource) };
            let Some(wider) = wider.filter(|wider| !wider.is_empty()) else { return Self::exact(action, resources) };
            let covers: Vec<String> = wider.covers.into_iter().filter(|text| !all.covers.contains(text)).collect();
            let rules: Vec<Rule> = wider.rules.into_iter().filter(|rule| !all.rules.contains(rule)).collect();
            all.covers.extend(covers);
            all.rules.extend(rules);
        }
        if all.rules.is_empty() { Self::exact(action, resources) } else { all }
    }

    /// What a pattern of the user covers; `None` if it does not allow what is asked for.
    pub fn pattern(action: &str, pattern: &str, resources: &[String]) -> Option<Self> {
        let all = resources.iter().all(|resource| annals_core::permission::matches(pattern, resource));
        all.then(|| Self { rules: vec![rule(action, pattern, Effect::Allow)], covers: vec![pattern.into()] })
    }

    /// Whether nothing would be remembered.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// The rules that an `always` adds: exactly what was asked for. A resource with `*` or `?` in it would be a pattern as a
/// rule, and allow more than that: it counts this once. `*` itself, all that an action may touch, was asked for.
pub fn exact_rules(action: &str, resources: &[String]) -> Vec<Rule> {
    let allow = |resource: &str| Rule { action: action.into(), resource: resource.into(), effect: Effect::Allow };
    if resources.is_empty() {
        return vec![allow("*")];
    }
    let exact = |resource: &&String| *resource == "*" || !resource.contains(['*', '?']);
    resources.iter().filter(exact).map(|resource| allow(resource)).collect()
}

fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
    Rule { action: action.into(), resource: resource.into(), effect }
}

fn allowed(action: &str, resources: &[&str], covers: &str) -> Coverage {
    Coverage {
        rules: resources.iter().map(|resource| rule(action, resource, Effect::Allow)).collect(),
        covers: vec![covers.into()],
    }
}

fn wider(action: &str, resource: &str) -> Option<Coverage> {
    match action {
        "bash" | "outside_sandbox" => {
            let prefix = format!("{} *", command_prefix(resource)?);
            Some(allowed(action, &[&prefix], &prefix))
        }
        "edit" if !resource.starts_with('/') => all_edits(resource),
        "external_directory" => folder(action, resource),
        _ if resource.starts_with('/') => folder(action, resource.rsplit_once('/')?.0),
        _ => host(action, resource),
    }
}

/// All files of the project but those that stay guarded.
fn all_edits(resource: &str) -> Option<Coverage> {
    let mut coverage = allowed("edit", &["*"], "all edits in this project");
    // Files elsewhere, too: their folder is asked for in addition.
    let ask = guarded_patterns().chain(["/*".to_owned()]);
    coverage.rules.extend(ask.map(|pattern| rule("edit", &pattern, Effect::Ask)));
    guarded_resource(resource).is_none().then_some(coverage)
}

/// A folder outside of the project and everything below it.
fn folder(action: &str, folder: &str) -> Option<Coverage> {
    let below = format!("{folder}/*");
    let plain = folder.starts_with('/') && folder.len() > 1 && !folder.contains(['*', '?']);
    plain.then(|| match action {
        "external_directory" => allowed(action, &[folder, &below], &below),
        action => allowed(action, &[&below], &below),
    })
}

/// Every address of a host, by the same scheme.
fn host(action: &str, resource: &str) -> Option<Coverage> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| resource.starts_with(scheme))?;
    let authority = resource.strip_prefix(scheme)?.split(['/', '?', '#', '\\']).next()?;
    let plain = !authority.is_empty() && authority.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
    let origin = format!("{scheme}{authority}");
    plain.then(|| allowed(action, &[&origin, &format!("{origin}/*")], &format!("{origin}/*")))
}

#[cfg(test)]
mod tests {
    use super::{Coverage, exact_rules};
    use annals_core::event::Effect;
    use annals_core::permission::authorise;

    fn covers(action: &str, resources: &[&str]) -> Vec<String> {
        Coverage::wider(action, &resources.iter().map(ToString::to_string).collect::<Vec<_>>()).covers
    }

    #[test]
    fn an_always_covers_commands_that_begin_alike() {
        assert_eq!(covers("bash", &["cargo test a"]), ["cargo test *"]);
        assert_eq!(covers("bash", &["cargo test a", "cargo test b", "ls -l"]), ["cargo test *", "ls *"]);
        let wide = Coverage::wider("bash", &["cargo test a".into()]);
        assert_eq!(authorise(&[], &wide.rules, "bash", &["cargo test b"]), Effect::Allow);
        assert_eq!(authorise(&[], &wide.rules, "bash", &["cargo publish"]), Effect::Ask);
        assert_eq!(authorise(&[], &wide.rules, "bash", &["cargo test b", "(cargo test b > x)"]), Effect::Ask);
    }

    #[test]
    fn of_a_loop_only_what_is_in_it_is_widened() {
        assert_eq!(
            covers("bash", &["for i in 1 2", "do cargo test a", "cargo test a", "done"]),
            ["for i in 1 2", "do cargo test a", "cargo test *", "done"]
        );
        assert_eq!(covers("bash", &["[ -f x ]", "ls -l"]), ["[ -f x ]", "ls *"]);
        assert_eq!(covers("bash", &["while true", "rm x"]), ["while true", "rm x"]);
        assert!(Coverage::wider("bash", &["for i in *.rs".into(), "ls".into()]).is_empty());
        assert_eq!(covers("bash", &["X=1 cargo test", "cargo test"]), ["X=1 cargo test", "cargo test"]);
    }

    #[test]
    fn a_call_that_nothing_resembles_is_covered_alone_or_not_at_all() {
        assert_eq!(covers("bash", &["rm -r build"]), ["rm -r build"]);
        assert_eq!(covers("bash", &["cargo test a", "rm -r build"]), ["cargo test a", "rm -r build"]);
        assert!(Coverage::wider("bash", &["ls".into(), "(ls > *.txt)".into()]).is_empty());
        assert!(Coverage::exact("bash", &["rm *.o".into()]).is_empty());
    }

    #[test]
    fn all_edits_are_those_of_the_project_without_what_git_and_agents_obey() {
        let wide = Coverage::wider("edit", &["src/main.rs".into()]);
        assert_eq!(wide.covers, ["all edits in this project"]);
        let judged = |resource: &str| authorise(&[], &wide.rules, "edit", &[resource]);
        assert_eq!((judged("docs/x.md"), judged(".gitignore")), (Effect::Allow, Effect::Allow));
        for asked in [".git/config", ".annals/config.toml", "/etc/hosts", ".envrc", ".husky/pre-commit", ".mcp.json"] {
            assert_eq!(judged(asked), Effect::Ask, "{asked}");
        }
        assert_eq!(covers("edit", &[".git/config"]), [".git/config"]);
    }

    #[test]
    fn places_elsewhere_are_covered_by_folder_and_hosts_by_name() {
        assert_eq!(covers("external_directory", &["/tmp/work"]), ["/tmp/work/*"]);
        assert_eq!(covers("edit", &["/tmp/work/a.txt"]), ["/tmp/work/*"]);
        assert_eq!(covers("edit", &["/a.txt"]), ["/a.txt"]);
        assert_eq!(covers("webfetch", &["https://docs.rs/serde/latest"]), ["https://docs.rs/*"]);
        let wide = Coverage::wider("webfetch", &["https://docs.rs/serde".into()]);
        for other in ["https://docs.rs.evil.example/", "https://docs.rs@evil.example/", "http://docs.rs/"] {
            assert_eq!(authorise(&[], &wide.rules, "webfetch", &[other]), Effect::Ask, "{other}");
        }
        assert_eq!(covers("webfetch", &["https://me@docs.rs/x"]), ["https://me@docs.rs/x"]);
        assert_eq!(covers("mcp", &["github/list_issues"]), ["github/list_issues"]);
    }

    #[test]
    fn a_pattern_of_the_user_counts_only_if_it_allows_what_is_asked() {
        let asked = ["cargo build".to_owned(), "cargo test".to_owned()];
        assert!(Coverage::pattern("bash", "cargo *", &asked).is_some());
        assert_eq!(Coverage::pattern("bash", "cargo test *", &asked), None);
    }

    #[test]
    fn an_always_is_remembered_for_what_was_asked_and_never_for_a_pattern() {
        let kept = |resources: &[&str]| -> Vec<String> {
            let resources: Vec<String> = resources.iter().map(ToString::to_string).collect();
            exact_rules("bash", &resources).into_iter().map(|rule| rule.resource).collect()
        };
        assert_eq!(kept(&["git log", "rm *.o", "ls a?"]), ["git log"]);
        assert_eq!((kept(&[]), kept(&["*"])), (vec!["*".to_string()], vec!["*".to_string()]));
    }
}
