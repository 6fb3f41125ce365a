//! The commands: which there are, and how each is run.

use super::grouped::{DevCommand, SessionCommand};
use crate::command_context::CommandContext;
use crate::commands;
use crate::error::{CliError, Verdict};
use clap::Subcommand;
use std::future::{Future, ready};
use std::io::Write;
use std::pin::Pin;

/// The answer of a command, once it is polled.
pub(super) type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Verdict, CliError>> + 'a>>;

/// A command and its arguments, in the order of the help.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    Run(commands::run::Args),
    Chat(commands::chat::Args),
    Acp(commands::acp::Args),
    Record(commands::record::Args),
    Serve(commands::serve::Args),
    Tui(commands::tui::Args),
    Mcp(commands::mcp::Args),
    Models(commands::models::Args),
    Config(commands::config::Args),
    Import(commands::import::Args),
    #[command(visible_aliases = ["ls", "list"])]
    Sessions(commands::sessions::Args),
    Search(commands::search::Args),
    Sql(commands::sql::Args),
    #[command(visible_alias = "view")]
    Replay(commands::replay::Args),
    Transcript(commands::transcript::Args),
    Log(commands::log::Args),
    Show(commands::show::Args),
    Tree(commands::tree::Args),
    Usage(commands::usage::Args),
    Audit(commands::audit::Args),
    History(commands::history::Args),
    Context(commands::context::Args),
    Report(commands::report::Args),
    Requests(commands::requests::Args),
    Why(commands::why::Args),
    When(commands::when::Args),
    Diff(commands::diff::Args),
    Cache(commands::cache::Args),
    Compactions(commands::compactions::Args),
    Bisect(commands::bisect::Args),
    WhatIf(commands::what_if::Args),
    #[command(hide = true)]
    Tune(commands::what_if::over::Args),
    Fold(commands::fold::Args),
    Fork(commands::fork::Args),
    Files(commands::files::Args),
    Blame(commands::blame::Args),
    Revert(commands::revert::Args),
    Verify(commands::verify::Args),
    Export(commands::export::Args),
    Copy(commands::copy::Args),
    #[cfg(feature = "nats")]
    Store(commands::store::Args),
    Erase(commands::erase::Args),
    Forget(commands::erase::ForgetArgs),
    Retention(commands::retention::Args),
    Sign(commands::sign::Args),
    Prove(commands::prove::Args),
    Witness(commands::witness::Args),
    Doctor(commands::doctor::Args),
    Index(commands::index::Args),
    Rerun(commands::rerun::Args),
    Fixture(commands::fixture::Args),
    /// Move, title, pin or compact a session, or change what waits in it.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Test and describe what is built on Annals.
    #[command(subcommand)]
    Dev(DevCommand),
    #[command(flatten)]
    OldSession(SessionCommand),
    #[command(flatten)]
    OldDev(DevCommand),
}

