//! `annals erase` on a store that machines share.

use crate::nats::cluster::Cluster;
use crate::run::cluster::{fine, two_machines};
use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use memchr::memmem;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const SECRET: &str = "the-planted-secret";

/// The files of a folder that contain the secret; `$SYS` has what servers have not written to their streams for good yet.
fn containing(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "$SYS") {
                found.extend(containing(&path));
            }
        } else if memmem::find(&fs::read(&path).unwrap_or_default(), SECRET.as_bytes()).is_some() {
            found.push(path);
        }
    }
    found
}

/// A session of two turns, in the second of which the secret is said, inline and as a large text.
fn planted(cluster: &Cluster, model: &Model) -> ([Person; 2], String) {
    let [one, other] = two_machines(model, cluster);
    fine(&one, &["run", "First question."]);
    let session = one.json(&["sessions", "--all", "--json"])[0]["id"].as_str().expect("an id").to_owned();
    fine(&one, &["run", "-s", &session, &format!("{SECRET} in a question.")]);
    model.then([Says::Text("The last answer.")]);
    fine(&one, &["run", "-s", &session, &format!("{SECRET} {}", "long ".repeat(3_000))]);
    ([one, other], session)
}

#[test]
fn a_text_is_erased_from_every_server_and_from_what_other_machines_kept() {
    let Some(cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("One."), Says::Text("Two.")]).expect("a server");
    let ([one, other], session) = planted(&cluster, &model);
    fine(&other, &["index"]);
    assert!(fine(&other, &["transcript", &session]).contains(SECRET));
    assert!(!containing(&other.home()).is_empty() && !containing(cluster.folder()).is_empty());
    let erase = ["erase", &session, "--matching", SECRET, "--reason", "asked", "--yes"];
    let erased = one.annals(&erase);
    assert_eq!(erased.status, Some(0), "{erased:?}");
    assert!(erased.out.contains("integrity unchanged"), "{erased:?}");
    assert_eq!(containing(cluster.folder()), Vec::<PathBuf>::new());
    assert_eq!(containing(&one.home()), Vec::<PathBuf>::new());
    let shown = fine(&other, &["transcript", &session]);
    assert!(shown.contains("[erased: ") && shown.contains("Two.") && !shown.contains(SECRET), "{shown}");
    assert_eq!(containing(&other.home()), Vec::<PathBuf>::new());
    let verified = fine(&other, &["verify", &session]);
    assert!(verified.contains("integrity verified") && verified.contains("asked"), "{verified}");
    let again = one.annals(&erase);
    assert_eq!(again.status, Some(2), "nothing is left to erase: {again:?}");
    // It continues.
    model.then([Says::Text("After it.")]);
    let directory = one.project().to_string_lossy().into_owned();
    fine(&other, &["run", "-s", &session, "--directory", &directory, "And now?"]);
    assert!(fine(&one, &["transcript", &session]).contains("After it."));
    fine(&one, &["forget", &session, "--reason", "all of it", "--yes"]);
    assert_eq!(other.json(&["sessions", "--all", "--json"]), serde_json::json!([]));
    assert!(fine(&other, &["verify"]).contains("integrity verified"));
}

#[test]
fn an_erasure_is_pending_while_a_server_is_away() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("One."), Says::Text("Two.")]).expect("a server");
    let ([one, _], session) = planted(&cluster, &model);
    cluster.kill(2);
    let erase = ["erase", &session, "--matching", SECRET, "--reason", "asked", "--yes"];
    let pending = one.annals(&erase);
    assert_eq!(pending.status, Some(1), "{pending:?}");
    assert!(pending.out.contains("erasure pending") && pending.remarks.contains("n3"), "{pending:?}");
    assert!(fine(&one, &["verify"]).contains("erasure pending"));
    cluster.restart(2);
    cluster.await_healthy();
    let confirmed = (0..300).any(|_| {
        thread::sleep(Duration::from_millis(200));
        fine(&one, &["verify"]).contains("erasure confirmed by all servers")
    });
    assert!(confirmed, "verify never confirms it");
    let finished = one.annals(&erase);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.out.contains("erased"), "{finished:?}");
    assert!(!fine(&one, &["verify"]).contains("erasure"));
    assert_eq!(containing(cluster.folder()), Vec::<PathBuf>::new());
}

#[test]
fn a_command_that_is_killed_while_it_erases_is_finished_by_the_next() {
    let Some(cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("One."), Says::Text("Two.")]).expect("a server");
    let ([one, other], session) = planted(&cluster, &model);
    let erase = ["erase", &session, "--matching", SECRET, "--reason", "asked", "--yes"];
    for millis in [150, 250, 350] {
        let mut dying = one.command(erase).spawn_watched().expect("it runs");
        thread::sleep(Duration::from_millis(millis));
        drop(dying.kill());
        dying.wait().expect("its end");
        // Lines are wrapped at 80 columns.
        let verified = fine(&other, &["verify", &session]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(verified.contains("integrity verified"), "killed after {millis} ms: {verified}");
    }
    // The right to run the session expires 15 seconds after the last process died.
    let finished = (0..60).any(|_| {
        thread::sleep(Duration::from_millis(500));
        let answer = other.annals(&erase);
        answer.status == Some(0) || answer.remarks.contains("nothing to erase")
    });
    assert!(finished, "it is never finished: {:?}", other.annals(&erase));
    assert_eq!(containing(cluster.folder()), Vec::<PathBuf>::new());
    assert!(fine(&other, &["verify"]).contains("integrity verified"));
}
