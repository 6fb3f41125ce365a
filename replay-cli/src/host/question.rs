//! Permission questions on their way from a call to whoever answers.

use crate::layout::{clip, plain, wrap};
use crate::style::{Emphasis, counted};
use annals_runtime::Boxed;
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How many lines of a change are shown.
const SHOWN: usize = 40;

/// How long is thought about the best way to show a change. A person waits for the question, and the first way found is
/// as true.
const THOUGHT: Duration = Duration::from_millis(500);

/// Who answers permission questions that no rule answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The person at the terminal.
    Person,
    /// `--yes`: each is allowed.
    Yes,
    /// `--deny`: each is rejected.
    Deny,
    /// Nobody is there: each is rejected, and it is said how to allow it.
    Nobody,
    /// Recorded results are given: nothing is done that needs to be allowed.
    Recorded,
}

/// What the model is told of a call that was rejected without anybody being asked.
const NOBODY: &str = "Not permitted: nobody is there to be asked. Go on without it, and say what was left undone.";

/// Who answers where nothing runs.
pub(super) const RECORDED: &str = "rerun";

impl ApprovalMode {
    /// The answer that needs nobody; `None` when a person is asked.
    pub fn answer(self) -> Option<Answered> {
        let rejected = || PermissionAnswer::Reject { feedback: Some(NOBODY.into()) };
        let (answer, by) = match self {
            Self::Person => return None,
            Self::Yes => (PermissionAnswer::Once, "--yes"),
            Self::Deny => (rejected(), "--deny"),
            Self::Nobody => (rejected(), "no terminal"),
            Self::Recorded => (PermissionAnswer::Once, RECORDED),
        };
        Some(Answered { answer, by: by.into() })
    }
}

/// Where the runtime puts its questions.
#[derive(Clone, Debug)]
pub struct Questions(mpsc::UnboundedSender<Question>);

impl Questions {
    /// Where they are put, and where they arrive.
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<Question>) {
        let (put, arriving) = mpsc::unbounded_channel();
        (Self(put), arriving)
    }
}

impl Approver for Questions {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let put = self.0.send(Question { asked: question, reply });
            let answered = match put {
                Ok(()) => answer.await.ok(),
                Err(_) => None,
            };
            // Nobody listens any more: the host is leaving.
            answered.unwrap_or_else(|| Answered {
                answer: PermissionAnswer::Reject { feedback: None },
                by: "annals".into(),
            })
        })
    }
}

/// One question that waits for its answer.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub asked: PermissionQuestion,
    reply: oneshot::Sender<Answered>,
}

impl Question {
    /// Answers it. An answer that nobody waits for any more is of no use and of no harm.
    pub fn answer(self, answered: Answered) {
        drop(self.reply.send(answered));
    }

    /// Waits until nobody wants the answer any more: the turn was interrupted, or a rule answers it.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// What a typed line answers: `y`, `a`, `n`, or `n` and a reason. `None` for anything else.
///
/// ```
/// use annals_cli::host::reply;
/// use annals_runtime::permission::PermissionAnswer;
/// assert_eq!(reply("Y"), Some(PermissionAnswer::Once));
/// assert_eq!(reply("always"), Some(PermissionAnswer::Always));
/// assert_eq!(reply("n use cargo fmt"), Some(PermissionAnswer::Reject { feedback: Some("use cargo fmt".into()) }));
/// assert_eq!(reply("perhaps"), None);
/// ```
pub fn reply(line: &str) -> Option<PermissionAnswer> {
    let line = line.trim();
    let (word, rest) = line.split_once(|c: char| c.is_whitespace() || c == ',').unwrap_or((line, ""));
    let why = rest.trim();
    match word.to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" if why.is_empty() => Some(PermissionAnswer::Once),
        "a" | "always" if why.is_empty() => Some(PermissionAnswer::Always),
        "n" | "no" => Some(PermissionAnswer::Reject { feedback: Some(why.to_owned()).filter(|why| !why.is_empty()) }),
        _ => None,
    }
}

/// What a question is about, in lines of at most `width` columns. What is asked for stands whole, wrapped: nothing of a
/// command is allowed unseen. What is beside it is clipped.
pub(super) fn shown(question: &PermissionQuestion, directory: &str, width: usize) -> Vec<(Emphasis, String)> {
    let lines = told(question, directory).into_iter().flat_map(|(emphasis, text)| {
        let text = plain(&text);
        let lines = if emphasis == Emphasis::Strong { wrap(&text, width) } else { vec![clip(&text, width)] };
        lines.into_iter().map(move |line| (emphasis, line))
    });
    lines.collect()
}

