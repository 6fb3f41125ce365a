//! Which files are told, in which order, and what becomes of those that cannot be read.

use super::super::tests::{Outcome, baseline, boundary, update_text};
use super::*;
use crate::ports::{FileKind, MemoryFilesystem, RealFilesystem};
use annals_core::event::Effect;

fn world(files: &[(&str, &str)]) -> Arc<MemoryFilesystem> {
    let tree = Arc::new(MemoryFilesystem::default());
    tree.worktree("/project");
    files.iter().for_each(|(path, content)| tree.write(path, *content));
    tree
}

fn global() -> InstructionFiles {
    InstructionFiles { global: vec!["/global/AGENTS.md".into()], ..InstructionFiles::default() }
}

async fn load(
    files: &Arc<MemoryFilesystem>,
    config: InstructionFiles,
    boundary: &Boundary,
) -> Result<SystemContext, Fault> {
    Instructions { files: files.clone(), config }.produce(boundary).await
}

/// The paths told, in order.
async fn paths(
    files: &Arc<MemoryFilesystem>,
    config: InstructionFiles,
    boundary: &Boundary,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let text = baseline(&load(files, config, boundary).await?).await?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("Instructions from: ")).map(str::to_string).collect())
}

/// Why the source is unavailable.
async fn reason(files: &Arc<MemoryFilesystem>, config: InstructionFiles) -> Result<String, Box<dyn std::error::Error>> {
    let observed = load(files, config, &boundary("/project/a")).await?.observe().await?;
    Ok(observed.unavailable.first().ok_or("expected it to be unavailable")?.1.clone())
}

#[tokio::test]
async fn the_global_file_comes_first_then_the_nearest_up_to_the_root_and_none_above() -> Outcome {
    let files = world(&[
        ("/AGENTS.md", "outside"),
        ("/global/AGENTS.md", "global"),
        ("/project/AGENTS.md", "root"),
        ("/project/a/AGENTS.md", "a"),
        ("/project/b/AGENTS.md", "beside"),
    ]);
    assert_eq!(
        baseline(&load(&files, global(), &boundary("/project/a/deep")).await?).await?,
        "Instructions from: /global/AGENTS.md\nglobal\n\nInstructions from: /project/a/AGENTS.md\na\n\n\
         Instructions from: /project/AGENTS.md\nroot"
    );
    Ok(())
}

#[tokio::test]
async fn a_change_tells_the_whole_set_and_the_end_of_it_says_so() -> Outcome {
    let files = world(&[("/project/AGENTS.md", "old"), ("/project/a/AGENTS.md", "")]);
    let at = boundary("/project/a");
    let before = load(&files, global(), &at).await?;
    files.write("/project/AGENTS.md", "new");
    let after = load(&files, global(), &at).await?;
    assert_eq!(
        update_text(&before, &after).await?.as_deref(),
        Some(
            "These instructions replace all previously loaded ambient instructions.\n\n\
             Instructions from: /project/a/AGENTS.md\n\n\nInstructions from: /project/AGENTS.md\nnew"
        )
    );
    files.remove("/project/AGENTS.md");
    files.remove("/project/a/AGENTS.md");
    let none = load(&files, global(), &at).await?;
    assert_eq!(none.keys().count(), 0);
    assert_eq!(update_text(&before, &none).await?.as_deref(), Some("Previously loaded instructions no longer apply."));
    Ok(())
}

#[tokio::test]
async fn opting_out_leaves_project_files_out_and_keeps_the_global_one() -> Outcome {
    let files = world(&[("/global/AGENTS.md", "g"), ("/project/AGENTS.md", "p"), ("/project/x/AGENTS.md", "n")]);
    let mut at = boundary("/project");
    at.discovered.push("/project/x/AGENTS.md".into());
    let config = InstructionFiles { project: false, ..global() };
    assert_eq!(paths(&files, config, &at).await?, ["/global/AGENTS.md"]);
    let set = |value: &'static str| move |name: &str| (name == OPT_OUT[1]).then(|| value.to_string());
    assert!(opted_out(set("1")) && opted_out(set("true")) && !opted_out(set("0")) && !opted_out(set("")));
    Ok(())
}

