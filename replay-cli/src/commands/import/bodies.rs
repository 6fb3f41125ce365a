//! Folders with raw bodies of Claude Code, which are recorded.

use super::Args;
use crate::command_context::CommandContext;
use crate::commands::record::{print, summarise};
use crate::error::{CliError, RecordingError, Verdict};
use crate::layout::plain;
use crate::style::counted;
use annals_core::event::Location;
use annals_record::{RawBodies, RecorderSettings};
use annals_runtime::host::Leases;
use annals_runtime::ports::{SeededIds, SystemClock};
use annals_store::OpenMode;
use annals_store::views::Views;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// The folders with bodies among what was named, and the arguments without them.
pub(super) fn split(args: &Args) -> (Vec<PathBuf>, Args) {
    let (folders, files) = args.files.iter().cloned().partition(|path| RawBodies::are_in(path));
    (folders, Args { files, ..args.clone() })
}

/// Records the bodies of each folder.
pub(super) async fn import(
    folders: &[PathBuf],
    args: &Args,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let mut bad = false;
    for folder in folders {
        let bodies = RawBodies::read(folder).map_err(RecordingError::from)?;
        let found = format!("{}: {} of Claude Code", folder.display(), counted(bodies.requests() as u64, "request"));
        if args.dry_run || args.discover {
            cli.remark(&plain(&found));
            continue;
        }
        let reader = cli.store(OpenMode::Create).await?;
        let here = || cli.environment.directory.to_string_lossy().into_owned();
        let directory = bodies.directory().unwrap_or_else(here);
        let config = cli.environment.config(&cli.environment.directory)?;
        let settings = RecorderSettings {
            agent: "claude-code".to_owned(),
            location: Location { directory, workspace: None },
            process: None,
            redactor: config.redactor().unwrap_or_default(),
            keep_answers: true,
            files: None,
            upstreams: Vec::new(),
            views: Views::new(reader.log().clone(), reader.saved().cloned()),
            leases: Some(Arc::new(Leases::of(&**reader.log(), reader.folder().clone()))),
            observer: None,
            clock: Arc::new(SystemClock::local()),
            ids: Arc::new(SeededIds::from_entropy().map_err(std::io::Error::other)?),
        };
        let report = bodies.record(reader.log().clone(), settings).await.map_err(RecordingError::from)?;
        bad |= report.missed > 0;
        match report.sessions.is_empty() && report.missed == 0 {
            true => cli.remark(&plain(&format!("{found}; nothing is new"))),
            false => summarise(&report, cli),
        }
        if cli.style.json {
            print(&report, out)?;
        }
    }
    Ok(Verdict::bad_if(bad))
}