impl Command {
    /// Whether a long answer is shown in a pager.
    pub(super) fn is_paged(&self) -> bool {
        match self {
            Self::Replay(args) => !args.is_live(),
            Self::Sql(args) => args.is_paged(),
            Self::Log(args) => !args.is_live(),
            Self::Dev(command) | Self::OldDev(command) => command.is_paged(),
            Self::Sessions(_)
            | Self::Tree(_)
            | Self::Search(_)
            | Self::Show(_)
            | Self::History(_)
            | Self::Transcript(_)
            | Self::Context(_)
            | Self::Requests(_)
            | Self::Diff(_)
            | Self::Files(_)
            | Self::Blame(_)
            | Self::WhatIf(_)
            | Self::Compactions(_)
            | Self::Audit(_)
            | Self::Why(_)
            | Self::When(_)
            | Self::Config(_)
            | Self::Models(_)
            | Self::Cache(_) => true,
            Self::Session(_)
            | Self::OldSession(_)
            | Self::Usage(_)
            | Self::Tune(_)
            | Self::Bisect(_)
            | Self::Fixture(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Copy(_)
            | Self::Report(_)
            | Self::Erase(_)
            | Self::Forget(_)
            | Self::Retention(_)
            | Self::Verify(_)
            | Self::Sign(_)
            | Self::Prove(_)
            | Self::Witness(_)
            | Self::Doctor(_)
            | Self::Index(_)
            | Self::Fold(_)
            | Self::Fork(_)
            | Self::Revert(_)
            | Self::Run(_)
            | Self::Chat(_)
            | Self::Record(_)
            | Self::Acp(_)
            | Self::Mcp(_)
            | Self::Serve(_)
            | Self::Tui(_)
            | Self::Rerun(_) => false,
            #[cfg(feature = "nats")]
            Self::Store(_) => false,
        }
    }

    /// Whether it is a question about sessions, which begins with what is new.
    pub(super) const fn asks_of_sessions(&self) -> bool {
        matches!(
            self,
            Self::Sessions(_)
                | Self::Search(_)
                | Self::Sql(_)
                | Self::Tree(_)
                | Self::Usage(_)
                | Self::Audit(_)
                | Self::Tui(_)
                | Self::Replay(_)
                | Self::Transcript(_)
                | Self::Log(_)
                | Self::Show(_)
                | Self::History(_)
                | Self::Context(_)
                | Self::Requests(_)
                | Self::Why(_)
                | Self::When(_)
                | Self::Diff(_)
                | Self::Cache(_)
                | Self::Compactions(_)
                | Self::Files(_)
                | Self::Blame(_)
                | Self::Report(_)
                | Self::Copy(_)
        )
    }

    /// Whether the answer is data whose exact bytes matter, or a program for a shell.
    pub(super) fn gives_bytes(&self) -> bool {
        match self {
            Self::Export(_) | Self::Fold(_) | Self::Acp(_) => true,
            Self::Dev(command) | Self::OldDev(command) => command.gives_bytes(),
            Self::Report(args) => args.gives_bytes(),
            Self::Requests(args) => args.gives_bytes(),
            Self::Prove(args) => args.gives_bytes(),
            Self::Witness(args) => args.gives_bytes(),
            _ => false,
        }
    }

    /// Whether it works on something that is unfinished when the reader of its answer is gone.
    pub(super) fn runs_a_session(&self) -> bool {
        match self {
            Self::Run(_) | Self::Chat(_) | Self::Rerun(_) => true,
            Self::Session(command) | Self::OldSession(command) => command.runs_a_session(),
            _ => false,
        }
    }

    /// What is said to a person who uses the old name of a command.
    pub(super) fn renamed(&self) -> Option<String> {
        let (old, new) = match self {
            Self::OldSession(command) => (command.name(), format!("session {}", command.name())),
            Self::OldDev(command) => (command.name(), format!("dev {}", command.name())),
            Self::Tune(_) => ("tune", "what-if --over".to_owned()),
            _ => return None,
        };
        Some(format!("`annals {old}` is now `annals {new}`"))
    }

    /// Runs the command.
    ///
    /// # Errors
    /// When the command gives no answer.
    ///
    /// The future is on the heap: those of all commands together would fill the stack of a thread.
    pub(super) fn run<'a>(&'a self, cli: &'a CommandContext, out: &'a mut (dyn Write + Send)) -> AnswerFuture<'a> {
        match self {
            Self::Run(args) => Box::pin(commands::run::run(args, cli, out)),
            Self::Chat(args) => Box::pin(commands::chat::run(args, cli, out)),
            Self::Acp(args) => Box::pin(commands::acp::run(args, cli, out)),
            Self::Record(args) => Box::pin(commands::record::run(args, cli, out)),
            Self::Serve(args) => Box::pin(commands::serve::run(args, cli, out)),
            Self::Tui(args) => Box::pin(commands::tui::run(args, cli)),
            Self::Mcp(args) => Box::pin(commands::mcp::run(args, cli, out)),
            Self::Models(args) => Box::pin(ready(commands::models::run(args, cli, out))),
            Self::Config(args) => Box::pin(ready(commands::config::run(args, cli, out))),
            Self::Import(args) => Box::pin(commands::import::run(args, cli, out)),
            Self::Sessions(args) => Box::pin(commands::sessions::run(args, cli, out)),
            Self::Search(args) => Box::pin(commands::search::run(args, cli, out)),
            Self::Sql(args) => Box::pin(commands::sql::run(args, cli, out)),
            Self::Replay(args) => Box::pin(commands::replay::run(args, cli, out)),
            Self::Transcript(args) => Box::pin(commands::transcript::run(args, cli, out)),
            Self::Log(args) => Box::pin(commands::log::run(args, cli, out)),
            Self::Show(args) => Box::pin(commands::show::run(args, cli, out)),
            Self::Tree(args) => Box::pin(commands::tree::run(args, cli, out)),
            Self::Usage(args) => Box::pin(commands::usage::run(args, cli, out)),
            Self::Audit(args) => Box::pin(commands::audit::run(args, cli, out)),
            Self::History(args) => Box::pin(commands::history::run(args, cli, out)),
            Self::Context(args) => Box::pin(commands::context::run(args, cli, out)),
            Self::Report(args) => Box::pin(commands::report::run(args, cli, out)),
            Self::Requests(args) => Box::pin(commands::requests::run(args, cli, out)),
            Self::Why(args) => Box::pin(commands::why::run(args, cli, out)),
            Self::When(args) => Box::pin(commands::when::run(args, cli, out)),
            Self::Diff(args) => Box::pin(commands::diff::run(args, cli, out)),
            Self::Blame(args) => Box::pin(commands::blame::run(args, cli, out)),
            Self::Files(args) => Box::pin(commands::files::run(args, cli, out)),
            Self::Cache(args) => Box::pin(commands::cache::run(args, cli, out)),
            Self::Compactions(args) => Box::pin(commands::compactions::run(args, cli, out)),
            Self::WhatIf(args) => Box::pin(commands::what_if::run(args, cli, out)),
            Self::Tune(args) => Box::pin(commands::what_if::over::run(args, cli, out)),
            Self::Bisect(args) => Box::pin(commands::bisect::run(args, cli, out)),
            Self::Fold(args) => Box::pin(commands::fold::run(args, cli, out)),
            Self::Fork(args) => Box::pin(commands::fork::run(args, cli, out)),
            Self::Revert(args) => Box::pin(commands::revert::run(args, cli, out)),
            Self::Verify(args) => Box::pin(commands::verify::run(args, cli, out)),
            Self::Export(args) => Box::pin(commands::export::run(args, cli, out)),
            Self::Copy(args) => Box::pin(commands::copy::run(args, cli, out)),
            #[cfg(feature = "nats")]
            Self::Store(args) => Box::pin(commands::store::run(args, cli, out)),
            Self::Erase(args) => Box::pin(commands::erase::run(args, cli, out)),
            Self::Forget(args) => Box::pin(commands::erase::run_forget(args, cli, out)),
            Self::Retention(args) => Box::pin(commands::retention::run(args, cli, out)),
            Self::Sign(args) => Box::pin(commands::sign::run(args, cli, out)),
            Self::Prove(args) => Box::pin(commands::prove::run(args, cli, out)),
            Self::Witness(args) => Box::pin(ready(commands::witness::run(args, cli, out))),
            Self::Index(args) => Box::pin(commands::index::run(args, cli, out)),
            Self::Doctor(args) => Box::pin(commands::doctor::run(args, cli, out)),
            Self::Rerun(args) => Box::pin(commands::rerun::run(args, cli, out)),
            Self::Fixture(args) => Box::pin(commands::fixture::run(args, cli, out)),
            Self::Session(command) | Self::OldSession(command) => command.run(cli, out),
            Self::Dev(command) | Self::OldDev(command) => command.run(cli, out),
        }
    }
}
