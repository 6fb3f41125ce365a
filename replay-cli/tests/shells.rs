//! What shells are given: completions, man pages, and pipes that are closed early.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn annals(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
    command.env("HOME", home).env("TZ", "UTC").current_dir(home).stdin(Stdio::null());
    for variable in ["ANNALS_STORE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "COMPLETE"] {
        command.env_remove(variable);
    }
    command
}

/// A home with one session, and its id.
fn home() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/opencode/v2/first.events.jsonl");
    assert!(annals(home.path()).arg("import").arg(file).status().expect("annals runs").success());
    let listed = annals(home.path()).args(["sessions", "--all", "--json"]).output().expect("annals runs");
    let sessions: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let id = sessions[0]["id"].as_str().expect("an id").to_owned();
    (home, id)
}

#[test]
fn bash_zsh_and_fish_are_offered_ids_of_sessions_and_options() {
    let (home, id) = home();
    for shell in ["bash", "zsh", "fish"] {
        let offered = |words: &[&str]| {
            let output = annals(home.path())
                .env("COMPLETE", shell)
                .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
                .env("_CLAP_COMPLETE_COMP_TYPE", "9")
                .env("_CLAP_COMPLETE_SPACE", "false")
                .env("_CLAP_IFS", "\n")
                .arg("--")
                .args(words)
                .output()
                .expect("annals runs");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let ids = offered(&["annals", "replay", "01"]);
        assert!(
            ids.lines().any(|line| id.starts_with(line.split([':', '\t']).next().unwrap_or("-"))),
            "{shell}: {ids}"
        );
        assert!(offered(&["annals", "sessions", "--dir"]).contains("--directory"), "{shell}");
        assert!(offered(&["annals", "usag"]).contains("usage"), "{shell}");
    }
}

#[test]
fn what_a_shell_is_given_is_a_script_of_that_shell() {
    let home = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = annals(home.path()).args(["completions", shell]).output().expect("annals runs");
        let file: PathBuf = home.path().join(shell);
        std::fs::write(&file, &script.stdout).expect("a script");
        assert!(String::from_utf8_lossy(&script.stdout).contains("COMPLETE"), "{shell}");
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr)),
            Err(error) => eprintln!("{shell} is not installed: {error}"),
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let home = tempfile::tempdir().expect("a folder");
    let written = annals(home.path()).args(["completions", "--man", "man1"]).status().expect("annals runs");
    assert!(written.success());
    for name in ["annals", "annals-import", "annals-usage", "annals-replay"] {
        let page = std::fs::read_to_string(home.path().join(format!("man1/{name}.1"))).expect("a page");
        assert!(page.contains(".TH ") && page.contains(".SH OPTIONS"), "{name}");
    }
}

#[test]
fn rows_of_sql_may_be_cut_by_a_pipe() {
    let (home, _) = home();
    let rows = "with recursive n(i) as (select 1 union all select i + 1 from n limit 200000) select i, 'a row' from n";
    for form in [&[][..], &["--csv"], &["--json"]] {
        let mut child = annals(home.path())
            .args(["sql", rows])
            .args(form)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("annals runs");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 16]).expect("it answers");
        drop(stdout);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), ("", Some(0)), "{form:?}");
    }
}
