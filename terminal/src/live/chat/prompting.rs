//! What the user says to the model, and the shell commands of the user.

use super::{Chat, ChatCommand, Then};
use crate::error::TerminalError;
use crate::layout::plain;
use annals_host::ExpandedPrompt;
use annals_runtime::NewInput;
use annals_runtime::host::RunGoal;
use annals_runtime::ports::{Clock, Ids, SystemClock};
use annals_tools::ExternalProgram;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// How long a command of the user may take.
const SHELL: Duration = Duration::from_secs(600);

impl Chat<'_> {
    /// Runs a command of the user, and records it for the model.
    pub(super) async fn shell(&mut self, command: &str, out: &mut (dyn Write + Send)) -> Result<Then, TerminalError> {
        let session = self.begun(out).await?;
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        let program = ExternalProgram { words, environment: Vec::new(), limit: SHELL };
        self.echo(&format!("!{command}"), out)?;
        self.interaction.show.busy(Some(command));
        let directory = self.chosen.directory.clone();
        let ran = tokio::select! {
            ran = program.run(Path::new(&directory), "") => Some(ran),
            () = self.interaction.interrupted() => None,
        };
        self.interaction.show.busy(None);
        let (output, exit) = match ran {
            Some(Ok(ran)) => (format!("{}{}", ran.stdout, ran.stderr), ran.exit),
            Some(Err(error)) => (error.to_string(), None),
            None => ("interrupted by the user".to_owned(), None),
        };
        for line in output.lines() {
            self.remarks.write(&format!("{}\n", plain(line)));
        }
        if exit != Some(0) {
            self.warn(&exit.map_or("the command was ended".to_owned(), |code| format!("exit status {code}")));
        }
        session.record_shell(command, &output, exit).await?;
        Ok(Then::GoesOn)
    }

    pub(super) async fn prompt(&mut self, text: &str, out: &mut (dyn Write + Send)) -> Result<Then, TerminalError> {
        let profile = self.definitions.model(&self.chosen.model);
        let typed = text.to_owned();
        let ExpandedPrompt { text, attachments, agent, model, remarks } =
            self.chosen.expander.expand(text, profile.as_ref()).await;
        for remark in remarks {
            self.warn(&plain(&remark));
        }
        let agent = agent.map(|agent| ChatCommand::Agent(Some(agent)));
        let model = model.map(|model| ChatCommand::Model(Some(model.to_string())));
        for word in agent.into_iter().chain(model) {
            self.word(word, out).await?;
        }
        let session = self.begun(out).await?;
        let input = self.ids.input(SystemClock::local().now());
        // The model reads first what was sent before: then the screen shows both when they are read, in that order.
        let waits = self.screen.is_some() && !session.view().await?.inbox.pending.is_empty();
        if !waits {
            self.echo(&typed, out)?;
            self.interaction.show.typed(input.clone());
        }
        session.admit(NewInput { attachments, ..NewInput::steer(text).named(input.as_str()) }).await?;
        // Only now what takes a while: a prompt is not lost with the process.
        self.host.prepare_for(&session).await?;
        self.run(&session, RunGoal::Answer, out).await
    }
}
