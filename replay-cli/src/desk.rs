//! What every command is given: where Sessions are, and how answers look.

use crate::error::CliError;
use crate::look::{Look, Tone};
use crate::place::Place;
use crate::reader::Reader;
use annals_core::{Seq, SessionId};
use annals_store::OpenMode;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// What every command is given.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The store.
    pub place: Place,
    /// A file that is read instead of the store.
    pub file: Option<PathBuf>,
    /// How answers look.
    pub look: Look,
    /// How remarks look.
    pub remarks: Look,
}

/// A Session, and a Cut of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The Session: its id, the beginning (or the end) of it, words of its title, or @last; or a FILE that holds one.
    #[arg(value_name = "SESSION", default_value = "@last")]
    pub session: String,
    /// Shows it as it was when event SEQ had happened (with the Batch that it landed in).
    #[arg(long, value_name = "SEQ")]
    pub at: Option<u64>,
}

/// A Session that was found: where to read it, and up to where.
pub struct Found {
    /// Where to read it.
    pub reader: Reader,
    /// Which.
    pub session: SessionId,
    /// The first Seq that is not in view.
    pub until: Seq,
}

impl Desk {
    /// Opens what is read: the file that was named, else the store, which is not made.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub async fn reader(&self) -> Result<Reader, CliError> {
        match &self.file {
            Some(file) => self.read_file(file).await,
            None => self.place.open(OpenMode::Existing),
        }
    }

    /// Reads a file into memory.
    async fn read_file(&self, path: &Path) -> Result<Reader, CliError> {
        let log = std::sync::Arc::new(annals_store::MemoryLog::new());
        annals_store::exchange::import_file(&*log, path, &mut |_| {})
            .await
            .map_err(|source| CliError::Import { path: path.to_owned(), source })?;
        Ok(Reader::new(log, path.to_owned()))
    }

    /// Finds a Session by name; a path to a file means the Session in it.
    ///
    /// # Errors
    /// When there is none, or the name fits several.
    pub async fn find(&self, name: &str) -> Result<(Reader, SessionId), CliError> {
        let path = Path::new(name);
        if self.file.is_none() && (name.contains('/') || path.is_file()) {
            let reader = self.read_file(path).await?;
            let session = reader.only().await?;
            return Ok((reader, session));
        }
        let reader = self.reader().await?;
        let session = reader.find(name).await?;
        Ok((reader, session))
    }

    /// Finds a Session and the Cut that a view of it is wanted at.
    ///
    /// # Errors
    /// See [`Desk::find`]; [`CliError::PastTheEnd`].
    pub async fn target(&self, target: &Target) -> Result<Found, CliError> {
        let (reader, session) = self.find(&target.session).await?;
        let until = reader.until(session, target.at.map(Seq)).await?;
        Ok(Found { reader, session, until })
    }

    /// Says something beside the answer, on stderr.
    pub fn remark(&self, text: &str) {
        let text = format!("{} {text}", self.remarks.paint(Tone::Dim, "annals:"));
        // Nobody may be left to read it; the answer does not depend on it.
        drop(writeln!(io::stderr(), "{text}"));
    }

    /// Whether progress is shown: a person watches stderr.
    pub fn shows_progress(&self) -> bool {
        io::stderr().is_terminal()
    }
}
