//! Repositories within the project, whose settings name programs that git would run.

use super::bench::{Bench, Tested, put};
use annals_core::event::{Effect, Rule};
use annals_core::permission::authorise;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Makes a folder a repository, with a setting that runs a program.
fn repository(folder: &Path, ran: &Path, bare: bool) -> Tested {
    std::fs::create_dir_all(folder)?;
    let git = |arguments: &[&str]| -> Tested {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(folder).output()?;
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    git(if bare { &["init", "-q", "--bare"] } else { &["init", "-q"] })?;
    let config = if bare { folder.join("config") } else { folder.join(".git/config") };
    put(&folder.join("file"), "x")?;
    if bare {
        let core = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n";
        let text = format!("{core}\tfsmonitor = \"touch {} #\"\n", ran.display());
        std::fs::write(config, text)?;
    } else {
        git(&["add", "file"])?;
        git(&["commit", "-q", "-m", "x"])?;
        git(&["config", "core.fsmonitor", &format!("touch {} #", ran.display())])?;
    }
    Ok(())
}

/// What rules for the parts of a command decide.
fn judged(bench: &Bench, input: Value) -> Result<Effect, Box<dyn std::error::Error>> {
    let programs =
        ["git *", "cd *", "pushd *", "popd", "echo *", "mv *", "cp *", "tar *", "ls *", "export *", "make *", "ln *"];
    let mut rules: Vec<Rule> = Vec::new();
    for resource in programs {
        rules.push(Rule { action: "bash".into(), resource: resource.into(), effect: Effect::Allow });
    }
    let demands = bench.judged("bash", input)?;
    let mut worst = Effect::Allow;
    for demand in demands {
        let resources: Vec<&str> = demand.resources.iter().map(String::as_str).collect();
        if authorise(&rules, &[], &demand.action, &resources) != Effect::Allow {
            worst = Effect::Ask;
        }
    }
    Ok(worst)
}

#[tokio::test]
async fn a_command_in_a_repository_that_files_make_is_not_covered_by_rules_for_its_parts() -> Tested {
    let bench = Bench::new()?;
    let ran = bench.outside("ran");
    repository(&bench.at(""), &bench.outside("of-the-project"), false)?;
    repository(&bench.at("bare"), &ran, true)?;
    repository(&bench.at("inner"), &ran, false)?;
    std::fs::create_dir_all(bench.at("plain/deep"))?;
    std::fs::create_dir_all(bench.at("bare/deep"))?;
    for folder in ["bare", "inner", "bare/deep"] {
        for command in [
            format!("cd {folder} && git status"),
            format!("cd {folder}; git status"),
            format!("cd ./{folder}/ && make"),
            format!("(cd {folder}; git log)"),
            format!("pushd {folder} && git status && popd"),
            format!("if cd {folder}; then git status; fi"),
            format!("cd plain; cd ../{folder}; git status"),
            format!("git -C {folder} status"),
            format!("git --git-dir={folder} status"),
            format!("git --git-dir {folder} status"),
            format!("GIT_DIR={folder} git status"),
            format!("export GIT_DIR={folder}; git status"),
        ] {
            assert_eq!(judged(&bench, json!({ "command": command }))?, Effect::Ask, "{command}");
        }
        assert_eq!(judged(&bench, json!({"command": "git status", "workdir": folder}))?, Effect::Ask, "{folder}");
    }
    for command in [
        // What is not there yet can be anything.
        "mv bare new && cd new && git status",
        "tar xf a.tar && cd plain && git status",
        "cp -r inner/x plain; cd plain; git status",
        // What git and others obey is not changed by the way.
        "mv evil plain/.git",
        "cp -r inner/.git plain",
        "mv x .git/hooks/pre-commit",
        "ln -s ../x .git/config.worktree",
        "cp evil .vscode/tasks.json",
        "cp evil .g*t/config",
        "cp evil .Git/config",
    ] {
        assert_eq!(judged(&bench, json!({ "command": command }))?, Effect::Ask, "{command}");
    }
    for command in [
        "git status",
        "cd plain && git status",
        "cd plain/deep && git log && cd ..",
        "git add bare && git status",
        "cp a b && git add b",
        "ls bare",
        "mv a plain/b",
        "tar xf a.tar && git add a",
    ] {
        assert_eq!(judged(&bench, json!({ "command": command }))?, Effect::Allow, "{command}");
    }
    Ok(())
}

#[tokio::test]
async fn git_in_the_project_is_asked_for_while_its_index_leads_to_another_repository() -> Tested {
    let bench = Bench::new()?;
    repository(&bench.at(""), &bench.outside("of-the-project"), false)?;
    repository(&bench.at("inner"), &bench.outside("ran"), false)?;
    assert_eq!(judged(&bench, json!({"command": "git status"}))?, Effect::Allow);
    let added = Command::new("git").args(["add", "inner"]).current_dir(bench.at("")).output()?;
    assert!(added.status.success());
    assert_eq!(judged(&bench, json!({"command": "git status"}))?, Effect::Ask);
    assert_eq!(judged(&bench, json!({"command": "ls -l"}))?, Effect::Allow);
    Ok(())
}

#[tokio::test]
async fn git_asks_no_program_which_files_changed_and_takes_no_folder_for_a_repository_by_its_content() -> Tested {
    let bench = Bench::new()?;
    let ran = bench.outside("ran");
    repository(&bench.at(""), &ran, false)?;
    repository(&bench.at("bare"), &ran, true)?;
    for folder in ["", "bare"] {
        let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(bench.at(folder)).output();
        git(&["-c", "safe.bareRepository=all", "status"])?;
        assert!(ran.exists(), "without the settings it runs: {folder}");
        std::fs::remove_file(&ran)?;
        for how in [json!({}), json!({"pty": true})] {
            let mut input =
                json!({"command": "git status; git config --get-all safe.bareRepository", "workdir": folder});
            input
                .as_object_mut()
                .into_iter()
                .for_each(|fields| fields.extend(how.as_object().cloned().unwrap_or_default()));
            let said = bench.said("bash", input.clone()).await;
            assert!(!ran.exists() && said.contains("explicit"), "{input}: {said}");
        }
    }
    let started = bench.said("bash", json!({"command": "git status; echo done", "background": true})).await;
    assert!(started.contains("cmd_"), "{started}");
    let ended = bench.said("bash_output", json!({"wait_ms": 20_000})).await;
    assert!(!ran.exists(), "{ended}");
    Ok(())
}
