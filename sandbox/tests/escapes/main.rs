//! A table of ways out of the sandbox. Each is tried twice: without the sandbox, where it has to work, so that the table
//! means something, and within it, where it has to change, read, reach and stop nothing.

/// Programs that tests need: the list of `annals_tests::needed`.
#[allow(dead_code)]
#[path = "../../../tests/src/needed.rs"]
mod needed;
mod table;
mod world;

use annals_sandbox::{Launcher, ProtectedFiles, Sandbox, SandboxPolicy};
use std::error::Error;
use table::{ESCAPES, Escape};
use world::World;

type Tested = Result<(), Box<dyn Error>>;

fn sandbox(world: &World, change: impl FnOnce(&mut SandboxPolicy)) -> Result<Sandbox, Box<dyn Error>> {
    let launcher = Launcher { program: env!("CARGO_BIN_EXE_annals-sandbox").into(), arguments: Vec::new() };
    Ok(Sandbox::probe_plain(launcher, policy(world, change))?)
}

fn policy(world: &World, change: impl FnOnce(&mut SandboxPolicy)) -> SandboxPolicy {
    let mut policy = world.policy();
    change(&mut policy);
    policy
}

fn wrapped(world: &World, change: impl FnOnce(&mut SandboxPolicy)) -> Result<Sandbox, Box<dyn Error>> {
    let launcher = Launcher { program: env!("CARGO_BIN_EXE_annals-sandbox").into(), arguments: Vec::new() };
    Ok(Sandbox::probe(launcher, policy(world, change))?)
}

/// Runs a script in a sandbox as the tools do; gives its output.
fn confined(world: &World, sandbox: &Sandbox, script: &str) -> Result<String, Box<dyn Error>> {
    let kept = ProtectedFiles::capture(sandbox.policy());
    let words = sandbox.command("/bin/bash", &["-c".as_ref(), script.as_ref()]);
    let output = world.run(&words)?;
    kept.restore();
    world.look_with_git()?;
    Ok(output)
}

#[test]
fn no_way_out_of_the_table_works() -> Tested {
    needs!("python3");
    let (mut out, mut harmless) = (Vec::new(), Vec::new());
    for Escape { name, script, everywhere } in ESCAPES {
        let world = World::new()?;
        let output = world.run(&["/bin/bash".into(), "-c".into(), (*script).into()])?;
        world.look_with_git()?;
        if *everywhere && world.escaped(&output).is_none() {
            harmless.push(format!("{name}: {output}"));
        }
        let world = World::new()?;
        let output = confined(&world, &sandbox(&world, |_| ())?, script)?;
        if let Some(what) = world.escaped(&output) {
            out.push(format!("{name}: {what}: {output}"));
        }
    }
    assert!(ESCAPES.len() >= 60, "{}", ESCAPES.len());
    assert!(harmless.is_empty(), "do nothing without a sandbox either: {harmless:#?}");
    assert!(out.is_empty(), "{} of {} escape: {out:#?}", out.len(), ESCAPES.len());
    println!("{} ways out, none works", ESCAPES.len());
    Ok(())
}

#[test]
fn no_way_out_works_with_bubblewrap_either_where_it_can_be_used() -> Tested {
    needs!("bwrap", "python3");
    let enforced = wrapped(&World::new()?, |_| ())?.enforced().clone();
    if !enforced.bubblewrap {
        needed::skipped("bwrap", "bubblewrap cannot be used here");
        return Ok(());
    }
    let mut out = Vec::new();
    for Escape { name, script, .. } in ESCAPES {
        let world = World::new()?;
        let output = confined(&world, &wrapped(&world, |_| ())?, script)?;
        if let Some(what) = world.escaped(&output) {
            out.push(format!("{name}: {what}: {output}"));
        }
    }
    assert!(out.is_empty(), "{} of {} escape: {out:#?}", out.len(), ESCAPES.len());
    println!("{} ways out, none works: {enforced:?}", ESCAPES.len());
    Ok(())
}

