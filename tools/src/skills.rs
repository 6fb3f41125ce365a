//! Skills from folders: each is a folder with a file `SKILL.md`, whose front matter names and describes it.

mod front;

use annals_core::event::Rule;
use annals_runtime::Boxed;
use annals_runtime::context::instructions::{LinkOut, is_guarded};
use annals_runtime::context::{Loaded, Skill, SkillCatalogue};
use annals_runtime::ports::filesystem::{FileKind, Filesystem, join, within};
use front::{Front, divided};
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// How deep below a root skills are looked for: in its folders, and in those of its folders.
const DEPTH: usize = 2;

/// The fields of a text's front matter by name, each as one text, and what follows it: as much of YAML as skills, agents and commands in
/// Markdown are written in.
pub fn front_matter(text: &str) -> (std::collections::BTreeMap<String, String>, &str) {
    front::fields(text)
}

/// The skills in some folders. Where two have the same name, that of the earlier folder counts, and within one folder the
/// first by path: a user's own skills before those of a project, or the other way round, as the host orders them.
///
/// A folder that does not exist contains none. One that cannot be read, or a skill that cannot be read, makes the skills
/// unavailable for the moment: a passing failure removes nothing from what the model knows
/// (`docs/reference/context.md#skills`). A skill whose file is not text or larger than 1 MiB is left out, and so is one
/// of an untrusted project, if a link leads out of the project to it, or if reading it would need a question.
///
/// ```
/// # use annals_runtime::context::{Loaded, SkillCatalogue};
/// # use annals_runtime::ports::MemoryFilesystem;
/// # use annals_tools::skills::SkillFolders;
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let files = Arc::new(MemoryFilesystem::default());
/// files.write("/skills/audit/SKILL.md", "---\nname: audit\ndescription: Reads logs.\n---\nRead the log.\n");
/// let Loaded::Available(skills) = SkillFolders::new(files, ["/skills"]).skills().await else { panic!("they are there") };
/// assert_eq!(skills[0].description.as_deref(), Some("Reads logs."));
/// # }
/// ```
#[derive(Clone)]
pub struct SkillFolders {
    files: Arc<dyn Filesystem>,
    roots: Vec<SkillRoot>,
}

/// A folder in which skills are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRoot {
    /// An absolute path.
    pub path: String,
    /// The project that it belongs to, if that is not trusted: links that lead out of there are not followed.
    pub within: Option<String>,
    /// The rules for reading. No file of an untrusted project is a skill if these rules protect it more than
    /// instructions in its place, such as `.env`.
    pub guarded: Vec<Rule>,
}

impl From<&str> for SkillRoot {
    fn from(path: &str) -> Self {
        Self::from(path.to_owned())
    }
}

impl From<String> for SkillRoot {
    fn from(path: String) -> Self {
        Self { path, within: None, guarded: Vec::new() }
    }
}

/// What was found: folders with skills, and links that are not followed.
#[derive(Default)]
struct SkillScan {
    folders: Vec<String>,
    links_out: Vec<LinkOut>,
}

impl SkillFolders {
    /// The skills below these folders, the first ones winning.
    pub fn new(files: Arc<dyn Filesystem>, roots: impl IntoIterator<Item = impl Into<SkillRoot>>) -> Self {
        Self { files, roots: roots.into_iter().map(Into::into).collect() }
    }

    /// Folders that are skipped because they are links out of the project, for a remark to the user.
    ///
    /// # Errors
    /// When a folder cannot be looked at.
    pub async fn links_out(&self) -> io::Result<Vec<LinkOut>> {
        let mut all = Vec::new();
        for root in &self.roots {
            all.extend(self.scan(root).await?.links_out);
        }
        Ok(all)
    }

    async fn all(&self) -> io::Result<Vec<Skill>> {
        let mut skills: Vec<Skill> = Vec::new();
        for root in &self.roots {
            for folder in self.scan(root).await?.folders {
                let skill = match self.skill(&folder).await {
                    Ok(skill) => skill,
                    // That will not pass by itself.
                    Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
                        tracing::warn!(%error, "a skill whose file is not text, or too large, is left out");
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
    async fn scan(&self, root: &SkillRoot) -> io::Result<SkillScan> {
        let mut scan = SkillScan::default();
        let within = match &root.within {
            Some(within) => Some(self.files.canonicalise(within).await?),
            None => None,
        };
        let mut level = vec![root.path.clone()];
        for _ in 0..DEPTH {
            let mut below = Vec::new();
            for folder in level {
                if !self.is_inside(&folder, within.as_deref(), &[], &mut scan).await? {
                    continue;
                }
                for (name, kind) in self.files.list(&folder).await? {
                    let path = join(&folder, &name);
                    let file = join(&path, FILE);
                    if kind != FileKind::Directory || !self.is_inside(&path, within.as_deref(), &[], &mut scan).await? {
                        continue;
                    }
                    if self.files.kind(&file).await? != Some(FileKind::File) {
                        below.push(path);
                    } else if self.is_inside(&file, within.as_deref(), &root.guarded, &mut scan).await? {
                        scan.folders.push(path);
                    }
                }
            }
            level = below;
        }
        scan.folders.sort();
        Ok(scan)
    }

    /// Whether a path does not lead out of the project that holds it, nor to what rules guard there.
    async fn is_inside(
        &self,
        path: &str,
        project: Option<&str>,
        guarded: &[Rule],
        scan: &mut SkillScan,
    ) -> io::Result<bool> {
        let Some(project) = project else { return Ok(true) };
        let target = self.files.canonicalise(path).await?;
        if within(&target, project) && !is_guarded(guarded, project, path, &target) {
            return Ok(true);
        }
        scan.links_out.push(LinkOut { path: path.to_string(), target });
        Ok(false)
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

impl SkillCatalogue for SkillFolders {
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
