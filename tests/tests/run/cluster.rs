//! The command over a store that machines share.

use crate::nats::cluster::Cluster;
use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// Two people with machines of their own (homes and caches), and one store in a cluster of three servers.
pub fn two_machines(model: &Model, cluster: &Cluster) -> [Person; 2] {
    let address = cluster.address("team").to_string();
    let person = || {
        let mut person = Person::with_model(model.url(), "openai-chat");
        person.set("ANNALS_STORE", &address);
        person
    };
    let people = [person(), person()];
    let monitors = cluster.monitors();
    let mut args = vec!["store", "create", &address, "--replicas", "3", "--shards", "2"];
    monitors.iter().for_each(|monitor| args.extend(["--monitor", monitor]));
    let created = people[0].annals(&args);
    assert_eq!(created.status, Some(0), "{created:?}");
    assert!(created.out.contains("flushed to the devices of 2 of 3 servers"), "{created:?}");
    people
}

pub fn fine(person: &Person, args: &[&str]) -> String {
    let answer = person.annals(args);
    assert_eq!(answer.status, Some(0), "{args:?}: {answer:?}");
    answer.out
}

#[test]
fn a_session_is_continued_on_another_machine_after_the_first_one_died() {
    let Some(cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("The first answer."), Says::Begins("Half of ")]).expect("a server");
    let [one, other] = two_machines(&model, &cluster);
    let directory = one.project().to_string_lossy().into_owned();
    fine(&one, &["run", "First question."]);
    let sessions = other.json(&["sessions", "--all", "--json"]);
    let session = sessions[0]["id"].as_str().expect("an id").to_owned();
    assert!(fine(&other, &["transcript", &session]).contains("The first answer."));
    // The first machine dies in the middle of an answer.
    let mut dying = one.command(["run", "-s", &session, "Second question."]).spawn_watched().expect("it runs");
    while model.received().len() < 2 {
        thread::sleep(Duration::from_millis(20));
    }
    dying.kill().expect("a process");
    dying.wait().expect("its end");
    model.then([Says::Text("The whole answer.")]);
    // The second one waits until the right to run the session has expired.
    let answer = other.annals(&["run", "-s", &session, "--directory", &directory, "Third question."]);
    assert_eq!(answer.status, Some(0), "{answer:?}");
    assert!(answer.out.contains("The whole answer."), "{answer:?}");
    let verified = fine(&one, &["verify", "--requests", &session]);
    assert!(verified.contains("integrity verified"), "{verified}");
    let heads = [&one, &other].map(|person| person.json(&["sessions", "--all", "--json"])[0]["next"].clone());
    assert_eq!(heads[0], heads[1], "both see the same");
}

#[test]
fn sessions_are_copied_into_a_cluster_and_out_of_it_with_their_digests() {
    let Some(cluster) = Cluster::start(1) else { return };
    let model = Model::start([]).expect("a server");
    let person = Person::with_model(model.url(), "openai-chat");
    let folder = person.store().to_string_lossy().into_owned();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex");
    fine(&person, &["import", fixtures]);
    let address = cluster.address("copies").to_string();
    let missing = person.annals(&["copy", "--from", &folder, "--to", &address]);
    assert_eq!(missing.status, Some(2), "{missing:?}");
    assert!(missing.remarks.contains(&format!("annals store create {address}")), "{missing:?}");
    fine(&person, &["store", "create", &address, "--replicas", "1", "--monitor", &cluster.monitors()[0]]);
    let copied = person.json(&["copy", "--from", &folder, "--to", &address, "--json"]);
    assert_eq!(copied["failures"], Value::Array(Vec::new()), "{copied}");
    let count = copied["sessions"].as_array().expect("a list").len();
    assert!(count > 1, "{copied}");
    let again = person.json(&["copy", "--from", &folder, "--to", &address, "--json"]);
    assert_eq!(again["new"], 0, "{again}");
    let back = person.folder().join("back").to_string_lossy().into_owned();
    fine(&person, &["copy", "--from", &address, "--to", &back]);
    let listed = |store: &str| person.json(&["sessions", "--all", "--children", "--json", "--store", store]);
    let [ours, cluster_has, theirs] = [&folder, &address, &back].map(|store| listed(store));
    assert_eq!(ours, theirs);
    assert_eq!(ours, cluster_has);
    for store in [&address, &back] {
        assert!(fine(&person, &["verify", "--store", store]).contains("integrity verified"));
    }
    for refused in [&["doctor"][..], &["sign"]] {
        let answer = person.annals(&[refused, &["--store", &address]].concat());
        assert_eq!(answer.status, Some(2), "{answer:?}");
        assert!(answer.remarks.contains("annals copy --from"), "{answer:?}");
    }
}
