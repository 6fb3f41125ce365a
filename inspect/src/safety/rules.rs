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
}

/// The permission action of a tool of this program; of another tool, its name.
pub(super) fn action_of(tool: &str) -> &str {
    match tool {
        "write" | "edit" => "edit",
        _ if tool.starts_with("mcp__") => "mcp",
        _ => tool,
    }
}

/// What a call of a tool of this program is judged by, where it can be said without doubt: the path, the skill, the server and
/// the tool, or a command that is one plain command.
pub(super) fn resource_of(tool: &str, input: &Value, below: &dyn Fn(&str) -> String) -> Option<String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match tool {
        "read" | "write" | "edit" => text("path").map(below),
        "grep" | "glob" | "ls" => Some(below(text("path").unwrap_or("."))),
        "skill" => text("name").map(str::to_owned),
        "bash" => text("command").map(str::trim).filter(|command| is_plain(command)).map(str::to_owned),
        _ => {
            let (server, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
            Some(format!("{server}/{name}"))
        }
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
            |command: &str| resource_of("bash", &serde_json::json!({ "command": command }), &|path| path.to_owned());
        assert_eq!(of("git log --oneline").as_deref(), Some("git log --oneline"));
        assert_eq!(of("git log; rm x"), None);
        assert_eq!(of("git log $(rm x)"), None);
    }
}
