//! Skills in folders.

use super::*;
use annals_core::event::Effect;
use annals_runtime::ports::MemoryFilesystem;

fn files(paths: &[(&str, &str)]) -> Arc<MemoryFilesystem> {
    let files = MemoryFilesystem::default();
    for (path, text) in paths {
        files.write(path, *text);
    }
    Arc::new(files)
}

async fn listing(folder: &SkillFolders) -> Result<Vec<(String, Option<String>)>, String> {
    match folder.skills().await {
        Loaded::Available(skills) => Ok(skills.into_iter().map(|skill| (skill.name, skill.description)).collect()),
        Loaded::Absent => Ok(Vec::new()),
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
    assert_eq!(listing(&SkillFolders::new(files, ["/user", "/project", "/nowhere"])).await, Ok(expected));
}

#[tokio::test]
async fn a_body_says_where_the_skills_files_are() {
    let files = files(&[("/s/audit/SKILL.md", "---\nname: audit\n---\n\nRead `log.md`.\n")]);
    let Loaded::Available(skills) = SkillFolders::new(files, ["/s"]).skills().await else { panic!("they are there") };
    let body = skills.first().map(|skill| skill.body.as_str());
    assert_eq!(body, Some("Read `log.md`.\n\nThe files that this skill names lie in /s/audit."));
}

#[tokio::test]
async fn a_passing_failure_makes_skills_unavailable_and_removes_none() {
    let files = files(&[("/s/audit/SKILL.md", "---\nname: audit\n---\nB"), ("/s/other/SKILL.md", "B")]);
    files.deny("/s/other/SKILL.md");
    let found = listing(&SkillFolders::new(files, ["/s"])).await;
    assert!(found.as_ref().is_err_and(|reason| reason.contains("/s/other/SKILL.md")), "{found:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_a_project_that_nobody_trusts_is_no_skill() -> Result<(), Box<dyn std::error::Error>> {
    use annals_runtime::ports::RealFilesystem;
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir()?;
    let top = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    let root = format!("{top}/project/skills");
    for directory in ["project/skills/own", "project/skills/odd", "project/more/linked", "home/secret"] {
        std::fs::create_dir_all(format!("{top}/{directory}"))?;
    }
    for path in ["project/skills/own/SKILL.md", "project/more/linked/SKILL.md", "home/secret/SKILL.md"] {
        std::fs::write(format!("{top}/{path}"), "---\ndescription: one\n---\nText.")?;
    }
    symlink(format!("{top}/home/secret/SKILL.md"), format!("{root}/odd/SKILL.md"))?;
    symlink(format!("{top}/home/secret"), format!("{root}/out"))?;
    symlink(format!("{top}/home"), format!("{root}/wide"))?;
    symlink("../more/linked", format!("{root}/linked"))?;
    let names = async |within: Option<String>| {
        let folder = SkillFolders::new(
            Arc::new(RealFilesystem),
            [SkillRoot { path: root.clone(), within, guarded: Vec::new() }],
        );
        let names: Vec<String> = listing(&folder).await?.into_iter().map(|(name, _)| name).collect();
        let links = folder.links_out().await.map_err(|error| error.to_string())?;
        Ok::<_, String>((names.join(" "), links.into_iter().map(|link| link.path).collect::<Vec<_>>()))
    };
    let (names_within, links) = names(Some(format!("{top}/project"))).await?;
    assert_eq!(names_within, "linked own");
    assert_eq!(links, [format!("{root}/odd/SKILL.md"), format!("{root}/out"), format!("{root}/wide")]);
    assert_eq!(names(None).await?, ("linked odd out own secret".into(), Vec::new()));
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_what_is_asked_for_before_it_is_read_is_no_skill() -> Result<(), Box<dyn std::error::Error>> {
    use annals_runtime::ports::RealFilesystem;
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir()?;
    let top = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    let root = format!("{top}/skills");
    for directory in ["skills/own", "skills/odd", "private/keys"] {
        std::fs::create_dir_all(format!("{top}/{directory}"))?;
    }
    for path in ["skills/own/SKILL.md", "private/keys/SKILL.md", ".env"] {
        std::fs::write(format!("{top}/{path}"), "Text.")?;
    }
    symlink("../../.env", format!("{root}/odd/SKILL.md"))?;
    symlink("../private/keys", format!("{root}/keys"))?;
    let rule = |resource: &str, effect| Rule { action: "read".into(), resource: resource.into(), effect };
    let rules = [rule("*.md", Effect::Allow), rule("*.env", Effect::Ask), rule("private/*", Effect::Deny)];
    let skills = |within: Option<&str>| {
        let root = SkillRoot { path: root.clone(), within: within.map(str::to_owned), guarded: rules.to_vec() };
        SkillFolders::new(Arc::new(RealFilesystem), [root])
    };
    let names = async |within: Option<&str>| {
        let skills = listing(&skills(within)).await?;
        Ok::<_, String>(skills.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(names(Some(&top)).await?, "own");
    let links = skills(Some(&top)).links_out().await?;
    let link = |path: &str, target: &str| LinkOut { path: format!("{root}/{path}"), target: format!("{top}/{target}") };
    assert_eq!(links, [link("keys/SKILL.md", "private/keys/SKILL.md"), link("odd/SKILL.md", ".env")]);
    assert_eq!(names(None).await?, "keys odd own", "the user trusts the project");
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_and_a_file_that_is_too_large_are_no_skills() -> Result<(), Box<dyn std::error::Error>> {
    use annals_runtime::ports::RealFilesystem;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir()?;
    for name in ["own", "pipe", "huge"] {
        std::fs::create_dir(folder.path().join(name))?;
    }
    let at = |name: &str| folder.path().join(name).join(FILE);
    std::fs::write(at("own"), "Text.")?;
    std::fs::write(at("huge"), "x".repeat((1 << 20) + 1))?;
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    let root = folder.path().to_str().ok_or("temporary path")?;
    let found = listing(&SkillFolders::new(Arc::new(RealFilesystem), [root])).await?;
    assert_eq!(found, [("own".to_string(), None)]);
    Ok(())
}
