//! The commands: which there are, and how each is run.

use super::App;
use crate::command_context::CommandContext;
use crate::commands;
use crate::error::{CliError, Verdict};
use clap::{CommandFactory, Subcommand};
use std::io::Write;

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
    Compact(commands::compact::Args),
    Bisect(commands::bisect::Args),
    WhatIf(commands::what_if::Args),
    Tune(commands::tune::Args),
    Fold(commands::fold::Args),
    Fork(commands::fork::Args),
    Files(commands::files::Args),
    Blame(commands::blame::Args),
    Revert(commands::revert::Args),
    Move(commands::move_session::Args),
    Inbox(commands::inbox::Args),
    Title(commands::title::Args),
    Pin(commands::pin::Args),
    Unpin(commands::pin::UnpinArgs),
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
    Lab(commands::lab::Args),
    Scenario(commands::scenario::Args),
    Fixture(commands::fixture::Args),
    Certify(commands::certify::Args),
    Schema(commands::schema::Args),
    Completions(commands::completions::Args),
}

impl Command {
    /// Whether a long answer is shown in a pager.
    pub(super) fn is_paged(&self) -> bool {
        match self {
            Self::Replay(args) => !args.is_live(),
            Self::Sql(args) => args.is_paged(),
            Self::Log(args) => !args.is_live(),
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
            | Self::Schema(_)
            | Self::Why(_)
            | Self::When(_)
            | Self::Config(_)
            | Self::Models(_)
            | Self::Cache(_) => true,
            Self::Usage(_)
            | Self::Tune(_)
            | Self::Bisect(_)
            | Self::Fixture(_)
            | Self::Certify(_)
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
            | Self::Completions(_)
            | Self::Fold(_)
            | Self::Fork(_)
            | Self::Move(_)
            | Self::Inbox(_)
            | Self::Compact(_)
            | Self::Title(_)
            | Self::Revert(_)
            | Self::Pin(_)
            | Self::Unpin(_)
            | Self::Scenario(_)
            | Self::Run(_)
            | Self::Chat(_)
            | Self::Record(_)
            | Self::Acp(_)
            | Self::Mcp(_)
            | Self::Serve(_)
            | Self::Tui(_)
            | Self::Lab(_)
            | Self::Rerun(_) => false,
            #[cfg(feature = "nats")]
            Self::Store(_) => false,
        }
    }

    /// Whether the answer is data whose exact bytes matter, or a program for a shell.
    pub(super) fn gives_bytes(&self) -> bool {
        match self {
            Self::Export(_) | Self::Fold(_) | Self::Completions(_) | Self::Acp(_) => true,
            Self::Report(args) => args.gives_bytes(),
            Self::Requests(args) => args.gives_bytes(),
            Self::Prove(args) => args.gives_bytes(),
            Self::Witness(args) => args.gives_bytes(),
            _ => false,
        }
    }