#[test]
fn ordinary_work_is_not_disturbed() -> Tested {
    needs!("python3");
    let world = World::new()?;
    let sandbox = sandbox(&world, |_| ())?;
    for (script, expected) in [
        ("echo new > top.txt && cat top.txt", "new"),
        ("mkdir -p src/deep && mv top.txt src/deep/ && ls src/deep", "top.txt"),
        ("rm -r src/deep && echo gone", "gone"),
        ("t=$(mktemp) && echo in > $t && cat $t && rm $t", "in"),
        ("python3 -c 'import subprocess, json; print(json.dumps(subprocess.run([\"true\"]).returncode))'", "0"),
        ("git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git log --format=%s", "x"),
        ("printf 'int main(){return 7;}' > m.c && gcc -o m m.c; ./m; echo $?", "7"),
        ("cat ~/notes.txt", "a note"),
        ("ls ~ && cat /etc/passwd > /dev/null && echo read", "read"),
        ("(sleep 5 & kill $!; wait) 2>/dev/null; echo ended", "ended"),
        ("python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"pair\"); print(b.recv(9))'", "pair"),
    ] {
        let output = confined(&world, &sandbox, script)?;
        assert!(output.contains(expected), "{script}: {output}");
    }
    Ok(())
}

#[test]
fn a_policy_widens_and_narrows_what_a_command_may_do() -> Tested {
    let world = World::new()?;
    let reads = sandbox(&world, |policy| policy.writable = false)?;
    assert!(confined(&world, &reads, "echo x > new.txt || echo refused")?.contains("refused"));
    let world = World::new()?;
    let writes = sandbox(&world, |policy| policy.write.push(world.at("outside")))?;
    confined(&world, &writes, "echo more >> $OUT/file")?;
    assert!(world.escaped("").is_some(), "it is allowed now");
    let world = World::new()?;
    let online = sandbox(&world, |policy| policy.network = true)?;
    assert!(online.enforced().network);
    confined(&world, &online, "exec 3<>/dev/tcp/127.0.0.1/$TCP")?;
    assert_eq!(world.escaped(""), Some("reached a server".into()));
    Ok(())
}

#[test]
fn in_a_project_that_is_the_home_folder_keys_and_start_up_files_stay_closed() -> Tested {
    let whole = |world: &World| {
        let root = world.at("");
        move |policy: &mut SandboxPolicy| {
            policy.project = root;
            policy.write.clear();
        }
    };
    for bubblewrap in [false, true] {
        for script in [
            "cat ~/.ssh/id_ed25519",
            "cp -r ~ ../copy; cat ../copy/.ssh/id_ed25519",
            "mv ~/.ssh ~/keys; cat ~/keys/id_ed25519",
            "mv ~ ../away; cat ../away/.ssh/id_ed25519",
            "echo x >> ~/.bashrc",
            "mkdir -p ~/.config/annals; echo x > ~/.config/annals/config.toml",
            "mv ~/.config ~/old; mkdir -p ~/.config/annals; echo x > ~/.config/annals/config.toml",
            "ln -s ~/.config here; echo x > here/annals/config.toml",
            "ln ~/.netrc here && cat here",
        ] {
            for exists in [false, true] {
                let world = World::new()?;
                if exists {
                    std::fs::create_dir_all(world.at("home/.config/annals"))?;
                }
                let sandbox =
                    if bubblewrap { wrapped(&world, whole(&world))? } else { sandbox(&world, whole(&world))? };
                let output = confined(&world, &sandbox, script)?;
                let own = world.at("home/.config/annals/config.toml");
                let escaped = output.contains("S3CRET") || own.exists() || world.at("home/.bashrc").exists();
                assert!(!escaped, "{script} ({bubblewrap}, {exists}): {output}");
                assert!(!sandbox.policy().narrowed().is_empty());
            }
        }
        let world = World::new()?;
        let sandbox = if bubblewrap { wrapped(&world, whole(&world))? } else { sandbox(&world, whole(&world))? };
        let output = confined(&world, &sandbox, "echo more >> main.c && echo x > sub/new && cat ~/notes.txt main.c")?;
        assert!(output.contains("a note") && output.contains("more"), "{output}");
    }
    Ok(())
}

#[test]
fn a_launcher_that_cannot_keep_the_promise_starts_nothing() -> Tested {
    let world = World::new()?;
    let mut words = sandbox(&world, |_| ())?.command("/bin/echo", &["started".as_ref()]);
    let request = words[2].to_string_lossy().replace("\"landlock\":", "\"landlock\":9");
    words[2] = request.into();
    let output = world.run(&words)?;
    assert!(output.contains("did not start the command") && !output.contains("started\n"), "{output}");
    Ok(())
}
