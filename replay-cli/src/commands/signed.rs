//! What `annals verify` answers about signatures: `--signed` and `--proof`.

use crate::command_context::CommandContext;
use crate::draw::signatures;
use crate::error::{CliError, EditError, SigningError, Verdict};
use crate::json;
use crate::style::Emphasis;
use annals_core::SessionId;
use annals_inspect::reader::Reader;
use annals_inspect::signing::{
    MissingBatch, ProvedBatch, SignedCheck, SignedStore, check_proof, find_proved, verify_signed,
};
use annals_store::disk::StorePath;
use annals_store::signing::checkpoint::SignedCheckpoint;
use annals_store::signing::proof::InclusionProof;
use annals_store::signing::signers::AllowedSigners;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options about signatures.
#[derive(Clone, Debug, clap::Args)]
pub struct SignedArgs {
    /// Also verify that the store continues what was signed with `annals sign`.
    #[arg(long)]
    pub signed: bool,
    /// The keys that count: OpenSSH's allowed signers, or public keys of `annals sign` (default: those kept in the store).
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// A checkpoint that you kept elsewhere; fail if the store does not continue it.
    #[arg(long, value_name = "FILE", requires = "signed")]
    checkpoint: Option<PathBuf>,
    /// Verify a proof of `annals prove`; with WHAT, also that WHAT contains what is proved. Without --allowed-signers no signature is
    /// verified, so that nothing is proved: exit status 1.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["signed", "requests", "head"])]
    proof: Option<PathBuf>,
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| CliError::File { path: path.to_owned(), source })
}

/// Reads a file of allowed signers.
///
/// # Errors
/// When no key in it can be used.
pub(super) fn allowed_signers(path: &Path) -> Result<AllowedSigners, CliError> {
    let signers = AllowedSigners::parse(&read(path)?);
    if signers.is_empty() {
        let why = signers.ignored.first().map(|(line, why)| format!("line {line}: {why}"));
        return Err(SigningError::NoSigners { path: path.to_owned(), why }.into());
    }
    Ok(signers)
}

impl SignedArgs {
    /// The file with the proof that is to be verified.
    pub fn proof(&self) -> Option<&Path> {
        self.proof.as_deref()
    }

    fn signers(&self) -> Result<Option<AllowedSigners>, CliError> {
        self.allowed_signers.as_deref().map(allowed_signers).transpose()
    }

    /// Compares the store, or one session of it, with what was signed.
    ///
    /// # Errors
    /// When nothing was signed, or a file cannot be read.
    pub async fn compare(
        &self,
        cli: &CommandContext,
        reader: &Reader,
        session: Option<SessionId>,
    ) -> Result<Option<SignedStore>, CliError> {
        if !self.signed {
            return Ok(None);
        }
        if let Some(file) = &cli.file {
            return Err(EditError::OnlyInTheStore { file: file.clone() }.into());
        }
        let kept = match &self.checkpoint {
            None => None,
            Some(path) => {
                let parsed: Result<SignedCheckpoint, _> = read(path)?.parse();
                Some(parsed.map_err(|source| SigningError::Checkpoint { path: path.clone(), source })?)
            }
        };
        let (signers, store) = (self.signers()?, StorePath::from(cli.place.dir()));
        let check = SignedCheck {
            log: &**reader.log(),
            store: &store,
            session,
            signers: signers.as_ref(),
            kept: kept.as_ref(),
        };
        Ok(Some(verify_signed(check).await.map_err(SigningError::from)?))
    }

    /// Verifies a proof, and that a log, if one is given, contains what is proved.
    ///
    /// # Errors
    /// When a file cannot be read. A proof that does not hold is an answer.
    pub async fn verify_proof(
        &self,
        path: &Path,
        what: Option<&str>,
        cli: &CommandContext,
        out: &mut (dyn Write + Send),
    ) -> Result<Verdict, CliError> {
        let (text, signers) = (read(path)?, self.signers()?);
        let checked =
            text.parse::<InclusionProof>().map_err(Into::into).and_then(|it| check_proof(&it, signers.as_ref()));
        let mut problem = checked.as_ref().err().map(ToString::to_string);
        if let (Ok(proved), Some(what)) = (&checked, what) {
            problem = missing(proved, what, cli).await?;
        }
        // Anyone can make a checkpoint: without a key that counts nothing is proved.
        let unproved = problem.is_none() && signers.is_none();
        if cli.style.json {
            let problem = problem.clone().or_else(|| unproved.then(|| "signatures not verified".to_owned()));
            json::object(out, &serde_json::json!({"proved": checked.ok(), "problem": problem}))?;
        } else {
            let style = &cli.style;
            match (&problem, &checked) {
                (None, Ok(proved)) => signatures::proof(proved, what, &cli.terminal(), out)?,
                (problem, _) => {
                    let problem = problem.as_deref().unwrap_or_default();
                    writeln!(out, "{} {}: {problem}", style.paint(Emphasis::Bad, "✗"), path.display())?;
                }
            }
        }
        Ok(Verdict::bad_if(problem.is_some() || unproved))
    }
}

/// Why a session does not contain what is proved; `None` when it does.
async fn missing(proved: &ProvedBatch, what: &str, cli: &CommandContext) -> Result<Option<String>, CliError> {
    let (reader, session) = cli.find(what).await?;
    let missing = find_proved(&**reader.log(), session, proved).await.map_err(SigningError::from)?;
    Ok(missing.map(|missing| match missing {
        MissingBatch::OtherSession => {
            format!("the proof is about session {}, {what} is session {session}", proved.session)
        }
        MissingBatch::OtherBatch => {
            format!("session {session}: event {} is not the one that was signed", proved.last)
        }
    }))
}
