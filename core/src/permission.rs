//! What an agent may do: rules, patterns, and what they decide (`docs/reference/permissions.md`). Pure; who is asked is
//! the runtime's.

mod patterns;
mod relaxing;

pub use patterns::{covers, overlap};
pub use relaxing::relaxes;

use crate::event::{Effect, Rule};

/// The permission action that loading a skill is judged by.
pub const SKILL: &str = "skill";

/// Whether a pattern matches a whole text: `*` is any run of characters, `?` one, and a trailing ` *` may be missing
/// altogether, so that `git *` matches `git`. A backslash counts as a slash in both.
///
/// ```
/// use annals_core::permission::matches;
/// assert!(matches("git *", "git") && matches("git *", "git log") && !matches("git *", "gitk"));
/// assert!(matches("src/?.rs", "src\\a.rs"));
/// ```
pub fn matches(pattern: &str, text: &str) -> bool {
    wildcard(pattern, text) || pattern.strip_suffix(" *").is_some_and(|shorter| wildcard(shorter, text))
}

/// [`matches()`] without the rule of the trailing ` *`.
pub fn wildcard(pattern: &str, text: &str) -> bool {
    // Greedy, with one place to come back to: linear in practice, quadratic at worst, never exponential.
    let same = |a: char, b: char| a == b || matches!((a, b), ('\\', '/') | ('/', '\\'));
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut retry = None;
    loop {
        let (wanted, rest) = (pattern.clone().next(), text.clone().next());
        match (wanted, rest) {
            (Some('*'), _) => {
                pattern.next();
                retry = Some((pattern.clone(), text.clone()));
            }
            (Some(a), Some(b)) if a == '?' || same(a, b) => {
                pattern.next();
                text.next();
            }
            (None, None) => return true,
            _ => {
                // The last `*` takes one more character.
                let Some((after, from)) = &mut retry else { return false };
                if from.next().is_none() {
                    return false;
                }
                pattern = after.clone();
                text = from.clone();
            }
        }
    }
}

/// What rules say of one action on one resource: the last rule whose patterns both match; with none, to ask.
pub fn evaluate<'a>(rules: impl IntoIterator<Item = &'a Rule>, action: &str, resource: &str) -> Effect {
    rules
        .into_iter()
        .filter(|rule| matches(&rule.action, action) && matches(&rule.resource, resource))
        .last()
        .map_or(Effect::Ask, |rule| rule.effect)
}

/// What an agent's configured rules, and the approvals given since, say of one action on several resources.
///
/// Denied if any resource is, else to be asked if any is. A configured denial is decided first: no approval lifts it.
/// An action without resources is judged on `*`.
pub fn authorise(configured: &[Rule], approved: &[Rule], action: &str, resources: &[&str]) -> Effect {
    let resources = if resources.is_empty() { &["*"] } else { resources };
    let judge = |resource: &&str| match evaluate(configured, action, resource) {
        Effect::Deny => Effect::Deny,
        Effect::Allow | Effect::Ask => evaluate(configured.iter().chain(approved), action, resource),
    };
    let mut worst = Effect::Allow;
    for effect in resources.iter().map(judge) {
        match effect {
            Effect::Deny => return Effect::Deny,
            Effect::Ask => worst = Effect::Ask,
            Effect::Allow => {}
        }
    }
    worst
}

/// Whether a tool that is judged as `action` is hidden from an agent: the last rule whose action pattern matches is a
/// denial on `*`. A later, narrower rule brings it back. This is advertisement; [`authorise`] is authorisation.
pub fn hides(rules: &[Rule], action: &str) -> bool {
    rules
        .iter()
        .rfind(|rule| matches(&rule.action, action))
        .is_some_and(|rule| rule.effect == Effect::Deny && rule.resource == "*")
}

/// Whether an agent may see a skill: unless it is denied; one that needs a question is listed.
pub fn permits_skill(rules: &[Rule], name: &str) -> bool {
    evaluate(rules, SKILL, name) != Effect::Deny
}

