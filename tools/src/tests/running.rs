//! The tool `bash`.

use super::bench::{Bench, Tested, structured};
use super::process::{is_gone, is_zombie, process};
use crate::process_group::ProcessGroup;
use annals_runtime::tools::{CallError, ProgressSender};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn what_a_command_writes_comes_in_its_order_with_how_it_ended() -> Tested {
    let bench = Bench::new()?;
    bench.put("sub/x", "")?;
    let output = bench.call("bash", json!({"command": "echo one; echo two >&2; echo three; exit 3"})).await?;
    assert_eq!(output.text.as_deref(), Some("one\ntwo\nthree\nCommand exited with code 3."));
    let expected = json!({"exit": 3, "signal": null, "timed_out": false, "bytes": 14, "omitted": 0});
    assert_eq!(structured(&output), expected);
    assert_eq!(
        bench.said("bash", json!({"command": "printf é", "workdir": "sub"})).await,
        "é\nCommand exited with code 0."
    );
    assert_eq!(bench.said("bash", json!({"command": "ls", "workdir": "sub"})).await, "x\nCommand exited with code 0.");
    assert_eq!(bench.said("bash", json!({"command": "kill -9 $$"})).await, "Command was ended by signal 9.");
    assert_eq!(bench.said("bash", json!({"command": "cat; read x; echo $?"})).await, "1\nCommand exited with code 0.");
    assert_eq!(
        bench.said("bash", json!({"command": "ls", "workdir": "nowhere"})).await.split(':').next(),
        Some("nowhere")
    );
    assert_eq!(bench.said("bash", json!({"command": "ls", "workdir": "sub/x"})).await, "sub/x is not a directory.");
    Ok(())
}

#[tokio::test]
async fn an_impossible_input_is_refused() -> Tested {
    let bench = Bench::new()?;
    for input in [
        json!({"command": " "}),
        json!({"command": "a\0b"}),
        json!({"command": "ls", "timeout_ms": 600_001}),
        json!({"command": "ls", "timeout_ms": 0}),
        json!({}),
    ] {
        assert!(matches!(bench.judged("bash", input.clone()), Err(CallError::InvalidInput(_))), "{input}");
    }
    Ok(())
}

#[tokio::test]
async fn at_its_time_limit_a_command_is_ended() -> Tested {
    let bench = Bench::new()?;
    let output = bench.call("bash", json!({"command": "sleep 1000", "timeout_ms": 50})).await?;
    assert_eq!(output.text.as_deref(), Some("Command was ended at its time limit of 50 ms."));
    let expected = json!({"exit": null, "signal": null, "timed_out": true, "bytes": 0, "omitted": 0});
    assert_eq!(structured(&output), expected);
    Ok(())
}

#[tokio::test]
async fn a_group_that_does_not_want_to_end_is_made_to() -> Tested {
    let bench = Bench::new()?;
    let file = bench.at("inner");
    let script = "trap '' TERM; (trap '' TERM; echo $BASHPID > inner; while true; do sleep 1; done) & wait";
    let mut command = tokio::process::Command::new("bash");
    let mut group = ProcessGroup::start(command.args(["-c", script]).current_dir(bench.at("")))?;
    let inner = process(&file).await?;
    assert!(group.end().await);
    assert!(is_gone(inner) && !group.end().await);
    Ok(())
}

#[tokio::test]
async fn a_process_that_has_ended_but_that_its_parent_does_not_ask_for_was_not_left_running() -> Tested {
    let bench = Bench::new()?;
    // The parent of the inner process leaves the group and never waits.
    let script = "(sh -c 'echo $$ > inner' & echo $BASHPID > parent; exec setsid sleep 1000) & \
        while ! test -s inner; do sleep 0.01; done";
    let mut command = tokio::process::Command::new("bash");
    let mut group = ProcessGroup::start(command.args(["-c", script]).current_dir(bench.at("")))?;
    assert!(group.leader().await?.success());
    let (inner, parent) = (process(&bench.at("inner")).await?, process(&bench.at("parent")).await?);
    let left_the_group = || rustix::process::getsid(Some(parent)).is_ok_and(|session| session == parent);
    let only_a_zombie_is_left = async {
        while !(is_zombie(inner) && left_the_group()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), only_a_zombie_is_left).await?;
    let left = group.end().await;
    let still_a_zombie = is_zombie(inner);
    rustix::process::kill_process(parent, rustix::process::Signal::KILL)?;
    assert!(still_a_zombie && !left);
    Ok(())
}

