//! `annals files`

mod replayed;
mod written;

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, FilesQuestionError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::event::{FilesEvent, StepEvent};
use annals_core::{Event, Record, Seq};
use annals_inspect::blame::CapturedContents;
use annals_runtime::worktree::{Changes, FilesError, Tree, TreeEntries, TreeEntry};
use annals_tools::worktree::CapturedFiles;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use written::{WrittenFile, WrittenKind};

/// Show the files of the project at an event.
///
/// Files are captured by `annals run` and `annals chat` in a git worktree at each step, and by `annals record --files` at
/// each request. Of a session without captures (imported ones), the files that its calls wrote, edited or showed are
/// replayed, and what is inferred is said. Without PATH the files are listed; a file is written as it was, and of a
/// folder the files below it are listed. `annals blame` shows who wrote a line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// A file or folder, below the root of the worktree.
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// Show what changed since EVENT.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    diff: Option<EventArg>,
    /// Write the files into DIR, which must be empty or not exist.
    #[arg(long, value_name = "DIR", conflicts_with = "diff")]
    to: Option<PathBuf>,
}

/// A capture, and the event that names it.
#[derive(Clone, Debug)]
struct NamedCapture {
    seq: Seq,
    tree: Tree,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let path = args.path.as_deref().map(|path| path.trim_start_matches("./").trim_end_matches('/'));
    let since = match args.diff {
        Some(since) => Some(since.seq(&found.reader, found.session, &cli.style).await?),
        None => None,
    };
    let Some((capture, files)) = captures(&found, cli).await? else {
        return replayed::run(&found, path, since, args.to.as_deref(), cli, out).await;
    };
    if let Some(since) = since {
        let from = captured(&found, since.plus(1)).await?.ok_or(FilesQuestionError::NoCapture)?;
        let changes = files.changes(&from.tree, &capture.tree).map_err(FilesQuestionError::from)?;
        return differences(&from, &capture, &below(changes, path), cli, out);
    }
    let entries = files.entries(&capture.tree).map_err(FilesQuestionError::from)?;
    if let Some(dir) = &args.to {
        let wanted = entries.iter().filter(|(file, _)| is_below(file, path));
        let mut contents = Vec::new();
        for (file, entry) in wanted {
            let content = files.content(entry).map_err(FilesQuestionError::from)?;
            contents.push(WrittenFile { path: file.clone(), kind: WrittenKind::of(entry), content });
        }
        return written::write(dir, contents, cli, out);
    }
    if let Some(path) = path
        && let Some(entry) = entries.get(path)
    {
        let content = files.content(entry).map_err(FilesQuestionError::from)?;
        let content = content.ok_or_else(|| FilesQuestionError::NotCaptured(path.to_owned()))?;
        if cli.style.json {
            let text = String::from_utf8_lossy(&content);
            json::object(out, &json!({"seq": capture.seq, "tree": capture.tree.as_str(), "path": path, "text": text}))?;
        } else {
            out.write_all(&content)?;
        }
        return Ok(Verdict::Fine);
    }
    list(&capture, &entries, path, cli, out)
}

/// The last capture and where captures are read; `None` if there is none, or the project they are of is not here.
async fn captures(
    found: &FoundSession,
    cli: &CommandContext,
) -> Result<Option<(NamedCapture, CapturedFiles)>, CliError> {
    let Some(capture) = captured(found, found.until).await? else { return Ok(None) };
    match captured_files(found).await? {
        Ok(files) => Ok(Some((capture, files))),
        Err(error) => {
            let text = format!("the captured files cannot be read ({error}); they are replayed from the calls");
            cli.remarks.say_once(Emphasis::Dim, &text);
            Ok(None)
        }
    }
}

/// The captures of the project of a session.
async fn captured_files(found: &FoundSession) -> Result<Result<CapturedFiles, FilesError>, CliError> {
    let info = found.reader.view(found.session, found.until).await?.session;
    let location = info.location.map(|location| location.directory).unwrap_or_default();
    Ok(CapturedFiles::open(found.reader.folder().clone(), Path::new(&location)))
}

/// The captures of a session, for [`annals_inspect::blame`]; `None` if there is none.
pub(super) async fn contents(found: &FoundSession, cli: &CommandContext) -> Result<Option<TreeContents>, CliError> {
    Ok(captures(found, cli).await?.map(|(_, files)| TreeContents { files }))
}

/// The contents of captured files by their paths below the directory of the session.
pub(super) struct TreeContents {
    files: CapturedFiles,
}

impl CapturedContents for TreeContents {
    fn content(&self, tree: &str, path: &str) -> Result<Option<String>, String> {
        let words = |error: FilesError| error.to_string();
        let tree: Tree = tree.parse().map_err(words)?;
        let below = self.files.below();
        let path = if below.is_empty() { path.to_owned() } else { format!("{below}/{path}") };
        let entries = self.files.entries(&tree).map_err(words)?;
        let Some(entry) = entries.get(&path) else { return Ok(None) };
        let content = self.files.content(entry).map_err(words)?;
        Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
    }
}

