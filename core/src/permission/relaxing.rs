//! Whether a rule allows more than the rules before it.

use super::patterns::{covers, overlap};
use crate::event::{Effect, Rule};

/// Whether `rule`, appended to `before`, can allow what they do not: a deny that is to be asked for, a question that is
/// allowed. May say yes where the answer is no, never the reverse.
pub fn relaxes(rule: &Rule, before: &[Rule]) -> bool {
    let meets = |other: &Rule| overlap(&other.action, &rule.action) && overlap(&other.resource, &rule.resource);
    let within = |other: &Rule| covers(&other.action, &rule.action) && covers(&other.resource, &rule.resource);
    // Whether the last rule that matches, for every resource, has an effect that is not stricter.
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
    use crate::event::{Effect, Rule};
    use crate::permission::evaluate;
    use alloc::vec::Vec;

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
