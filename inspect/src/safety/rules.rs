//! The rule that decided on a call, as far as the log has what is needed to know it.

use annals_core::Seq;
use annals_core::event::{Effect, Rule};
use annals_core::permission::matches;
use serde_json::Value;

/// The permission action of a path outside of the project.
pub(super) const EXTERNAL: &str = "external_directory";

/// The rules of a call: those of its agent's profile, then those that replies gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct RulesInForce<'a> {
    /// Of the profile.
    pub(super) configured: &'a [Rule],
    /// Of replies, with their events.
    pub(super) approved: &'a [(Seq, Rule)],
}

impl<'a> RulesInForce<'a> {
    /// The last rule for an action on a resource, and the reply that gave it. Without a resource, only a rule for every
    /// resource is certain.
    pub(super) fn last(self, action: &str, resource: Option<&str>) -> Option<(&'a Rule, Option<Seq>)> {
        let configured = self.configured.iter().map(|rule| (rule, None));
        let approved = self.approved.iter().map(|(seq, rule)| (rule, Some(*seq)));
        let last = |rules: &mut dyn Iterator<Item = (&'a Rule, Option<Seq>)>| {
            let mut found = None;
            for (rule, seq) in rules {
                if matches(&rule.action, action) && resource.is_none_or(|resource| matches(&rule.resource, resource)) {
                    found = Some((rule, seq));
                }
            }
            found.filter(|(rule, _)| resource.is_some() || rule.resource == "*")
        };
        // No approval lifts a configured denial.
        let denied = last(&mut configured.clone()).filter(|(rule, _)| rule.effect == Effect::Deny);
        denied.or_else(|| last(&mut configured.chain(approved)))
    }

    /// The rule that decided on every one of several resources, if it was one rule.
    pub(super) fn last_of_all(self, action: &str, resources: &[String]) -> Option<(&'a Rule, Option<Seq>)> {
        let mut each = resources.iter().map(|resource| self.last(action, Some(resource)));
        match each.next() {
            None => self.last(action, None),
            Some(first) => each.all(|other| other == first).then_some(first).flatten(),
        }
    }
}

/// The permission action of a tool of this program; of another tool, its name.
pub(super) fn action_of(tool: &str) -> &str {
    match tool {
        "write" | "edit" | "multiedit" | "apply_patch" => "edit",
        "lsp_diagnostics" | "lsp_hover" => "read",
        _ if tool.starts_with("mcp__") => "mcp",
        _ => tool,
    }
}

/// What a call of a tool of this program is judged by, where it can be said without doubt: the paths, the skill, the agent, the
/// host, the query, the id, the server and the tool, or a command that is one plain command. Empty if not.
pub(super) fn resources_of(tool: &str, input: &Value, below: &dyn Fn(&str) -> String) -> Vec<String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let one = match tool {
        "read" | "write" | "edit" | "multiedit" | "lsp_diagnostics" | "lsp_hover" => text("path").map(below),
        "apply_patch" => {
            let paths = text("patch").into_iter().flat_map(patched_paths);
            return paths.map(below).collect();
        }
        "grep" | "glob" | "ls" => Some(below(text("path").unwrap_or("."))),
        "skill" => text("name").map(str::to_owned),
        "task" => text("subagent_type").map(str::to_owned),
        "webfetch" => text("url").and_then(host_of),
        "websearch" => text("query").map(str::to_owned),
        "bash_input" => text("text").map(str::to_owned),
        "bash_output" | "bash_kill" => text("id").map(str::to_owned),
        "todo" | "question" => Some("*".to_owned()),
        "bash" => text("command").map(str::trim).filter(|command| is_plain(command)).map(str::to_owned),
        _ => tool
            .strip_prefix("mcp__")
            .and_then(|rest| rest.split_once("__"))
            .map(|(server, name)| format!("{server}/{name}")),
    };
    one.into_iter().collect()
}

/// The paths that a patch in the format of `apply_patch` names.
fn patched_paths(patch: &str) -> impl Iterator<Item = &str> {
    let headers = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    patch.lines().filter_map(move |line| headers.iter().find_map(|header| line.strip_prefix(header)).map(str::trim))
}

/// The host of a plain address as a resource: with the port, if it is unusual.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let (host, port) = authority.split_once(':').map_or((authority.as_str(), None), |(host, port)| (host, Some(port)));
    let plain = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "https" => "443",
        "http" => "80",
        _ => return None,
    };
    let host = host.trim_end_matches('.');
    match port.filter(|port| *port != usual) {
        _ if !plain => None,
        Some(port) => port.parse::<u16>().is_ok().then(|| format!("{host}:{port}")),
        None => Some(host.to_owned()),
    }
}

