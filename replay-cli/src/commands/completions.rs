//! `annals completions`

use crate::error::{CliError, Verdict};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

/// Generate shell completions.
///
/// For bash: annals completions bash > ~/.local/share/bash-completion/completions/annals
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run<C: CommandFactory>(args: &Args, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "annals", &mut text);
    out.write_all(&text)?;
    Ok(Verdict::Fine)
}
