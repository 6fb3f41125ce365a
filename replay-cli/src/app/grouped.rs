//! The commands below `annals session` and `annals dev`.

use super::command::AnswerFuture;
use super::help;
use crate::command_context::CommandContext;
use crate::commands;
use clap::Subcommand;
use std::future::ready;
use std::io::Write;

/// What changes one session.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum SessionCommand {
    Move(commands::move_session::Args),
    Inbox(commands::inbox::Args),
    Title(commands::title::Args),
    Pin(commands::pin::Args),
    Unpin(commands::pin::UnpinArgs),
    Compact(commands::compact::Args),
}

/// What serves those who build agents, views and scenarios.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum DevCommand {
    Lab(commands::lab::Args),
    Scenario(commands::scenario::Args),
    Certify(commands::certify::Args),
    Schema(commands::schema::Args),
    Completions(commands::completions::Args),
}

impl SessionCommand {
    /// The name of the command.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Move(_) => "move",
            Self::Inbox(_) => "inbox",
            Self::Title(_) => "title",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::Compact(_) => "compact",
        }
    }

    /// Whether it works on something that is unfinished when the reader of its answer is gone.
    pub(super) fn runs_a_session(&self) -> bool {
        matches!(self, Self::Compact(_))
    }

    /// Runs the command.
    pub(super) fn run<'a>(&'a self, cli: &'a CommandContext, out: &'a mut (dyn Write + Send)) -> AnswerFuture<'a> {
        match self {
            Self::Move(args) => Box::pin(commands::move_session::run(args, cli, out)),
            Self::Inbox(args) => Box::pin(commands::inbox::run(args, cli, out)),
            Self::Title(args) => Box::pin(commands::title::run(args, cli, out)),
            Self::Pin(args) => Box::pin(commands::pin::run(args, cli)),
            Self::Unpin(args) => Box::pin(commands::pin::run_unpin(args, cli)),
            Self::Compact(args) => Box::pin(commands::compact::run(args, cli, out)),
        }
    }
}

impl DevCommand {
    /// The name of the command.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Lab(_) => "lab",
            Self::Scenario(_) => "scenario",
            Self::Certify(_) => "certify",
            Self::Schema(_) => "schema",
            Self::Completions(_) => "completions",
        }
    }

    /// Whether a long answer is shown in a pager.
    pub(super) fn is_paged(&self) -> bool {
        matches!(self, Self::Schema(_))
    }

    /// Whether the answer is a program for a shell.
    pub(super) fn gives_bytes(&self) -> bool {
        matches!(self, Self::Completions(_))
    }

    /// Runs the command.
    pub(super) fn run<'a>(&'a self, cli: &'a CommandContext, out: &'a mut (dyn Write + Send)) -> AnswerFuture<'a> {
        match self {
            Self::Lab(args) => Box::pin(commands::lab::run(args, cli, out)),
            Self::Scenario(args) => Box::pin(commands::scenario::run(args, cli, out)),
            Self::Certify(args) => Box::pin(commands::certify::run(args, cli, out)),
            Self::Schema(args) => Box::pin(ready(commands::schema::run(args, cli, out))),
            Self::Completions(args) => {
                Box::pin(ready(commands::completions::run(args, help::with_new_names(), cli, out)))
            }
        }
    }
}