/// Whether a command is one command, which is judged as it is written.
fn is_plain(command: &str) -> bool {
    !command.is_empty() && command.chars().all(|c| c.is_ascii_alphanumeric() || " -_./:,@+".contains(c))
}

/// Action and resource of a denial, as the error of its call has them.
pub(super) fn denial(error: &str) -> Option<(&str, &str)> {
    error.strip_prefix("Permission denied: ")?.split_once(" on ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
        Rule { action: action.into(), resource: resource.into(), effect }
    }

    #[test]
    fn the_last_matching_rule_decided_and_no_reply_lifts_a_configured_denial() {
        let configured =
            [rule("*", "*", Effect::Ask), rule("bash", "git *", Effect::Allow), rule("edit", "*.env", Effect::Deny)];
        let approved = [(Seq(7), rule("bash", "make", Effect::Allow)), (Seq(8), rule("edit", "a.env", Effect::Allow))];
        let rules = RulesInForce { configured: &configured, approved: &approved };
        assert_eq!(rules.last("bash", Some("git log")), Some((&configured[1], None)));
        assert_eq!(rules.last("bash", Some("make")), Some((&approved[0].1, Some(Seq(7)))));
        assert_eq!(rules.last("edit", Some("a.env")), Some((&configured[2], None)));
        assert_eq!(rules.last("bash", None), None, "a rule for some commands says nothing of an unknown one");
        assert_eq!(rules.last("read", None), Some((&configured[0], None)));
    }

    #[test]
    fn a_command_of_several_parts_has_no_single_resource() {
        let of =
            |command: &str| resources_of("bash", &serde_json::json!({ "command": command }), &|path| path.to_owned());
        assert_eq!(of("git log --oneline"), ["git log --oneline"]);
        assert_eq!(of("git log; rm x"), Vec::<String>::new());
        assert_eq!(of("git log $(rm x)"), Vec::<String>::new());
    }

    #[test]
    fn every_tool_is_judged_by_its_action_and_by_what_its_input_names() {
        let of = |tool: &str, input: Value| {
            (action_of(tool).to_owned(), resources_of(tool, &input, &|path| format!("p/{path}")))
        };
        let is = |action: &str, resources: &[&str]| {
            (action.to_owned(), resources.iter().map(|resource| (*resource).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of("multiedit", serde_json::json!({"path": "a.rs"})), is("edit", &["p/a.rs"]));
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** Add File: c.rs\n+z\n*** End Patch";
        assert_eq!(
            of("apply_patch", serde_json::json!({ "patch": patch })),
            is("edit", &["p/a.rs", "p/b.rs", "p/c.rs"])
        );
        assert_eq!(of("lsp_hover", serde_json::json!({"path": "a.py"})), is("read", &["p/a.py"]));
        assert_eq!(of("webfetch", serde_json::json!({"url": "https://Docs.RS/a?b"})), is("webfetch", &["docs.rs"]));
        assert_eq!(of("webfetch", serde_json::json!({"url": "http://x.de:8080/"})), is("webfetch", &["x.de:8080"]));
        assert_eq!(of("webfetch", serde_json::json!({"url": "http://2130706433@x/"})), is("webfetch", &[]));
        assert_eq!(of("websearch", serde_json::json!({"query": "rust"})), is("websearch", &["rust"]));
        assert_eq!(of("bash_kill", serde_json::json!({"id": "cmd_7"})), is("bash_kill", &["cmd_7"]));
        assert_eq!(of("task", serde_json::json!({"subagent_type": "explore"})), is("task", &["explore"]));
        assert_eq!(of("mcp__git__log", serde_json::json!({})), is("mcp", &["git/log"]));
    }

    #[test]
    fn one_rule_has_to_decide_on_every_path_of_a_patch() {
        let configured = [rule("edit", "*", Effect::Allow), rule("edit", ".git/*", Effect::Ask)];
        let rules = RulesInForce { configured: &configured, approved: &[] };
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        assert_eq!(rules.last_of_all("edit", &paths(&["a", "b"])), Some((&configured[0], None)));
        assert_eq!(rules.last_of_all("edit", &paths(&["a", ".git/config"])), None);
    }
}
