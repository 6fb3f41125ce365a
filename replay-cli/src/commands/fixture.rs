//! `annals fixture`

use crate::desk::{Desk, Target};
use crate::error::{CliError, Verdict};
use crate::questions::{Past, certify};
use std::io::Write;
use std::path::PathBuf;

/// Writes golden files of every view of a Session, for a repository's own tests.
///
/// One file a view (`history.json`, `requests.json`, ...) in its public JSON form, and `certificate.json` with the digest
/// of each. The same Session always gives the same bytes.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The folder to write to; made if it is not there.
    #[arg(long, short = 'o', value_name = "DIR")]
    output: PathBuf,
    /// Replaces files that are there already.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// When a file is there already, the Session cannot be read or the output refuses.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let past = Past::from(&desk.target(&args.target).await?);
    let written = certify::write_goldens(&past, &args.output, args.force).await?;
    if desk.look.json {
        crate::json::object(out, &written)?;
    } else {
        written.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
    }
    Ok(Verdict::Fine)
}
