//! Commands in the background.

use super::bench::{Bench, Tested, structured};
use super::process::is_gone;
use crate::BackgroundCommands;
use rustix::process::Pid;
use serde_json::json;

#[tokio::test]
async fn a_command_in_the_background_is_read_later_and_ended() -> Tested {
    let commands = BackgroundCommands::default();
    let bench = Bench::with(|place| place.in_background(commands.clone()))?;
    let started = bench
        .call("bash", json!({"command": "echo $$; sleep 600 & read x; sleep 600", "run_in_background": true}))
        .await?;
    let id = structured(&started)["id"].as_str().map(str::to_owned).unwrap_or_default();
    assert_eq!(id, "cmd_1");
    assert_eq!(commands.running().len(), 1);
    let first = bench.said("bash_output", json!({"id": id, "wait_ms": 60_000})).await;
    let pid = first.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw).ok_or("no process id")?;
    assert!(first.ends_with("\ncmd_1 is running."), "{first}");
    assert_eq!(bench.said("bash_output", json!({})).await, "cmd_1 is running.");
    assert_eq!(bench.said("bash_kill", json!({"id": id})).await, "cmd_1 was ended.");
    assert!(is_gone(pid) && commands.running().is_empty());
    assert_eq!(bench.said("bash_output", json!({"id": "x"})).await, "There is no command \"x\"; there are cmd_1.");
    Ok(())
}

#[tokio::test]
async fn one_that_ends_by_itself_says_how() -> Tested {
    let bench = Bench::new()?;
    bench.call("bash", json!({"command": "echo out; exit 3", "background": true})).await?;
    let mut said = bench.said("bash_output", json!({"id": "cmd_1", "wait_ms": 60_000})).await;
    while said.ends_with("is running.") {
        said += &bench.said("bash_output", json!({"id": "cmd_1", "wait_ms": 1_000})).await;
    }
    assert!(said.contains("out\n") && said.ends_with("cmd_1 exited with code 3."), "{said}");
    let other = bench.other_session();
    let said = other.said("bash_output", json!({"id": "cmd_1"})).await;
    assert_eq!(said, "No command runs in the background: they end with the process that started them.");
    Ok(())
}

#[tokio::test]
async fn a_time_limit_of_the_configuration_holds_for_commands_without_another() -> Tested {
    let bench = Bench::with(|place| place.command_limit(Some(50)))?;
    let said = bench.said("bash", json!({"command": "sleep 600"})).await;
    assert_eq!(said, "Command was ended at its time limit of 50 ms.");
    let said = bench.said("bash", json!({"command": "sleep 0.2", "timeout_ms": 60_000})).await;
    assert_eq!(said, "Command exited with code 0.");
    Ok(())
}
