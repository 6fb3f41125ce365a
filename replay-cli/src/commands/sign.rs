//! `annals sign`

use crate::command_context::CommandContext;
use crate::error::{CliError, SigningError, Verdict};
use crate::json;
use crate::style::{Emphasis, counted};
use annals_host::key_file;
use annals_inspect::signing::{NewCheckpoint, SignedCheckpointFile, merge_signatures, sign};
use annals_store::SessionHead;
use annals_store::signing::checkpoint::{SignedCheckpoint, origin_of};
use annals_store::signing::folder::TreeFolder;
use annals_store::signing::key::NoteKeyKind;
use annals_store::signing::key_file::{self as key_files, SigningKey};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Sign session heads, to prove later that nothing changed.
///
/// Writes a checkpoint: one signature over the last event and digest of every session. `annals verify --signed` proves that
/// the store continues it, `annals prove` that an event was part of it. Appends nothing to any session. Without SESSION,
/// signs every session that has grown since the last checkpoint.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Sessions to sign: ids, starts or ends of ids, words of titles, or @last (default: all).
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// The key: an SSH key, a .pub file for a key in your ssh-agent or on a security key, or a key made with --new-key.
    ///
    /// Default: `sign.key` of your configuration, else ~/.ssh/id_ed25519.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Create a key in FILE, print its public part, and sign nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sessions", "key", "add"])]
    new_key: Option<PathBuf>,
    /// The name of the new key, without spaces; a domain that you own makes it unique.
    #[arg(long, value_name = "NAME", default_value = "annals", requires = "new_key")]
    name: String,
    /// Add the signatures in FILE, such as those of a witness, to the checkpoint of this store that they sign.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sessions", "key"])]
    add: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When a session does not continue what was signed, or the key or the disk refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(path) = &args.new_key {
        return new_key(path, &args.name, NoteKeyKind::Note, cli, out);
    }
    let (reader, store) = cli.store_to_sign().await?;
    let folder = TreeFolder::new(reader.folder(), store);
    if let Some(path) = &args.add {
        let text = std::fs::read_to_string(path).map_err(|source| CliError::File { path: path.clone(), source })?;
        let note: SignedCheckpoint =
            text.parse().map_err(|source| SigningError::Checkpoint { path: path.clone(), source })?;
        let added = merge_signatures(&folder, &note).await.map_err(SigningError::from)?;
        let added = added.ok_or_else(|| SigningError::NotOfThisStore { path: path.clone() })?;
        writeln!(out, "signatures added to {}", added.display())?;
        return Ok(Verdict::Fine);
    }
    let mut sessions: Vec<SessionHead> = Vec::new();
    for name in &args.sessions {
        let session = cli.find_session(&reader, name).await?;
        sessions.push(SessionHead { session, head: reader.head(session).await? });
    }
    if args.sessions.is_empty() {
        sessions = reader.log().sessions().all().await?;
    }
    let key = load_key(args.key.as_deref(), cli)?;
    let new = NewCheckpoint {
        log: &**reader.log(),
        folder: &folder,
        origin: origin_of(store),
        sessions,
        signer: key.allowed_signer(),
    };
    let signed = sign(new, &mut key_files::random, |head| key.sign(&head.origin, &head.to_string()))
        .await
        .map_err(SigningError::from)?;
    if cli.style.json {
        json::object(out, &signed)?;
    } else {
        draw(&signed, &key, cli, out)?;
    }
    Ok(Verdict::Fine)
}

/// The key that was named, else the one that is configured, else the user's usual SSH key.
fn load_key(named: Option<&Path>, cli: &CommandContext) -> Result<SigningKey, CliError> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => key_file(&cli.environment.config(&cli.environment.directory)?.signing(), cli)?,
    };
    Ok(SigningKey::load(&path).map_err(SigningError::from)?)
}

/// Creates a key and shows its public part.
pub(super) fn new_key(
    path: &Path,
    name: &str,
    kind: NoteKeyKind,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let public = key_files::create(path, name, kind).map_err(SigningError::from)?;
    if cli.style.json {
        json::object(out, &serde_json::json!({"file": path, "public_key": public}))?;
    } else {
        writeln!(out, "{public}")?;
        cli.remark(&format!("the secret key is in {}; give the public key to those who verify", path.display()));
    }
    Ok(Verdict::Fine)
}

fn draw(
    signed: &SignedCheckpointFile,
    key: &SigningKey,
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let style = &cli.style;
    let SignedCheckpointFile { origin, size, new_heads, checkpoint, written, .. } = signed;
    if !written {
        writeln!(out, "nothing new since checkpoint {size}, which this key has signed")?;
        return Ok(());
    }
    let heads = match new_heads {
        0 => "no new head".to_owned(),
        count => counted(*count, "new head"),
    };
    writeln!(out, "{} {heads} signed: checkpoint {size} of {origin}", style.paint(Emphasis::Good, "✓"))?;
    writeln!(out, "  {checkpoint}")?;
    writeln!(out, "  key {}", key.shown())?;
    cli.remark("keep a copy elsewhere: `annals verify --signed --checkpoint FILE` then finds what was removed as well");
    Ok(())
}