#[cfg(test)]
mod tests {
    use super::*;
    use Effect::{Allow, Ask, Deny};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn rules(list: &[(&str, &str, Effect)]) -> Vec<Rule> {
        list.iter()
            .map(|(action, resource, effect)| Rule {
                action: (*action).into(),
                resource: (*resource).into(),
                effect: *effect,
            })
            .collect()
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text) in
            [("*", ""), ("*", "a\nb"), ("a*c", "abbc"), ("a*c", "ac"), ("*.rs", "x.rs.rs"), ("?é", "aé"), ("a?*", "ab")]
        {
            assert!(matches(pattern, text), "{pattern} should match {text:?}");
        }
        for (pattern, text) in [("", "a"), ("?", ""), ("a*c", "acb"), ("a.c", "abc"), ("ab", "a"), ("a", "ab")] {
            assert!(!matches(pattern, text), "{pattern} should not match {text:?}");
        }
    }

    #[test]
    fn a_trailing_space_and_star_is_optional() {
        assert!(matches("ls *", "ls") && matches("ls *", "ls -l") && matches("*", "ls"));
        assert!(!matches("ls *", "lsof") && !matches("ls*x", "ls"));
    }

    #[test]
    fn a_backslash_is_a_slash() {
        assert!(matches("src/*", "src\\main.rs") && matches("src\\*", "src/main.rs"));
    }

    proptest! {
        #[test]
        fn wildcards_match_as_their_definition_says(pattern in "[ab*?/]{0,8}", text in "[ab/\\\\]{0,8}") {
            fn defined(pattern: &[char], text: &[char]) -> bool {
                match (pattern, text) {
                    ([], rest) => rest.is_empty(),
                    (['*', after @ ..], rest) => (0..=rest.len()).any(|n| defined(after, &rest[n..])),
                    (['?', after @ ..], [_, rest @ ..]) => defined(after, rest),
                    ([a, after @ ..], [b, rest @ ..]) => (a == b || (*a, *b) == ('/', '\\')) && defined(after, rest),
                    (_, []) => false,
                }
            }
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(wildcard(&pattern, &text), defined(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn a_hostile_pattern_does_not_explode() {
        assert!(!matches(&alloc::format!("{}c", "a*".repeat(200)), &"a".repeat(2_000)));
    }

    #[test]
    fn the_last_matching_rule_counts_and_none_asks() {
        let rules = rules(&[("*", "*", Deny), ("read", "*", Allow), ("read", "*.env", Ask)]);
        assert_eq!(evaluate(&rules, "read", "a.txt"), Allow);
        assert_eq!(evaluate(&rules, "read", "a.env"), Ask);
        assert_eq!(evaluate(&rules, "shell", "ls"), Deny);
        assert_eq!(evaluate(&[], "shell", "ls"), Ask);
    }

    #[test]
    fn several_resources_are_denied_by_one_and_asked_for_by_one() {
        let rules = rules(&[("read", "*", Allow), ("read", "secret", Deny), ("read", "odd", Ask)]);
        assert_eq!(authorise(&rules, &[], "read", &["a", "odd", "secret"]), Deny);
        assert_eq!(authorise(&rules, &[], "read", &["a", "odd"]), Ask);
        assert_eq!(authorise(&rules, &[], "read", &["a"]), Allow);
        assert_eq!(authorise(&rules, &[], "shell", &[]), Ask);
    }

    #[test]
    fn an_approval_answers_a_question_but_lifts_no_configured_denial() {
        let configured = rules(&[("shell", "rm *", Deny)]);
        let approved = rules(&[("shell", "*", Allow)]);
        assert_eq!(authorise(&configured, &approved, "shell", &["ls"]), Allow);
        assert_eq!(authorise(&configured, &approved, "shell", &["rm -r"]), Deny);
    }

    #[test]
    fn only_a_final_denial_on_everything_hides() {
        assert!(hides(&rules(&[("shell", "*", Deny)]), "shell"));
        assert!(hides(&rules(&[("*", "*", Deny)]), "shell"));
        assert!(!hides(&rules(&[("shell", "*", Deny), ("shell", "ls", Allow)]), "shell"));
        assert!(!hides(&rules(&[("shell", "rm *", Deny)]), "shell"));
        assert!(!hides(&[], "shell"));
    }

    #[test]
    fn a_skill_is_permitted_unless_denied() {
        let rules = rules(&[("skill", "*", Deny), ("skill", "audit", Ask)]);
        assert!(permits_skill(&rules, "audit") && !permits_skill(&rules, "effect"));
        assert!(permits_skill(&[], "effect"));
    }
}
