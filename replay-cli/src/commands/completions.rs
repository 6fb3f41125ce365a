//! `annals dev completions`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::style::counted;
use clap::Command;
use clap_complete::Shell;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The variable by which a shell asks for completions.
pub const VARIABLE: &str = "COMPLETE";

/// Generate shell completions and man pages.
///
/// The completions offer the ids of your sessions, too. For bash:
/// annals dev completions bash > ~/.local/share/bash-completion/completions/annals
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum, required_unless_present = "man")]
    shell: Option<Shell>,
    /// Write a man page of each command to DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

/// Runs the command; `command` is the whole command line.
///
/// # Errors
/// When a man page cannot be written.
pub fn run(
    args: &Args,
    command: Command,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    if let Some(folder) = &args.man {
        let folder = cli.environment.directory.join(folder);
        let count = man_pages(command, &folder).map_err(|source| CliError::File { path: folder.clone(), source })?;
        cli.remark(&format!("{} written to {}", counted(count, "man page"), folder.display()));
        return Ok(Verdict::Fine);
    }
    let mut text = Vec::new();
    let completer: &dyn EnvCompleter = match args.shell {
        Some(Shell::Bash) => &Bash,
        Some(Shell::Zsh) => &Zsh,
        Some(Shell::Fish) => &Fish,
        Some(Shell::Elvish) => &Elvish,
        Some(Shell::PowerShell) => &Powershell,
        Some(_) | None => return Ok(Verdict::Fine),
    };
    completer.write_registration(VARIABLE, "annals", "annals", "annals", &mut text)?;
    out.write_all(&text)?;
    Ok(Verdict::Fine)
}

/// Writes `annals.1`, and `annals-COMMAND.1` for each command below it; returns how many.
fn man_pages(command: Command, folder: &Path) -> io::Result<u64> {
    std::fs::create_dir_all(folder)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut count = 0;
    let mut left = vec![("annals".to_owned(), command)];
    while let Some((name, command)) = left.pop() {
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        left.extend(below.map(|below| (format!("{name}-{}", below.get_name()), below.clone())));
        let mut page = Vec::new();
        clap_mangen::Man::new(command).title(name.clone()).render(&mut page)?;
        std::fs::write(folder.join(format!("{name}.1")), page)?;
        count += 1;
    }
    Ok(count)
}
