//! `annals export`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::progress::Bar;
use crate::style::size;
use annals_store::exchange::export;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Export a session as JSON lines that anyone can verify.
///
/// The export holds every event and blob of the session, those of its parent included if it is a fork. `annals
/// import` reads it back, `annals verify FILE` checks it. fixtures/FORMAT.md describes the format; a checker takes
/// about twenty lines in another language.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION", default_value = "@last")]
    session: String,
    /// The file to write (default: stdout). An existing file is replaced once the export is complete.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read, a blob of it is missing, or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = cli.find(&args.session).await?;
    let bar = Bar::new(cli.shows_progress() && args.file.is_some(), "exporting");
    let mut tell = |progress: annals_store::exchange::Progress| bar.tell(progress.done, progress.total);
    let Some(path) = &args.file else {
        export(&**reader.log(), session, out, &mut tell).await?;
        return Ok(Verdict::Fine);
    };
    let at = |source| CliError::File { path: path.clone(), source };
    // Next to its final place: a reader there sees a whole export or the former one.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = std::io::BufWriter::new(private(&part).map_err(at)?);
    let exported = match export(&**reader.log(), session, &mut file, &mut tell).await {
        Ok(exported) => exported,
        Err(error) => {
            drop(file);
            std::fs::remove_file(&part).map_err(at)?;
            return Err(error.into());
        }
    };
    let file = file.into_inner().map_err(|error| at(error.into_error()))?;
    file.sync_all().map_err(at)?;
    std::fs::rename(&part, path).map_err(at)?;
    bar.clear();
    cli.remark(&format!("wrote {} to {}", size(exported.bytes), path.display()));
    Ok(Verdict::Fine)
}

/// A new file for the user alone, with every umask: a session may contain anything. A leftover of an interrupted export is
/// removed.
fn private(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}
