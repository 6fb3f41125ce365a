//! Skills in folders.

use super::*;
use crate::ports::MemoryFilesystem;

fn files(paths: &[(&str, &str)]) -> Arc<MemoryFilesystem> {
    let files = MemoryFilesystem::default();
    for (path, text) in paths {
        files.write(path, *text);
    }
    Arc::new(files)
}

async fn told(folder: &Folder) -> Result<Vec<(String, Option<String>)>, String> {
    match folder.skills().await {
        Loaded::Available(skills) => Ok(skills.into_iter().map(|skill| (skill.name, skill.description)).collect()),
        Loaded::Unavailable { reason } => Err(reason),
    }
}

#[tokio::test]
async fn the_first_folder_that_has_a_name_wins() {
    let files = files(&[
        ("/user/audit/SKILL.md", "---\nname: audit\ndescription: of the user\n---\nB"),
        ("/project/a/SKILL.md", "---\nname: audit\ndescription: of the project\n---\nB"),
        ("/project/group/deep/SKILL.md", "---\ndescription: named by its folder\n---\nB"),
        ("/project/group/deep/inner/SKILL.md", "---\nname: part-of-deep\n---\nB"),
        ("/project/bare/SKILL.md", "No front matter."),
        ("/project/README.md", "none"),
        ("/project/SKILL.md", "no folder of its own"),
    ]);
    let own = |name: &str, said: Option<&str>| (name.to_string(), said.map(String::from));
    let expected = vec![own("audit", Some("of the user")), own("bare", None), own("deep", Some("named by its folder"))];
    assert_eq!(told(&Folder::new(files, ["/user", "/project", "/nowhere"])).await, Ok(expected));
}

#[tokio::test]
async fn a_body_says_where_the_skills_files_are() {
    let files = files(&[("/s/audit/SKILL.md", "---\nname: audit\n---\n\nRead `log.md`.\n")]);
    let Loaded::Available(skills) = Folder::new(files, ["/s"]).skills().await else { panic!("they are there") };
    let body = skills.first().map(|skill| skill.body.as_str());
    assert_eq!(body, Some("Read `log.md`.\n\nThe files that this skill names lie in /s/audit."));
}

#[tokio::test]
async fn a_passing_failure_makes_skills_unavailable_and_removes_none() {
    let files = files(&[("/s/audit/SKILL.md", "---\nname: audit\n---\nB"), ("/s/other/SKILL.md", "B")]);
    files.deny("/s/other/SKILL.md");
    let told = told(&Folder::new(files, ["/s"])).await;
    assert!(told.as_ref().is_err_and(|reason| reason.contains("/s/other/SKILL.md")), "{told:?}");
}
