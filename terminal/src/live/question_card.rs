//! Questions as they are shown on a screen that keeps them: with their answers as a list.

use super::Screen;
use super::question::{brief, whole};
use super::typed_reply::offered;
use crate::chat_screen::{LinesOf, QuestionAnswer, QuestionOption, ScreenQuestion};
use crate::escape::exact;
use crate::layout::{name, plain, wrap};
use crate::style::{Emphasis, counted};
use annals_runtime::permission::PermissionQuestion;
use annals_runtime::prompt::UserQuestion;
use std::sync::Arc;

/// How many options of a question have a number.
const NUMBERED: usize = 9;

impl Screen {
    /// A permission question; `waiting` more questions wait.
    pub(super) fn permission_card(&self, question: &PermissionQuestion, waiting: usize) -> ScreenQuestion {
        let action = match question.action == question.tool {
            true => String::new(),
            false => format!(" ({})", name(&exact(&question.action))),
        };
        let mut beside = self.calls.others(question.session, &question.call);
        if waiting > 0 {
            beside.push(format!("{} after this one", counted(waiting as u64, "more question")));
        }
        let mut notes = Vec::new();
        if !beside.is_empty() {
            notes.push(format!("also open: {}", beside.join(" · ")));
        }
        let covers = offered(question);
        let option = |key, label: &str, answer: &str| QuestionOption {
            key,
            label: label.to_owned(),
            answer: QuestionAnswer::Reply(answer.to_owned()),
        };
        let typed = |key, label: &str, before: &str| QuestionOption {
            key,
            label: label.to_owned(),
            answer: QuestionAnswer::Typed(before.to_owned()),
        };
        let mut options = vec![option('y', "yes, once", "y")];
        match covers.is_empty() {
            true => notes.push("always is not possible here: as a rule this would allow more than it says".into()),
            false => {
                let covers = name(&exact(&covers.join(" · ")));
                options.push(option('a', &format!("always in this session: {covers}"), "a"));
                options.push(option('w', "always in this project, written to your configuration", "w"));
            }
        }
        options.push(option('e', "always exactly this in this session", "e"));
        options.push(typed('p', "always by a pattern that you type", "a "));
        options.push(option('n', "no", "n"));
        options.push(typed('r', "no, and say why", "n "));
        let (asked, directory) = (Arc::new(question.clone()), self.directory.clone());
        let (shown, place) = (asked.clone(), directory.clone());
        let about: LinesOf = Arc::new(move |width| brief(&shown, &place, width));
        let all: LinesOf = Arc::new(move |width| whole(&asked, &directory, width));
        let head = format!("{} asks for permission{action}", name(&exact(&question.tool)));
        ScreenQuestion { head, about, whole: Some(all), notes, options, multiple: false }
    }
}

/// A question of a model.
pub(super) fn prompt_card(asked: &UserQuestion) -> ScreenQuestion {
    let mut options: Vec<QuestionOption> = Vec::new();
    for (at, option) in asked.options.iter().enumerate() {
        let number = u32::try_from(at + 1).ok().filter(|_| at < NUMBERED);
        let key = number.and_then(|number| char::from_digit(number, 10)).unwrap_or('·');
        let answer = QuestionAnswer::Reply((at + 1).to_string());
        options.push(QuestionOption { key, label: name(option), answer });
    }
    if !options.is_empty() {
        let answer = QuestionAnswer::Typed(String::new());
        options.push(QuestionOption { key: 'o', label: "another answer".into(), answer });
    }
    let question = plain(&exact(&asked.question));
    let about: LinesOf = Arc::new(move |width| {
        let lines = wrap(&question, width).into_iter();
        lines.map(|line| (Emphasis::Strong, line)).collect()
    });
    ScreenQuestion {
        head: "the model asks".into(),
        about,
        whole: None,
        notes: Vec::new(),
        options,
        multiple: asked.multiple,
    }
}