/// Compares the files at two cuts, of one session or of two. Exit status 1 if they differ.
pub(super) async fn compare(
    from: &FoundSession,
    to: &FoundSession,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    if let (Some((one, _)), Some((other, files))) = (captures(from, cli).await?, captures(to, cli).await?)
        && let Ok(changes) = files.changes(&one.tree, &other.tree)
    {
        return differences(&one, &other, &changes, cli, out);
    }
    replayed::compare(from, to, None, cli, out).await
}

/// The newest capture before `until`.
async fn captured(found: &FoundSession, until: Seq) -> Result<Option<NamedCapture>, CliError> {
    let mut newest = None;
    let visit = |record: &Record<'_>| {
        let files = match record.event {
            Event::Step(StepEvent::Started(started)) => started.files.as_deref(),
            Event::Step(StepEvent::Ended(ended)) => ended.files.as_deref(),
            Event::Files(FilesEvent::Captured(captured)) => Some(captured.tree.as_str()),
            Event::Files(FilesEvent::Summarised(summarised)) => Some(summarised.to.as_str()),
            _ => None,
        };
        if let Some(tree) = files.and_then(|files| files.parse().ok()) {
            newest = Some(NamedCapture { seq: record.seq, tree });
        }
    };
    found.reader.each(found.session, Seq::ZERO, until.min(found.until), visit).await?;
    Ok(newest)
}

fn is_below(file: &str, path: Option<&str>) -> bool {
    path.is_none_or(|path| {
        file == path || file.strip_prefix(path).is_some_and(|rest| path.is_empty() || rest.starts_with('/'))
    })
}

fn below(changes: Changes, path: Option<&str>) -> Changes {
    let Some(path) = path else { return changes };
    let mut changes = changes;
    changes.files.retain(|file| is_below(&file.path, Some(path)));
    let names = |block: &str| changes.files.iter().any(|file| block.contains(&format!("b/{}", file.path)));
    let blocks = changes.diff.text.split("diff --git ").skip(1);
    let kept = blocks.filter(|block| block.lines().next().is_some_and(names));
    changes.diff.text = kept.map(|block| format!("diff --git {block}")).collect();
    changes
}

fn list(
    capture: &NamedCapture,
    entries: &TreeEntries,
    path: Option<&str>,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let listed: Vec<(&String, &TreeEntry)> = entries.iter().filter(|(file, _)| is_below(file, path)).collect();
    if let (Some(path), true) = (path, listed.is_empty()) {
        return Err(FilesQuestionError::NoFile { path: path.to_owned(), seq: capture.seq }.into());
    }
    if cli.style.json {
        let files: Vec<Value> = listed.iter().map(|(path, entry)| json!({"path": path, "kind": kind(entry)})).collect();
        json::object(out, &json!({"seq": capture.seq, "tree": capture.tree.as_str(), "files": files}))?;
        return Ok(Verdict::Fine);
    }
    for (path, entry) in &listed {
        match entry {
            TreeEntry::File { executable: false, .. } => writeln!(out, "{}", plain(path))?,
            entry => writeln!(out, "{}  ({})", plain(path), kind(entry))?,
        }
    }
    let count = counted(listed.len() as u64, "file");
    cli.remark(&format!("{count}, captured at event {}; to see one: annals files SESSION PATH", capture.seq));
    Ok(Verdict::Fine)
}

fn kind(entry: &TreeEntry) -> &'static str {
    match entry {
        TreeEntry::File { executable: false, .. } => "file",
        TreeEntry::File { executable: true, .. } => "executable",
        TreeEntry::Link { .. } => "link",
        TreeEntry::Uncaptured { .. } => "not captured",
    }
}

fn differences(
    from: &NamedCapture,
    to: &NamedCapture,
    changes: &Changes,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let verdict = if changes.files.is_empty() { Verdict::Fine } else { Verdict::BadNews };
    if cli.style.json {
        let side = |side: &NamedCapture| json!({"seq": side.seq, "tree": side.tree.as_str()});
        let (files, diff) = (&changes.files, &changes.diff.text);
        json::object(out, &json!({"from": side(from), "to": side(to), "files": files, "diff": diff}))?;
        return Ok(verdict);
    }
    if changes.files.is_empty() {
        cli.remark(&format!("no file differs between events {} and {}", from.seq, to.seq));
        return Ok(verdict);
    }
    for file in &changes.files {
        writeln!(out, "{:<8} {}  +{} -{}", file.status, plain(&file.path), file.additions, file.deletions)?;
    }
    write!(out, "\n{}", changes.diff.text)?;
    cli.remark(&format!("from event {} to event {}", from.seq, to.seq));
    Ok(verdict)
}
