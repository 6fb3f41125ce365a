//! What the commands of a chat do.

use super::{Chat, ChatCommand, Then, WORDS};
use crate::error::TerminalError;
use crate::layout::plain;
use crate::live::{closing, leave};
use annals_host::{HostError, short};
use annals_runtime::host::RunGoal;
use annals_runtime::{MessagePlace, Session, next_undo};
use std::io::Write;

impl Chat<'_> {
    pub(super) async fn word(
        &mut self,
        word: ChatCommand,
        out: &mut (dyn Write + Send),
    ) -> Result<Then, TerminalError> {
        match (word, self.session.clone()) {
            (ChatCommand::Help, _) => {
                let widest = WORDS.iter().map(|(word, _)| word.len()).max().unwrap_or_default();
                WORDS.iter().for_each(|(word, does)| self.aside(&format!("{word:widest$}  {does}")));
                for (name, does) in self.chosen.expander.templates() {
                    self.aside(&format!("{:widest$}  {}", format!("/{}", plain(&name)), plain(&does)));
                }
            }
            (ChatCommand::Model(None), _) => {
                self.aside(&format!("{} answers; `annals models` lists others", self.chosen.model));
            }
            (ChatCommand::Model(Some(name)), session) => match self.definitions.model(&name.as_str().into()) {
                None => self.warn(&HostError::UnknownModel { name, meant: Vec::new() }.to_string()),
                Some(profile) => {
                    // Of a session the fact is shown.
                    match session {
                        Some(session) => session.switch_model(profile.model.clone()).await?,
                        None => self.aside(&format!("model {}", profile.model)),
                    }
                    self.chosen.model = profile.model;
                    self.shows_who_works();
                }
            },
            (ChatCommand::Agent(None), _) => self.aside(&format!("{} works", self.chosen.agent)),
            (ChatCommand::Agent(Some(name)), session) => {
                let found = self.chosen.agents.iter().find(|agent| agent.as_str() == name).cloned();
                match (found, session) {
                    (None, _) => self.warn(&format!("no agent of the name {name:?} can be selected")),
                    (Some(agent), session) => {
                        match session {
                            Some(session) => session.switch_agent(agent.clone()).await?,
                            None => self.aside(&format!("agent {agent}")),
                        }
                        self.chosen.agent = agent;
                        self.shows_who_works();
                    }
                }
            }
            (ChatCommand::New, session) => {
                if let Some(session) = session {
                    leave(self.host, &session, &mut self.interaction, out).await?;
                    let id = short(session.id());
                    self.sign().await;
                    self.aside(&format!("session {id} is kept; to continue: annals chat -s {id}"));
                }
                self.session = None;
            }
            (ChatCommand::Quit, _) => return Ok(Then::Ends),
            (ChatCommand::Resume(None), _) if self.screen.is_none() => {
                self.aside("name the session: /resume SESSION (`annals sessions` lists them)");
            }
            (ChatCommand::Resume(session), _) => return Ok(Then::Resumes(session)),
            (ChatCommand::Tasks, session) => self.tasks(session.as_ref()).await?,
            (ChatCommand::Unknown(word), _) => {
                self.warn(&format!("{word} is not a command; /help lists commands"));
            }
            (_, None) => self.aside("nothing was said yet"),
            (ChatCommand::Compact, Some(session)) => return self.run(&session, RunGoal::Compaction, out).await,
            (word, Some(session)) => self.edit(word, &session).await?,
        }
        Ok(Then::GoesOn)
    }

    /// Commands about a session that has begun.
    async fn edit(&mut self, word: ChatCommand, session: &Session) -> Result<(), TerminalError> {
        match word {
            ChatCommand::Undo => self.undo(session).await?,
            ChatCommand::Redo => self.redo(session).await?,
            ChatCommand::Cost => self.aside(&closing::used(&*session.view().await?)),
            ChatCommand::Title(None) => match &session.view().await?.session.title {
                Some(title) => self.aside(&plain(title)),
                None => self.aside("the session has no title"),
            },
            ChatCommand::Title(Some(title)) => session.set_title(title).await?,
            ChatCommand::Pin => match next_undo(&*session.view().await?) {
                None => self.aside("there is no prompt to pin"),
                Some(prompt) => match session.pin(MessagePlace::Seq(prompt), true).await {
                    Ok(true) => self.aside("pinned; compactions keep the prompt word for word"),
                    Ok(false) => self.aside("the prompt is pinned already"),
                    Err(refusal) => self.warn(&refusal.to_string()),
                },
            },
            ChatCommand::Help
            | ChatCommand::Model(_)
            | ChatCommand::Agent(_)
            | ChatCommand::New
            | ChatCommand::Compact
            | ChatCommand::Tasks
            | ChatCommand::Resume(_)
            | ChatCommand::Quit
            | ChatCommand::Unknown(_) => {}
        }
        Ok(())
    }
}