#[tokio::test]
async fn what_exists_and_cannot_be_read_is_unavailable_and_named() -> Outcome {
    let files = world(&[("/global/AGENTS.md", "g"), ("/project/AGENTS.md", "p")]);
    files.deny("/project/AGENTS.md");
    assert!(reason(&files, global()).await?.starts_with("/project/AGENTS.md: "));
    let files = world(&[("/global/AGENTS.md", "g")]);
    files.deny("/global");
    assert!(reason(&files, global()).await?.starts_with("/global/AGENTS.md: "), "the global file too");
    let files = world(&[("/project/AGENTS.md/x", "a directory of that name")]);
    assert!(reason(&files, global()).await?.starts_with("/project/AGENTS.md: "));
    Ok(())
}

/// A tree whose project file is removed right after it was seen.
struct Vanishing(Arc<MemoryFilesystem>);

impl Filesystem for Vanishing {
    fn kind<'a>(&'a self, path: &'a str) -> Boxed<'a, std::io::Result<Option<FileKind>>> {
        self.0.kind(path)
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, std::io::Result<String>> {
        self.0.remove("/project/AGENTS.md");
        self.0.read(path)
    }

    fn canonicalise<'a>(&'a self, path: &'a str) -> Boxed<'a, std::io::Result<String>> {
        self.0.canonicalise(path)
    }

    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, std::io::Result<Vec<(String, FileKind)>>> {
        self.0.list(directory)
    }

    fn is_worktree<'a>(&'a self, directory: &'a str) -> Boxed<'a, std::io::Result<bool>> {
        self.0.is_worktree(directory)
    }
}

#[tokio::test]
async fn a_file_that_vanishes_while_it_is_read_is_not_taken_for_removed() -> Outcome {
    let files = Arc::new(Vanishing(world(&[("/project/AGENTS.md", "p")])));
    let instructions = Instructions { files, config: global() };
    let observed = instructions.produce(&boundary("/project")).await?.observe().await?;
    assert_eq!(observed.unavailable.len(), 1);
    assert_eq!(instructions.produce(&boundary("/project")).await?.keys().count(), 0, "gone by the next boundary");
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_told_file_is_told_once_under_its_real_path() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    std::fs::create_dir_all(format!("{root}/.git"))?;
    std::fs::create_dir_all(format!("{root}/a"))?;
    std::fs::write(format!("{root}/AGENTS.md"), "rules")?;
    std::os::unix::fs::symlink(format!("{root}/AGENTS.md"), format!("{root}/a/AGENTS.md"))?;
    let instructions = Instructions { files: Arc::new(RealFilesystem), config: InstructionFiles::default() };
    let context = instructions.produce(&boundary(&format!("{root}/a"))).await?;
    assert_eq!(baseline(&context).await?, format!("Instructions from: {root}/AGENTS.md\nrules"));
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_a_project_is_told_only_where_the_user_trusts_it() -> Outcome {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir()?;
    let top = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    let root = format!("{top}/project");
    for directory in ["project/.git", "project/a/in", "project/docs", "home/notes"] {
        std::fs::create_dir_all(format!("{top}/{directory}"))?;
    }
    std::fs::write(format!("{top}/home/key"), "private")?;
    std::fs::write(format!("{top}/home/notes/x.md"), "notes")?;
    std::fs::write(format!("{root}/AGENTS.md"), "rules")?;
    std::fs::write(format!("{root}/docs/x.md"), "docs")?;
    symlink(format!("{top}/home/key"), format!("{root}/a/AGENTS.md"))?;
    symlink("../../../home/key", format!("{root}/a/in/AGENTS.md"))?;
    symlink(format!("{top}/home/notes"), format!("{root}/docs/out"))?;
    let config = InstructionFiles { configured: vec!["docs/**/x.md".into()], ..InstructionFiles::default() };
    let files = Arc::new(RealFilesystem);
    let rendered = async |config: &InstructionFiles, at: &Boundary| {
        let context = Instructions { files: files.clone(), config: config.clone() }.produce(at).await?;
        baseline(&context).await
    };
    let mut at = boundary(&format!("{root}/a"));
    // As an earlier version recorded it.
    at.discovered = vec![format!("{top}/home/key")];
    let own = format!("Instructions from: {root}/AGENTS.md\nrules\n\nInstructions from: {root}/docs/x.md\ndocs");
    assert_eq!(rendered(&config, &at).await?, own);
    let links = Instructions { files: files.clone(), config: config.clone() }.links_out(&format!("{root}/a")).await?;
    let link =
        |path: &str, target: &str| LinkOut { path: format!("{root}/{path}"), target: format!("{top}/home/{target}") };
    assert_eq!(links, [link("a/AGENTS.md", "key"), link("docs/out/x.md", "notes/x.md")]);
    let read = format!("{root}/a/in/x.rs");
    assert!(discover(files.as_ref(), &config, &root, &read, &[]).await?.is_empty());
    let trusted = InstructionFiles { links_out: true, ..config.clone() };
    let all = rendered(&trusted, &at).await?;
    assert!(all.contains("private") && all.contains("notes"), "{all}");
    assert_eq!(discover(files.as_ref(), &trusted, &root, &read, &[]).await?, [format!("{top}/home/key")]);
    // What the user names himself is no link of the project's.
    let wished = InstructionFiles { configured: vec!["../home/notes/*.md".into()], ..config };
    assert!(rendered(&wished, &boundary(&root)).await?.contains("notes"));
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_what_is_asked_for_before_it_is_read_is_not_told_unasked() -> Outcome {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    for directory in [".git", "a", "b", "c"] {
        std::fs::create_dir_all(format!("{root}/{directory}"))?;
    }
    std::fs::write(format!("{root}/.env"), "private")?;
    std::fs::write(format!("{root}/README.md"), "rules")?;
    symlink("README.md", format!("{root}/AGENTS.md"))?;
    for directory in ["a", "c"] {
        symlink("../.env", format!("{root}/{directory}/AGENTS.md"))?;
    }
    let rule = |resource: &str, effect| Rule { action: "read".into(), resource: resource.into(), effect };
    let guarded = vec![rule("*", Effect::Allow), rule("*.env", Effect::Ask)];
    let config = InstructionFiles { guarded, ..InstructionFiles::default() };
    let files = Arc::new(RealFilesystem);
    let rendered = async |config: &InstructionFiles| {
        let context = Instructions { files: files.clone(), config: config.clone() };
        baseline(&context.produce(&boundary(&format!("{root}/a"))).await?).await
    };
    assert_eq!(rendered(&config).await?, format!("Instructions from: {root}/README.md\nrules"));
    let links = Instructions { files: files.clone(), config: config.clone() }.links_out(&format!("{root}/a")).await?;
    assert_eq!(links, [LinkOut { path: format!("{root}/a/AGENTS.md"), target: format!("{root}/.env") }]);
    assert!(discover(files.as_ref(), &config, &root, &format!("{root}/c/x.rs"), &[]).await?.is_empty());
    // Nor what the project's own configuration may name.
    let named = InstructionFiles { configured: vec![".e*".into()], ..config.clone() };
    assert!(!rendered(&named).await?.contains("private"));
    let called = InstructionFiles { names: vec![".env".into()], ..config.clone() };
    assert!(!rendered(&called).await?.contains("private"));
    let trusted = InstructionFiles { links_out: true, ..config };
    assert!(rendered(&trusted).await?.contains("private"));
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_for_instructions_cannot_be_read_and_nobody_waits_for_it() -> Outcome {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.to_str().ok_or("temporary path")?.to_string();
    for directory in ["a", "b", ".git"] {
        std::fs::create_dir_all(format!("{root}/{directory}"))?;
    }
    for directory in ["a", "b"] {
        let path = format!("{root}/{directory}/AGENTS.md");
        mknodat(CWD, path.as_str(), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    }
    let files = Arc::new(RealFilesystem);
    let context = Instructions { files: files.clone(), config: InstructionFiles::default() };
    let error = context.load(&boundary(&format!("{root}/a"))).await.err().ok_or("it cannot be read")?;
    assert_eq!(error.to_string(), format!("{root}/a/AGENTS.md: is not a regular file"));
    assert!(discover(files.as_ref(), &context.config, &root, &format!("{root}/b/x"), &[]).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn other_names_count_only_when_the_first_is_found_nowhere() -> Outcome {
    let config = || InstructionFiles { names: vec!["AGENTS.md".into(), "CLAUDE.md".into()], ..global() };
    let files = world(&[("/project/CLAUDE.md", "c"), ("/project/a/AGENTS.md", "a")]);
    assert_eq!(paths(&files, config(), &boundary("/project/a")).await?, ["/project/a/AGENTS.md"]);
    files.remove("/project/a/AGENTS.md");
    assert_eq!(paths(&files, config(), &boundary("/project/a")).await?, ["/project/CLAUDE.md"]);
    assert_eq!(load(&files, global(), &boundary("/project/a")).await?.keys().count(), 0, "off by default");
    Ok(())
}

#[tokio::test]
async fn configured_paths_may_be_patterns_homely_or_absolute() -> Outcome {
    let files = world(&[
        ("/project/docs/b.md", ""),
        ("/project/docs/a.md", ""),
        ("/project/docs/.hidden.md", ""),
        ("/project/docs/deep/er/c.md", ""),
        ("/home/u/rules.md", ""),
        ("/etc/rules/x.txt", ""),
    ]);
    let with = |configured: &[&str]| InstructionFiles {
        configured: configured.iter().map(ToString::to_string).collect(),
        home: Some("/home/u".into()),
        ..InstructionFiles::default()
    };
    let at = boundary("/project/docs/deep");
    assert_eq!(paths(&files, with(&["docs/*.md"]), &at).await?, ["/project/docs/a.md", "/project/docs/b.md"]);
    assert_eq!(
        paths(&files, with(&["docs/**/c.md", "~/rules.md", "/etc/*/?.txt", "docs/missing.md"]), &at).await?,
        ["/project/docs/deep/er/c.md", "/home/u/rules.md", "/etc/rules/x.txt"]
    );
    assert_eq!(paths(&files, with(&["docs/*/../.h*.md"]), &at).await?, ["/project/docs/.hidden.md"]);
    Ok(())
}

#[tokio::test]
async fn a_file_is_told_once_and_at_its_first_place() -> Outcome {
    let files = world(&[("/project/AGENTS.md", "p")]);
    let config = InstructionFiles {
        global: vec!["/nowhere/AGENTS.md".into(), "/project/./AGENTS.md".into()],
        configured: vec!["AGENTS.md".into()],
        ..InstructionFiles::default()
    };
    assert_eq!(paths(&files, config, &boundary("/project")).await?, ["/project/AGENTS.md"]);
    Ok(())
}

#[tokio::test]
async fn discovered_files_join_after_the_ambient_ones_while_they_exist() -> Outcome {
    let files = world(&[("/project/AGENTS.md", "p"), ("/project/x/AGENTS.md", "n")]);
    let mut at = boundary("/project");
    at.discovered = vec!["/project/gone/AGENTS.md".into(), "/project/x/AGENTS.md".into()];
    assert_eq!(paths(&files, global(), &at).await?, ["/project/AGENTS.md", "/project/x/AGENTS.md"]);
    Ok(())
}

#[tokio::test]
async fn a_read_discovers_what_the_upward_path_does_not_tell() -> Outcome {
    let files = world(&[
        ("/project/AGENTS.md", ""),
        ("/project/a/AGENTS.md", ""),
        ("/project/a/in/AGENTS.md", ""),
        ("/project/a/in/deep/AGENTS.md", ""),
        ("/project/b/AGENTS.md", ""),
        ("/other/AGENTS.md", ""),
    ]);
    let config = global();
    let read = async |path: &str, known: &[String]| discover(files.as_ref(), &config, "/project/a", path, known).await;
    let deep = ["/project/a/in/deep/AGENTS.md".to_string(), "/project/a/in/AGENTS.md".to_string()];
    assert_eq!(read("/project/a/in/deep/x.rs", &[]).await?, deep);
    assert_eq!(read("/project/a/in/deep/x.rs", &deep[..1]).await?, deep[1..]);
    assert_eq!(read("/project/b/x.rs", &[]).await?, ["/project/b/AGENTS.md"]);
    assert!(read("/project/a/x.rs", &[]).await?.is_empty() && read("/other/x.rs", &[]).await?.is_empty());
    Ok(())
}
