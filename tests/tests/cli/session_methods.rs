//! Every public method of a session is reachable: a command, a scenario verb or what hosts need calls it, or a reason is given
//! here.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Methods that no command and no scenario verb calls, and why they are public all the same.
const NOT_CALLED: [(&str, &str); 2] = [
    ("plan_move", "`choose_move` calls it; a host that only moves with changes plans with it"),
    ("wake", "`prompt` calls it; a host that only admitted inputs starts the run with it"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The product's code below a folder, without tests.
fn sources(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut all = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "tests" {
            all += &sources(&path)?;
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path)?;
            all += text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        }
    }
    Ok(all)
}

/// The public methods of `Session` and `SessionEditor`.
fn methods() -> Result<BTreeSet<String>, Box<dyn Error>> {
    let runtime = root().join("runtime/src");
    let code = fs::read_to_string(runtime.join("session.rs"))? + &sources(&runtime.join("session"))?;
    let (mut methods, mut inside) = (BTreeSet::new(), false);
    for line in code.lines() {
        if line == "impl Session {" || line == "impl SessionEditor {" {
            inside = true;
        } else if line == "}" {
            inside = false;
        }
        let public = line.strip_prefix("    pub ").map(|rest| rest.strip_prefix("async ").unwrap_or(rest));
        let name = public.and_then(|rest| rest.strip_prefix("fn ")).and_then(|rest| rest.split(['(', '<']).next());
        methods.extend(name.filter(|_| inside).map(str::to_owned));
    }
    Ok(methods)
}

#[test]
fn every_public_method_of_a_session_is_called_or_its_reason_is_named() -> Result<(), Box<dyn Error>> {
    let methods = methods()?;
    assert!(methods.contains("plan_revert") && methods.contains("withdraw"), "found only {methods:?}");
    let mut callers = String::new();
    for folder in ["replay-cli/src", "terminal/src", "acp/src", "serve/src", "scenario/src", "runtime/src/host"] {
        callers += &sources(&root().join(folder))?;
    }
    callers += &fs::read_to_string(root().join("runtime/src/rerun.rs"))?;
    let called = |name: &str| callers.contains(&format!(".{name}(")) || callers.contains(&format!("::{name}("));
    let listed: BTreeSet<&str> = NOT_CALLED.iter().map(|(name, _)| *name).collect();
    let unreachable: Vec<&String> =
        methods.iter().filter(|name| !called(name) && !listed.contains(name.as_str())).collect();
    assert!(unreachable.is_empty(), "connect, delete or explain: {unreachable:?}");
    let outdated: Vec<&&str> = listed.iter().filter(|name| !methods.contains(**name) || called(name)).collect();
    assert!(outdated.is_empty(), "no longer need a reason: {outdated:?}");
    Ok(())
}
