//! Permission questions on the user's screen, and their answers.

use super::Screen;
use super::question_card::prompt_card;
use crate::escape::exact;
use crate::layout::{clip, name, plain, wrap};
use crate::style::{Emphasis, counted};
use annals_core::event::{PermissionEvent, PermissionReplied, Reply};
use annals_core::{Event, Record};
use annals_host::ApprovalMode;
use annals_runtime::permission::PermissionQuestion;
use annals_runtime::prompt::UserQuestion;
use std::io::{self, Write};
use std::time::Instant;

impl Screen {
    /// Questions and their answers, also those of children.
    pub(super) fn about_permissions(&mut self, record: &Record<'_>, out: &mut dyn Write) -> io::Result<()> {
        match record.event {
            Event::Permission(PermissionEvent::Asked(asked)) => {
                let call = asked.call.as_ref().and_then(|call| self.calls.line_of(record.session, call));
                if let Some(call) = &asked.call {
                    self.calls.waits(record.session, call, &asked.permission);
                }
                let about = || format!("{} {}", asked.action, plain(&asked.resources.join(" ")));
                self.questions.insert(asked.permission.clone(), call.unwrap_or_else(about));
                Ok(())
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
                self.calls.answered(&replied.permission, record.at);
                self.replied(replied, out)
            }
            _ => Ok(()),
        }
    }

    fn replied(&mut self, replied: &PermissionReplied, out: &mut dyn Write) -> io::Result<()> {
        let about = self.questions.remove(&replied.permission).map(|about| format!(" {}", about.trim()));
        let about = clip(&about.unwrap_or_default(), self.remarks.style().width.saturating_sub(24).max(24));
        match (replied.by.as_str(), replied.reply) {
            ("user" | ApprovalMode::RECORDED, _) => Ok(()),
            ("no terminal", Reply::Reject) => {
                let text = "rejected, since there is no one to ask: `--yes` allows everything that no rule denies, a \
                            permission rule allows it for good (docs/configuration.md)";
                self.line(Emphasis::Warn, text, out)
            }
            (by, Reply::Reject) => self.line(Emphasis::Warn, &format!("rejected ({by}){about}"), out),
            (by, Reply::Once | Reply::Always) => self.aside(&format!("allowed ({by}){about}"), out),
        }
    }

    pub(super) fn question(
        &mut self,
        question: &PermissionQuestion,
        waiting: usize,
        out: &mut dyn Write,
    ) -> io::Result<Instant> {
        if let Some(chat) = &self.chat {
            chat.ask(self.permission_card(question, waiting));
            return Ok(Instant::now());
        }
        self.meter.clear();
        let action = match question.action == question.tool {
            true => String::new(),
            false => format!(" ({})", name(&exact(&question.action))),
        };
        self.line(Emphasis::Warn, &format!("? {} asks for permission{action}", name(&exact(&question.tool))), out)?;
        let width = self.remarks.style().width.saturating_sub(4);
        for (emphasis, line) in super::question::brief(question, &self.directory, width) {
            self.line(emphasis, &format!("    {line}"), out)?;
        }
        let mut beside = self.calls.others(question.session, &question.call);
        if waiting > 0 {
            beside.push(format!("{} after this one", counted(waiting as u64, "more question")));
        }
        if !beside.is_empty() {
            let width = self.remarks.style().width;
            self.aside(&clip(&format!("    also open: {}", beside.join(" · ")), width), out)?;
        }
        let covers = super::typed_reply::offered(question);
        let line = match covers.is_empty() {
            true => "    always is not possible here: as a rule this would allow more than it says".to_owned(),
            false => format!("    always would allow: {}", name(&exact(&covers.join(" · ")))),
        };
        self.aside(&line, out)?;
        let since = Instant::now();
        self.ask_for_reply();
        Ok(since)
    }

    /// Shows a question of a model, and asks for the answer.
    pub(super) fn prompt(&mut self, asked: &UserQuestion, out: &mut dyn Write) -> io::Result<()> {
        if let Some(chat) = &self.chat {
            chat.ask(prompt_card(asked));
            return Ok(());
        }
        self.meter.clear();
        let width = self.remarks.style().width.saturating_sub(4);
        for line in wrap(&plain(&exact(&asked.question)), width) {
            self.line(Emphasis::Strong, &format!("? {line}"), out)?;
        }
        for (at, option) in asked.options.iter().enumerate() {
            self.line(Emphasis::Plain, &format!("    {}. {}", at + 1, name(&exact(option))), out)?;
        }
        let choices = match (asked.options.is_empty(), asked.multiple) {
            (true, _) => "  your answer › ",
            (false, false) => "  a number, or another answer › ",
            (false, true) => "  numbers, or another answer › ",
        };
        self.write_choices(choices);
        Ok(())
    }

    /// Shows all of what a question is about, and asks again.
    pub(super) fn details(&mut self, question: &PermissionQuestion, out: &mut dyn Write) -> io::Result<()> {
        let width = self.remarks.style().width.saturating_sub(4);
        for (emphasis, line) in super::question::whole(question, &self.directory, width) {
            self.line(emphasis, &format!("    {line}"), out)?;
        }
        self.ask_for_reply();
        Ok(())
    }

    pub(super) fn ask_for_reply(&mut self) {
        if self.chat.is_some() {
            return;
        }
        let choices = "  y once · a always · w always, saved · e exactly · n no · n WHY no, because › ";
        self.write_choices(choices);
    }

    /// Writes what can be answered. Above a line that is edited, that line has the prompt.
    fn write_choices(&self, choices: &str) {
        let painted = match self.above_a_prompt {
            true => self.remarks.style().paint(Emphasis::Strong, choices.trim_end_matches([' ', '›'])) + "\n",
            false => self.remarks.style().paint(Emphasis::Strong, choices),
        };
        self.remarks.write(&painted);
    }
}