#[tokio::test]
async fn what_a_command_left_running_is_ended_with_it() -> Tested {
    let bench = Bench::new()?;
    let command = "sleep 1000 & echo $! > inner; echo done";
    let said = bench.said("bash", json!({"command": command})).await;
    assert_eq!(said, "done\nCommand exited with code 0. Processes that it had left running were ended.");
    assert!(is_gone(process(&bench.at("inner")).await?));
    Ok(())
}

#[tokio::test]
async fn a_process_that_left_the_group_and_holds_the_pipe_is_not_waited_for() -> Tested {
    let bench = Bench::new()?;
    let command =
        "setsid sh -c 'echo $$ > inner; exec sleep 1000' & while ! test -s inner; do sleep 0.01; done; echo done";
    let said = bench.said("bash", json!({"command": command})).await;
    let escaped = process(&bench.at("inner")).await?;
    rustix::process::kill_process(escaped, rustix::process::Signal::KILL)?;
    assert!(said.starts_with("done\nCommand exited with code 0."), "{said}");
    Ok(())
}

#[tokio::test]
async fn an_interrupted_command_is_gone_when_its_call_ends() -> Tested {
    let bench = Bench::new()?;
    let input = json!({"command": "sleep 1000 & echo $! > inner; wait"});
    let call = bench.call("bash", input);
    let interrupt = async {
        let inner = process(&bench.at("inner")).await?;
        bench.cancel.cancel();
        Ok::<_, Box<dyn std::error::Error>>(inner)
    };
    let (ended, inner) = tokio::join!(call, interrupt);
    assert_eq!(ended, Err(CallError::Interrupted));
    assert!(is_gone(inner?));
    Ok(())
}

#[tokio::test]
async fn a_dropped_call_takes_its_processes_along() -> Tested {
    let bench = Bench::new()?;
    let command = "trap '' TERM; sleep 1000 & echo $! > inner; while true; do wait; done";
    let file = bench.at("inner");
    let inner = tokio::select! {
        ended = bench.call("bash", json!({"command": command})) => return Err(format!("{ended:?}").into()),
        inner = process(&file) => inner?,
    };
    while !is_gone(inner) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn an_endless_output_is_held_in_part() -> Tested {
    let bench = Bench::new()?;
    let output = bench.call("bash", json!({"command": "echo first; head -c 30000000 /dev/zero; echo last"})).await?;
    let text = output.text.clone().unwrap_or_default();
    assert!(text.starts_with("first\n\u{fffd}") && text.ends_with("\u{fffd}last\nCommand exited with code 0."));
    assert_eq!(structured(&output)["bytes"], json!(30_000_011));
    assert_eq!(structured(&output)["omitted"], json!(30_000_011 - 2 * 4 * 1024 * 1024));
    Ok(())
}

#[tokio::test]
async fn what_there_is_so_far_is_shown() -> Tested {
    let (sender, mut watched) = tokio::sync::mpsc::unbounded_channel();
    let mut bench = Bench::new()?;
    bench.progress = ProgressSender::to(sender);
    let command = "echo begun; while ! test -e go; do sleep 0.01; done; echo ended";
    let watch = async {
        let shown = watched.recv().await;
        bench.put("go", "")?;
        Ok::<_, std::io::Error>(shown)
    };
    let (said, shown) = tokio::join!(bench.said("bash", json!({"command": command})), watch);
    assert_eq!(shown?.and_then(|shown| shown.output), Some("begun\n".into()));
    assert_eq!(said, "begun\nended\nCommand exited with code 0.");
    Ok(())
}

#[tokio::test]
async fn a_command_sees_no_hidden_variable() -> Tested {
    let command = || json!({"command": "echo ${HOME:+seen}"});
    assert_eq!(Bench::new()?.said("bash", command()).await, "seen\nCommand exited with code 0.");
    let hiding = Bench::with(|place| place.hiding(["HOME"]))?;
    assert_eq!(hiding.said("bash", command()).await, "\nCommand exited with code 0.");
    Ok(())
}
