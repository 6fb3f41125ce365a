//! A git worktree in a temporary folder, and what it holds.

use annals_runtime::worktree::{Files, FilesError, Plan, StepFiles, Tree, Undo};
use annals_tools::worktree::ShadowRepository;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a test may fail with.
pub type Failure = Box<dyn std::error::Error>;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    File { bytes: Vec<u8>, executable: bool },
    Link(PathBuf),
}

/// All files and links below a directory, without `.git`.
pub type World = BTreeMap<String, Stands>;

/// A project that git tracks, and a folder outside of it.
pub struct Place {
    pub files: ShadowRepository,
    pub root: PathBuf,
    pub folder: PathBuf,
    _holder: tempfile::TempDir,
}

/// The user's own git, with a configuration of its own.
pub fn git(root: &Path, args: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args).current_dir(root);
    let said = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output()?;
    if !said.status.success() {
        return Err(format!("git {args:?}: {}", String::from_utf8_lossy(&said.stderr)).into());
    }
    Ok(String::from_utf8(said.stdout)?.trim().to_string())
}

impl Place {
    /// An empty project, freshly initialised.
    pub fn new() -> Result<Self, Failure> {
        let holder = tempfile::tempdir()?;
        let root = holder.path().canonicalize()?.join("project");
        fs::create_dir(&root)?;
        git(&root, &["init", "-q"])?;
        Self::at(root, holder)
    }

    fn at(root: PathBuf, holder: tempfile::TempDir) -> Result<Self, Failure> {
        let folder = holder.path().join("shadow");
        Ok(Self { files: ShadowRepository::open(&root, &folder)?, root, folder, _holder: holder })
    }

    /// With these files, all committed.
    pub fn committed(files: &[(&str, &str)]) -> Result<Self, Failure> {
        let place = Self::new()?;
        for (path, text) in files {
            place.write(path, text)?;
        }
        place.commit()?;
        Ok(place)
    }

    /// Commits everything.
    pub fn commit(&self) -> Result<(), Failure> {
        git(&self.root, &["add", "-A"])?;
        git(&self.root, &["commit", "-q", "--allow-empty", "-m", "now"])?;
        Ok(())
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.path(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)
    }

    pub fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    pub fn executable(&self, path: &str) -> io::Result<()> {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755))
    }

    pub fn link(&self, path: &str, target: &str) -> io::Result<()> {
        symlink(target, self.path(path))
    }

    pub fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.path(path))
    }

    /// Everything on disk.
    pub fn world(&self) -> io::Result<World> {
        let mut world = World::new();
        gather(&self.root, "", &mut world)?;
        Ok(world)
    }

    pub async fn tree(&self) -> Result<Tree, FilesError> {
        Ok(self.files.capture().await?.tree)
    }

    /// A step of the agent, captured before and after.
    pub async fn step(&self, work: impl FnOnce(&Self) -> io::Result<()>) -> Result<StepFiles, Failure> {
        let start = Some(self.tree().await?);
        work(self)?;
        Ok(StepFiles { start, end: Some(self.tree().await?) })
    }

    /// Plans and carries out an undo of these steps.
    pub async fn undo(&self, steps: &[StepFiles]) -> Result<Plan, FilesError> {
        let plan = self.files.plan(&Undo { steps: steps.to_vec(), staged: None }).await?;
        self.files.restore(&plan).await?;
        Ok(plan)
    }
}

fn gather(directory: &Path, name: &str, world: &mut World) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let Ok(own) = entry.file_name().into_string() else { continue };
        let name = if name.is_empty() { own.clone() } else { format!("{name}/{own}") };
        if own == ".git" {
            continue;
        } else if kind.is_dir() {
            gather(&path, &name, world)?;
        } else if kind.is_symlink() {
            world.insert(name, Stands::Link(fs::read_link(path)?));
        } else {
            let executable = entry.metadata()?.permissions().mode() & 0o100 != 0;
            world.insert(name, Stands::File { bytes: fs::read(path)?, executable });
        }
    }
    Ok(())
}

/// `status path` of each change.
pub fn brief(files: &[annals_core::event::FileChange]) -> Vec<String> {
    files.iter().map(|file| format!("{} {} +{} -{}", file.status, file.path, file.additions, file.deletions)).collect()
}