/// What a question is about, line by line: the command, the change, or the resources.
fn told(question: &PermissionQuestion, directory: &str) -> Vec<(Emphasis, String)> {
    let input: Value = serde_json::from_str(&question.input).unwrap_or(Value::Null);
    let field = |name: &str| input.get(name).and_then(Value::as_str);
    if let Some(command) = field("command") {
        // Where it would run, if that is what is asked.
        let of_place = question.resources.iter().filter(|_| question.action != question.tool);
        let mut lines: Vec<(Emphasis, String)> = of_place.map(|place| (Emphasis::Strong, place.clone())).collect();
        lines.extend(command.lines().map(|line| (Emphasis::Strong, line.to_owned())));
        lines.extend(field("description").map(|why| (Emphasis::Dim, why.to_owned())));
        return lines;
    }
    let below = |path: &str| match path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) if !directory.is_empty() => rest.to_owned(),
        _ => path.to_owned(),
    };
    let named = question.resources.iter().filter(|resource| *resource != "*");
    let mut lines: Vec<(Emphasis, String)> = named.map(|resource| (Emphasis::Strong, below(resource))).collect();
    let change = change(&input);
    if change.is_empty() && !question.input.is_empty() {
        // Whatever it is about: what the model gave, as it is.
        lines.push((Emphasis::Dim, question.input.clone()));
    }
    lines.extend(change);
    lines
}

/// What an edit would change, or what would be written.
fn change(input: &Value) -> Vec<(Emphasis, String)> {
    let field = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str());
    let (old, new) = match (field(&["old", "old_string", "oldString"]), field(&["new", "new_string", "newString"])) {
        (Some(old), Some(new)) => (old, new),
        _ => match field(&["content"]) {
            Some(content) => ("", content),
            None => return Vec::new(),
        },
    };
    let mut differ = TextDiff::configure();
    let diff = differ.timeout(THOUGHT).diff_lines(old, new);
    let mut changes = diff.iter_all_changes();
    let shown = changes.by_ref().take(SHOWN).map(|change| {
        let text = change.value().trim_end_matches('\n');
        match change.tag() {
            ChangeTag::Insert => (Emphasis::Good, format!("+ {text}")),
            ChangeTag::Delete => (Emphasis::Bad, format!("- {text}")),
            ChangeTag::Equal => (Emphasis::Dim, format!("  {text}")),
        }
    });
    let mut lines: Vec<(Emphasis, String)> = shown.collect();
    let more = changes.count();
    if more > 0 {
        lines.push((Emphasis::Dim, format!("… {}", counted(more as u64, "more line"))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(action: &str, input: &Value) -> PermissionQuestion {
        PermissionQuestion {
            session: annals_core::SessionId::from_parts(1, 1),
            permission: "p".into(),
            call: "c".into(),
            agent: "build".into(),
            tool: "bash".into(),
            input: input.to_string(),
            action: action.into(),
            resources: vec!["/etc".into()],
        }
    }

    #[test]
    fn nothing_of_a_command_is_asked_for_unseen() {
        let command = format!("ls {}; rm -r .", "a ".repeat(60));
        let lines = shown(&asked("bash", &serde_json::json!({"command": command})), "/project", 40);
        assert!(lines.len() > 2 && lines.iter().all(|(emphasis, _)| *emphasis == Emphasis::Strong), "{lines:?}");
        let told: Vec<&str> = lines.iter().flat_map(|(_, line)| line.split_whitespace()).collect();
        assert_eq!(told, command.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_large_change_is_shown_by_its_first_lines_with_how_many_more_there_are() {
        let lines =
            |seed: u64| (0..20_000_u64).map(|n| format!("{}\n", (n * 7_919 + seed) * 104_729 % 1_000)).collect();
        let (old, new): (String, String) = (lines(1), lines(2));
        let shown = shown(&asked("edit", &serde_json::json!({"old_string": old, "new_string": new})), "/project", 40);
        let told: Vec<&str> = shown.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!((told.len(), told[0]), (SHOWN + 2, "/etc"));
        assert!(told[SHOWN + 1].starts_with("… ") && told[SHOWN + 1].ends_with(" more lines"), "{}", told[SHOWN + 1]);
    }

    #[test]
    fn a_question_about_a_place_names_it_beside_the_command() {
        let lines = shown(&asked("external_directory", &serde_json::json!({"command": "ls"})), "/project", 40);
        assert_eq!(lines, [(Emphasis::Strong, "/etc".to_owned()), (Emphasis::Strong, "ls".to_owned())]);
    }
}
