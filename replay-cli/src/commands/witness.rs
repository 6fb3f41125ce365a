//! `annals witness`

use super::prove::write;
use super::sign::new_key;
use super::signed::allowed_signers;
use crate::command_context::CommandContext;
use crate::error::{CliError, SigningError, Verdict};
use crate::json;
use crate::style::Emphasis;
use annals_inspect::signing::witness;
use annals_store::signing::key::NoteKeyKind;
use annals_store::signing::key_file;
use annals_store::signing::witness::WitnessRequest;
use etcetera::BaseStrategy;
use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Co-sign the checkpoint of another store, if it only grew.
///
/// CHECKPOINT is a file of `annals sign`, or what `annals prove --since SIZE` writes once you have signed an earlier one.
/// It must be signed by an allowed signer and extend the last checkpoint that you have seen from its store. The owner adds
/// your signature with `annals sign --add FILE`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The checkpoint, or the proof that it extends an earlier one.
    #[arg(value_name = "CHECKPOINT", required_unless_present = "new_key")]
    checkpoint: Option<PathBuf>,
    /// Your key, made with --new-key.
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    key: Option<PathBuf>,
    /// The keys of those whose checkpoints you counter-sign: OpenSSH's allowed signers, or public keys of `annals sign`.
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    allowed_signers: Option<PathBuf>,
    /// The file to write, with your signature added (default: stdout).
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The folder that keeps the last checkpoint of each store (default: annals-witness in the user's data folder).
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Create a key in FILE, print its public part, and sign nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["checkpoint", "key", "allowed_signers"])]
    new_key: Option<PathBuf>,
    /// The name of the new key, without spaces; a domain that you own makes it unique.
    #[arg(long, value_name = "NAME", default_value = "annals-witness", requires = "new_key")]
    name: String,
}

impl Args {
    /// Whether the answer is the content of a file.
    pub fn gives_bytes(&self) -> bool {
        self.output.is_none() && self.new_key.is_none()
    }
}

/// Runs the command.
///
/// # Errors
/// When the checkpoint is not signed as it should be, or does not extend what was seen.
pub fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(path) = &args.new_key {
        return new_key(path, &args.name, NoteKeyKind::Cosignature, cli, out);
    }
    let (Some(path), Some(key), Some(signers)) = (&args.checkpoint, &args.key, &args.allowed_signers) else {
        return Ok(Verdict::BadNews); // The arguments are required above.
    };
    let text = std::fs::read_to_string(path).map_err(|source| CliError::File { path: path.clone(), source })?;
    let request: WitnessRequest =
        text.parse().map_err(|source| SigningError::Checkpoint { path: path.clone(), source })?;
    let key = key_file::note_key(key).map_err(SigningError::from)?;
    let records = match &args.records {
        Some(dir) => dir.clone(),
        None => etcetera::choose_base_strategy().map_err(|_| CliError::NoPlace)?.data_dir().join("annals-witness"),
    };
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let signed = witness(&request, &allowed_signers(signers)?, &key, &records, time).map_err(SigningError::from)?;
    let (witnessed, checkpoint) = signed;
    write(args.output.as_deref(), &checkpoint.to_string(), out)?;
    if args.output.is_none() {
        return Ok(Verdict::Fine);
    }
    if cli.style.json {
        json::object(out, &witnessed)?;
        return Ok(Verdict::Fine);
    }
    let mark = cli.style.paint(Emphasis::Good, "✓");
    let since = match witnessed.seen {
        Some(seen) if seen == witnessed.size => "seen before".to_owned(),
        Some(seen) => format!("extends checkpoint {seen}"),
        None => "the first one seen".to_owned(),
    };
    writeln!(out, "{mark} checkpoint {} of {} counter-signed ({since})", witnessed.size, witnessed.origin)?;
    Ok(Verdict::Fine)
}
