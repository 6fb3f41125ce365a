//! `annals export`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::matching;
use crate::progress::Bar;
use crate::style::{counted, size};
use annals_core::SessionId;
use annals_store::EventLog;
use annals_store::exchange::{
    ExportError, Exported, OnProgress, Progress, WithholdRule, WithholdRules, export, export_withheld, reveal_texts,
};
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
    /// Withhold texts: tool:NAME (its calls), path:GLOB, text:REGEX, seq:N, seq:N-M or kind:KIND; may be repeated.
    ///
    /// A commitment replaces each such text and the hashes computed over it. The export still verifies as a whole.
    #[arg(long, value_name = "RULE")]
    withhold: Vec<WithholdRule>,
    /// Withhold all texts except these; may be repeated.
    #[arg(long, value_name = "RULE", conflicts_with = "withhold")]
    only: Vec<WithholdRule>,
    /// Write these texts and their keys instead, for `annals verify FILE --reveal`; may be repeated.
    #[arg(long, value_name = "RULE", conflicts_with_all = ["withhold", "only"])]
    reveal: Vec<WithholdRule>,
}

impl Args {
    async fn write(
        &self,
        log: &dyn EventLog,
        session: SessionId,
        out: &mut (dyn Write + Send),
        progress: OnProgress<'_>,
    ) -> Result<WrittenExport, ExportError> {
        if !self.reveal.is_empty() {
            let rules = WithholdRules::Withhold(self.reveal.clone());
            return reveal_texts(log, session, &rules, out).await.map(WrittenExport::Texts);
        }
        let rules = match (self.withhold.is_empty(), self.only.is_empty()) {
            (true, true) => return export(log, session, out, progress).await.map(WrittenExport::of),
            (_, true) => WithholdRules::Withhold(self.withhold.clone()),
            (_, false) => WithholdRules::Only(self.only.clone()),
        };
        export_withheld(log, session, &rules, out, progress).await.map(WrittenExport::of)
    }
}

/// What was written.
enum WrittenExport {
    Export(Box<Exported>),
    /// So many texts with their keys.
    Texts(u64),
}

impl WrittenExport {
    fn of(exported: Exported) -> Self {
        Self::Export(Box::new(exported))
    }

    /// Says what is withheld.
    fn remark(&self, cli: &CommandContext) {
        match self {
            Self::Export(exported) if exported.header.keys.is_none() => {
                cli.remark(&exported.texts.to_string());
                matching::remark_left(&exported.left, cli);
            }
            Self::Export(_) => {}
            Self::Texts(count) => cli.remark(&format!("{} with keys of their own", counted(*count, "text"))),
        }
    }

    /// Bad news if what was to be withheld is in it.
    fn verdict(&self) -> Verdict {
        Verdict::bad_if(matches!(self, Self::Export(exported) if !exported.left.is_empty()))
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = cli.find_to_export(&args.session).await?;
    let bar = Bar::new(cli.shows_progress() && args.file.is_some(), "exporting");
    let mut show = |progress: Progress| bar.update(progress.done, progress.total);
    let Some(path) = &args.file else {
        let written = args.write(&**reader.log(), session, out, &mut show).await?;
        written.remark(cli);
        return Ok(written.verdict());
    };
    let at = |source| CliError::File { path: path.clone(), source };
    // Next to its final place: a reader there sees a whole export or the former one.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = std::io::BufWriter::new(private(&part).map_err(at)?);
    let written = match args.write(&**reader.log(), session, &mut file, &mut show).await {
        Ok(written) => written,
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
    let bytes = std::fs::metadata(path).map_err(at)?.len();
    cli.remark(&format!("wrote {} to {}", size(bytes), path.display()));
    written.remark(cli);
    Ok(written.verdict())
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
