//! Skills from folders: each is a folder with a file `SKILL.md`, whose front matter names and describes it.

mod front;

use crate::Boxed;
use crate::context::{Loaded, Skill, SkillCatalogue};
use crate::ports::filesystem::{FileKind, Filesystem, join};
use front::{Front, divided};
use std::io;
use std::sync::Arc;

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// How deep below a root skills are looked for: in its folders, and in those of its folders.
const DEPTH: usize = 2;

/// The skills in some folders. Where two have the same name, that of the earlier folder counts, and within one folder the
/// first by path: a user's own skills before those of a project, or the other way round, as the host orders them.
///
/// A folder that is not there holds none. One that cannot be looked at, or a skill that cannot be read, makes the skills
/// unavailable for the moment: a passing failure removes nothing that the model was told (system-context 6.3). A skill
/// whose file is no text is left out.
///
/// ```
/// # use annals_runtime::context::{Loaded, SkillCatalogue};
/// # use annals_runtime::ports::MemoryFilesystem;
/// # use annals_runtime::workbench::skills::Folder;
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let files = Arc::new(MemoryFilesystem::default());
/// files.write("/skills/audit/SKILL.md", "---\nname: audit\ndescription: Reads logs.\n---\nRead the log.\n");
/// let Loaded::Available(skills) = Folder::new(files, ["/skills"]).skills().await else { panic!("they are there") };
/// assert_eq!(skills[0].description.as_deref(), Some("Reads logs."));
/// # }
/// ```
#[derive(Clone)]
pub struct Folder {
    files: Arc<dyn Filesystem>,
    roots: Vec<String>,
}

impl Folder {
    /// The skills below these absolute paths, the first ones winning.
    pub fn new(files: Arc<dyn Filesystem>, roots: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { files, roots: roots.into_iter().map(Into::into).collect() }
    }

    async fn all(&self) -> io::Result<Vec<Skill>> {
        let mut skills: Vec<Skill> = Vec::new();
        for root in &self.roots {
            for folder in self.folders(root).await? {
                let skill = match self.skill(&folder).await {
                    Ok(skill) => skill,
                    // That will not pass by itself.
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        tracing::warn!(folder, "a skill whose file is no text is left out");
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                if !skills.iter().any(|known| known.name == skill.name) {
                    skills.push(skill);
                }
            }
        }
        Ok(skills)
    }

    /// The folders with a skill below a root, by path. A skill's own folders are searched for no others.
    async fn folders(&self, root: &str) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut level = vec![root.to_string()];
        for _ in 0..DEPTH {
            let mut below = Vec::new();
            for folder in level {
                for (name, kind) in self.files.list(&folder).await? {
                    let path = join(&folder, &name);
                    match kind {
                        FileKind::Directory if self.files.kind(&join(&path, FILE)).await? == Some(FileKind::File) => {
                            found.push(path);
                        }
                        FileKind::Directory => below.push(path),
                        FileKind::File => {}
                    }
                }
            }
            level = below;
        }
        found.sort();
        Ok(found)
    }

    async fn skill(&self, folder: &str) -> io::Result<Skill> {
        let text = self.files.read(&join(folder, FILE)).await?;
        let (front, body) = divided(&text);
        let Front { name, description } = front;
        let name = name.unwrap_or_else(|| folder.rsplit('/').next().unwrap_or(folder).into());
        let body = format!("{}\n\nThe files that this skill names lie in {folder}.", body.trim());
        Ok(Skill { name, description, body })
    }
}

impl SkillCatalogue for Folder {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        Box::pin(async {
            match self.all().await {
                Ok(skills) => Loaded::Available(skills),
                Err(error) => Loaded::Unavailable { reason: error.to_string() },
            }
        })
    }
}

#[cfg(test)]
mod tests;
