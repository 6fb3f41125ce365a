//! What a typed line answers to a permission question, and what an `always` covers.

use annals_core::event::Rule;
use annals_guard::Coverage;
use annals_runtime::permission::{PermissionAnswer, PermissionQuestion};
use annals_runtime::prompt::UserQuestion;

/// A reply of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedReply {
    pub(super) answer: PermissionAnswer,
    /// Rules to write into the configuration of the project.
    pub(super) write: Vec<Rule>,
}

/// Why a line is not a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoReply {
    /// It says nothing that is known.
    NotUnderstood,
    /// Its pattern does not allow what is asked for.
    NotCovered(String),
}

/// What a typed line answers: `y`, `a`, `e`, `w`, `n`, or `n` and a reason; `a` and `w` with a pattern of the user's own.
pub(super) fn reply(line: &str, question: &PermissionQuestion) -> Result<TypedReply, NoReply> {
    let line = line.trim();
    let (word, rest) = line.split_once(|c: char| c.is_whitespace() || c == ',').unwrap_or((line, ""));
    let rest = rest.trim();
    let once = |answer| Ok(TypedReply { answer, write: Vec::new() });
    match word.to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" if rest.is_empty() => once(PermissionAnswer::Once),
        "e" | "exactly" if rest.is_empty() => once(PermissionAnswer::Always),
        "a" | "always" => once(PermissionAnswer::AlwaysBy(chosen(rest, question)?)),
        "w" | "write" => {
            let write = chosen(rest, question)?;
            Ok(TypedReply { answer: PermissionAnswer::AlwaysBy(write.clone()), write })
        }
        "n" | "no" => once(PermissionAnswer::Reject { feedback: Some(rest.to_owned()).filter(|why| !why.is_empty()) }),
        _ => Err(NoReply::NotUnderstood),
    }
}

/// The rules of an `always`: those that were offered, or the pattern that the user typed.
fn chosen(pattern: &str, question: &PermissionQuestion) -> Result<Vec<Rule>, NoReply> {
    let PermissionQuestion { action, resources, .. } = question;
    match pattern {
        "" => Ok(Coverage::wider(action, resources).rules),
        pattern => match Coverage::pattern(action, pattern, resources) {
            Some(coverage) => Ok(coverage.rules),
            None => Err(NoReply::NotCovered(pattern.to_owned())),
        },
    }
}

/// What `a` and `w` would allow, in words.
pub(super) fn offered(question: &PermissionQuestion) -> Vec<String> {
    Coverage::wider(&question.action, &question.resources).covers
}

/// What the user typed; numbers of options are replaced by the options.
pub(super) fn chosen_option(asked: &UserQuestion, text: &str) -> String {
    let option = |number: &str| asked.options.get(number.trim().parse::<usize>().ok()?.checked_sub(1)?).cloned();
    let numbers = text.split([',', ' ']).filter(|number| !number.is_empty());
    let options: Option<Vec<String>> = numbers.map(option).collect();
    match options {
        Some(options) if options.len() == 1 || asked.multiple && !options.is_empty() => options.join(", "),
        _ => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{NoReply, chosen_option, reply};
    use annals_core::event::Rule;
    use annals_runtime::permission::{PermissionAnswer, PermissionQuestion};

    fn asked() -> PermissionQuestion {
        PermissionQuestion {
            session: annals_core::SessionId::from_parts(1, 1),
            permission: "p".into(),
            call: "c".into(),
            agent: "build".into(),
            tool: "bash".into(),
            input: "{}".into(),
            action: "bash".into(),
            resources: vec!["cargo test a".into()],
        }
    }

    fn resources(rules: &[Rule]) -> Vec<&str> {
        rules.iter().map(|rule| rule.resource.as_str()).collect()
    }

    #[test]
    fn a_typed_line_allows_once_or_exactly_or_rejects_with_a_reason() -> Result<(), NoReply> {
        let answer = |line| reply(line, &asked()).map(|typed| typed.answer);
        assert_eq!(answer("Y")?, PermissionAnswer::Once);
        assert_eq!(answer("exactly")?, PermissionAnswer::Always);
        assert_eq!(answer("n use cargo fmt")?, PermissionAnswer::Reject { feedback: Some("use cargo fmt".into()) });
        assert_eq!(answer("perhaps"), Err(NoReply::NotUnderstood));
        assert_eq!(answer("y but not always"), Err(NoReply::NotUnderstood));
        Ok(())
    }

    #[test]
    fn an_always_allows_what_begins_alike_or_what_the_user_names() -> Result<(), NoReply> {
        for (line, allowed, written) in [
            ("a", "cargo test *", 0),
            ("always cargo *", "cargo *", 0),
            ("w", "cargo test *", 1),
            ("w cargo *", "cargo *", 1),
        ] {
            let typed = reply(line, &asked())?;
            let PermissionAnswer::AlwaysBy(rules) = &typed.answer else { return Err(NoReply::NotUnderstood) };
            assert_eq!((resources(rules), typed.write.len()), (vec![allowed], written), "{line}");
        }
        assert_eq!(reply("a npm *", &asked()), Err(NoReply::NotCovered("npm *".into())));
        Ok(())
    }

    #[test]
    fn a_question_is_answered_by_numbers_or_in_words() {
        let asked = |multiple| annals_runtime::prompt::UserQuestion {
            session: annals_core::SessionId::from_parts(1, 1),
            call: "c".into(),
            question: "Which?".into(),
            options: vec!["red".into(), "blue".into()],
            multiple,
        };
        assert_eq!(chosen_option(&asked(false), " 2 "), "blue");
        assert_eq!(chosen_option(&asked(true), "1, 2"), "red, blue");
        assert_eq!(chosen_option(&asked(false), "1 2"), "1 2");
        assert_eq!(chosen_option(&asked(false), "3"), "3");
        assert_eq!(chosen_option(&asked(false), "neither of them"), "neither of them");
    }
}