    /// Whether it works on something that is unfinished when the reader of its answer is gone.
    pub(super) fn runs_a_session(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Chat(_) | Self::Rerun(_) | Self::Compact(_))
    }

    /// Runs the command.
    ///
    /// # Errors
    /// When the command gives no answer.
    pub(super) async fn run(&self, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
        match self {
            Self::Run(args) => commands::run::run(args, cli, out).await,
            Self::Chat(args) => commands::chat::run(args, cli, out).await,
            Self::Acp(args) => commands::acp::run(args, cli, out).await,
            Self::Record(args) => commands::record::run(args, cli, out).await,
            Self::Serve(args) => commands::serve::run(args, cli, out).await,
            Self::Tui(args) => commands::tui::run(args, cli).await,
            Self::Mcp(args) => commands::mcp::run(args, cli, out).await,
            Self::Models(args) => commands::models::run(args, cli, out),
            Self::Config(args) => commands::config::run(args, cli, out),
            Self::Import(args) => commands::import::run(args, cli, out).await,
            Self::Sessions(args) => commands::sessions::run(args, cli, out).await,
            Self::Search(args) => commands::search::run(args, cli, out).await,
            Self::Sql(args) => commands::sql::run(args, cli, out).await,
            Self::Replay(args) => commands::replay::run(args, cli, out).await,
            Self::Transcript(args) => commands::transcript::run(args, cli, out).await,
            Self::Log(args) => commands::log::run(args, cli, out).await,
            Self::Show(args) => commands::show::run(args, cli, out).await,
            Self::Tree(args) => commands::tree::run(args, cli, out).await,
            Self::Usage(args) => commands::usage::run(args, cli, out).await,
            Self::Audit(args) => commands::audit::run(args, cli, out).await,
            Self::History(args) => commands::history::run(args, cli, out).await,
            Self::Context(args) => commands::context::run(args, cli, out).await,
            Self::Report(args) => commands::report::run(args, cli, out).await,
            Self::Requests(args) => commands::requests::run(args, cli, out).await,
            Self::Why(args) => commands::why::run(args, cli, out).await,
            Self::When(args) => commands::when::run(args, cli, out).await,
            Self::Diff(args) => commands::diff::run(args, cli, out).await,
            Self::Blame(args) => commands::blame::run(args, cli, out).await,
            Self::Files(args) => commands::files::run(args, cli, out).await,
            Self::Cache(args) => commands::cache::run(args, cli, out).await,
            Self::Compactions(args) => commands::compactions::run(args, cli, out).await,
            Self::Compact(args) => commands::compact::run(args, cli, out).await,
            Self::Title(args) => commands::title::run(args, cli, out).await,
            Self::WhatIf(args) => commands::what_if::run(args, cli, out).await,
            Self::Tune(args) => commands::tune::run(args, cli, out).await,
            Self::Bisect(args) => commands::bisect::run(args, cli, out).await,
            Self::Fold(args) => commands::fold::run(args, cli, out).await,
            Self::Fork(args) => commands::fork::run(args, cli, out).await,
            Self::Revert(args) => commands::revert::run(args, cli, out).await,
            Self::Move(args) => commands::move_session::run(args, cli, out).await,
            Self::Inbox(args) => commands::inbox::run(args, cli, out).await,
            Self::Pin(args) => commands::pin::run(args, cli).await,
            Self::Unpin(args) => commands::pin::run_unpin(args, cli).await,
            Self::Verify(args) => commands::verify::run(args, cli, out).await,
            Self::Export(args) => commands::export::run(args, cli, out).await,
            Self::Copy(args) => commands::copy::run(args, cli, out).await,
            #[cfg(feature = "nats")]
            Self::Store(args) => commands::store::run(args, cli, out).await,
            Self::Erase(args) => commands::erase::run(args, cli, out).await,
            Self::Forget(args) => commands::erase::run_forget(args, cli, out).await,
            Self::Retention(args) => commands::retention::run(args, cli, out).await,
            Self::Sign(args) => commands::sign::run(args, cli, out).await,
            Self::Prove(args) => commands::prove::run(args, cli, out).await,
            Self::Witness(args) => commands::witness::run(args, cli, out),
            Self::Index(args) => commands::index::run(args, cli, out).await,
            Self::Doctor(args) => commands::doctor::run(args, cli, out).await,
            Self::Rerun(args) => commands::rerun::run(args, cli, out).await,
            Self::Lab(args) => commands::lab::run(args, cli, out).await,
            Self::Scenario(args) => commands::scenario::run(args, cli, out).await,
            Self::Fixture(args) => commands::fixture::run(args, cli, out).await,
            Self::Certify(args) => commands::certify::run(args, cli, out).await,
            Self::Schema(args) => commands::schema::run(args, cli, out),
            Self::Completions(args) => commands::completions::run(args, App::command(), cli, out),
        }
    }
}
