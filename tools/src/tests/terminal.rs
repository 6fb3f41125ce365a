//! Commands on a terminal.

use super::bench::{Bench, Tested, structured};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

#[tokio::test]
async fn a_command_with_a_terminal_finds_one_and_its_text_is_given_clean() -> Tested {
    let overlay = BTreeMap::from([("EDITOR", "ed"), ("TERM", "dumb")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    let bench = Bench::with(|place| place.terminals(Arc::new(overlay)))?;
    let command = "test -t 0 && test -t 1 && test -t 2 && echo \"$TERM $ANNALS_TERMINAL $EDITOR\"; stty size; \
                   printf '10 %%\\r20 %%\\r\\033[Kdone\\n\\033[31mred\\033[0m\\n'; exit 3";
    let said = bench.call("bash", json!({"command": command, "pty": true})).await?;
    assert_eq!(said.text.as_deref(), Some("xterm-256color 1 ed\n40 120\ndone\nred\nCommand exited with code 3."));
    let structured = structured(&said);
    assert_eq!((&structured["exit"], &structured["terminal"]), (&json!(3), &json!({"columns": 120, "rows": 40})));
    Ok(())
}

#[tokio::test]
async fn what_leads_a_terminal_ends_with_all_that_it_started() -> Tested {
    let bench = Bench::new()?;
    let said =
        bench.said("bash", json!({"command": "sleep 600 & echo $!; sleep 600", "pty": true, "timeout_ms": 1_500}));
    let said = said.await;
    assert!(said.ends_with("Command was ended at its time limit of 1500 ms."), "{said}");
    let pid = said.lines().next().and_then(|line| line.trim().parse().ok()).and_then(rustix::process::Pid::from_raw);
    assert!(super::process::is_gone(pid.ok_or("no process id")?));
    Ok(())
}

#[tokio::test]
async fn a_program_that_asks_is_answered() -> Tested {
    let bench = Bench::new()?;
    let command =
        "read -p 'name? ' name; echo \"hello $name\"; read -s -p 'secret? ' secret; echo; echo \"got ${#secret}\"";
    bench.call("bash", json!({"command": command, "pty": true, "background": true})).await?;
    let first = bench.said("bash_output", json!({"wait_ms": 60_000})).await;
    assert!(first.starts_with("name?"), "{first}");
    let said = bench.said("bash_input", json!({"text": "Ada\n", "wait_ms": 60_000})).await;
    assert!(said.contains("hello Ada") && said.contains("secret?"), "{said}");
    let said = bench.said("bash_input", json!({"text": "abc\n", "wait_ms": 60_000})).await;
    assert!(said.contains("got 3"), "{said}");
    let plain = Bench::new()?;
    plain.call("bash", json!({"command": "sleep 600", "background": true})).await?;
    let said = plain.said("bash_input", json!({"text": "x"})).await;
    assert!(said.contains("has no terminal"), "{said}");
    Ok(())
}
