//! `annals prove`

use crate::command_context::CommandContext;
use crate::error::{CliError, SigningError, Verdict};
use crate::json;
use crate::style::Emphasis;
use annals_core::Seq;
use annals_inspect::signing::{check_proof, prove, witness_request};
use annals_store::OpenMode;
use annals_store::disk::StorePath;
use annals_store::signing::checkpoint::origin_of;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a proof that an event was part of what was signed.
///
/// The proof is checked without this store: `annals verify --proof FILE --allowed-signers FILE`. It names the session, the
/// batch that holds the event and its digest, and contains no text. With --since, writes instead what a witness needs that
/// has seen an earlier checkpoint.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION", default_value = "@last")]
    session: String,
    /// The event to prove (default: the last one that was signed).
    #[arg(long, value_name = "EVENT")]
    seq: Option<u64>,
    /// Prove that the newest checkpoint extends the one over SIZE heads, for `annals witness`.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["session", "seq"])]
    since: Option<u64>,
    /// The file to write (default: stdout).
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Args {
    /// Whether the answer is the content of a file.
    pub fn gives_bytes(&self) -> bool {
        self.output.is_none()
    }
}

/// Runs the command.
///
/// # Errors
/// When the event was not signed, or the store refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    cli.place.folder("annals prove")?;
    let reader = cli.store(OpenMode::ReadOnly).await?;
    let store = StorePath::from(cli.place.dir());
    let own = cli.store_id().map(origin_of).unwrap_or_default();
    if let Some(since) = args.since {
        let request = witness_request(&store, &own, since).map_err(SigningError::from)?;
        return write(args.output.as_deref(), &request.to_string(), out);
    }
    let session = cli.find_session(&reader, &args.session).await?;
    let wanted = (session, args.seq.map(Seq));
    let proof = prove(&**reader.log(), &store, &own, wanted).await.map_err(SigningError::from)?;
    write(args.output.as_deref(), &proof.to_string(), out)?;
    let Some(path) = &args.output else { return Ok(Verdict::Fine) };
    let proved = check_proof(&proof, None).map_err(SigningError::from)?;
    if cli.style.json {
        json::object(out, &proved)?;
        return Ok(Verdict::Fine);
    }
    let style = &cli.style;
    let (first, last) = (proved.first.0, proved.last.0);
    let events = if first == last { format!("event {first}") } else { format!("events {first} to {last}") };
    let mark = style.paint(Emphasis::Good, "✓");
    writeln!(out, "{mark} session {session}, {events}: covered by checkpoint {} of {}", proved.size, proved.origin)?;
    cli.remark(&format!("to verify: annals verify --proof {} --allowed-signers FILE", path.display()));
    Ok(Verdict::Fine)
}

/// Writes a text to a file, as a whole, or to the answer.
pub(super) fn write(path: Option<&Path>, text: &str, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let Some(path) = path else {
        out.write_all(text.as_bytes())?;
        return Ok(Verdict::Fine);
    };
    let at = |source| CliError::File { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(at)?;
    file.write_all(text.as_bytes()).map_err(at)?;
    file.persist(path).map_err(|error| at(error.error))?;
    Ok(Verdict::Fine)
}
