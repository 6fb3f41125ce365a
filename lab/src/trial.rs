//! One run of the command in a folder of its own: with a store, and with or without a crash.

use crate::error::LabError;
use annals_store::crash_point::{KILL, POINTS, ReachedPoint};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often it is checked whether the command has ended.
const CHECK: Duration = Duration::from_millis(5);
/// How many lines of output explain a failure.
const LINES: usize = 4;
/// How much of the output is read for that.
const TAIL: usize = 4_096;

/// The variable that names the store, as `annals` and the examples read it.
const STORE: &str = "ANNALS_STORE";
/// What is replaced by the path of the store in the command.
const PLACEHOLDER: &str = "{store}";

/// The folder of a trial: a store, perhaps a project, and what the runs left.
pub(crate) struct TrialFolder {
    pub(crate) root: PathBuf,
    pub(crate) project: PathBuf,
}

/// What is run.
pub(crate) enum Ran<'a> {
    /// A program with arguments.
    Command(&'a [OsString]),
    /// A line for the shell.
    Line(&'a str),
}

/// How a run ended.
pub(crate) struct TrialRun {
    /// `None` when it did not end in time.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) points: Vec<ReachedPoint>,
    /// The last lines that it wrote.
    pub(crate) output: String,
}

impl TrialFolder {
    /// A folder for a trial below `root`; the project is a copy of `project`, or `here` itself.
    pub(crate) fn make(root: PathBuf, project: Option<&Path>, here: &Path) -> io::Result<Self> {
        fs::create_dir_all(&root)?;
        let project = match project {
            None => here.to_owned(),
            Some(project) => {
                let copy = root.join("project");
                copy_folder(project, &copy)?;
                copy
            }
        };
        Ok(Self { root, project })
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Runs the command, and kills it at a point, if one is named. `name` distinguishes the runs of a trial.
    pub(crate) fn run(
        &self,
        ran: &Ran<'_>,
        name: &str,
        kill: Option<u64>,
        limit: Duration,
    ) -> Result<TrialRun, LabError> {
        let (points, output) = (self.root.join(format!("{name}.points")), self.root.join(format!("{name}.output")));
        let file = |source| LabError::File { path: output.clone(), source };
        let out = File::create(&output).map_err(file)?;
        let mut command = self.command(ran);
        command
            .current_dir(&self.project)
            .env(STORE, self.store())
            .env(POINTS, &points)
            .env_remove(KILL)
            .stdin(Stdio::null())
            .stdout(out.try_clone().map_err(file)?)
            .stderr(out)
            // Killed as a whole when it does not end.
            .process_group(0);
        if let Some(kill) = kill {
            command.env(KILL, kill.to_string());
        }
        let shown = format!("{:?}", command.get_program());
        let child = command.spawn().map_err(|source| LabError::Start { command: shown, source })?;
        let status = wait(child, limit).map_err(file)?;
        Ok(TrialRun { status, points: read_points(&points)?, output: tail(&output) })
    }

    fn command(&self, ran: &Ran<'_>) -> Command {
        let store = self.store().to_string_lossy().into_owned();
        match ran {
            Ran::Command(words) => {
                let mut words = words.iter().map(|word| match word.to_str() {
                    Some(text) => OsString::from(text.replace(PLACEHOLDER, &store)),
                    None => word.clone(),
                });
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                command
            }
            Ran::Line(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line.replace(PLACEHOLDER, &store));
                command
            }
        }
    }
}

/// Waits for the end of a process; `None` when it had to be killed.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                // It may have ended just now.
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(CHECK);
    }
}

/// The points of a run. The last line may be torn: the process that wrote it was killed.
fn read_points(path: &Path) -> Result<Vec<ReachedPoint>, LabError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(LabError::File { path: path.to_owned(), source }),
    }
}

fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join(" / ")
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
