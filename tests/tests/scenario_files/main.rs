//! Scenario files, a test for each: the file holds, twice alike and with the same report on disk, every request of its log is proved, and its
//! sessions, recorded, play again to the same views. `cargo test --test scenarios PART-OF-A-NAME` plays some of them.

mod played;
mod recorded;

use annals_scenario::{Backend, STARTER, Scenario, ScenarioReport, play};
use annals_store::{DiskLog, OpenMode};
use annals_tests::scenarios::files;
use libtest_mimic::{Arguments, Failed, Trial};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut trials: Vec<Trial> = files()
        .into_iter()
        .map(|(name, file)| {
            Trial::test(name.clone(), move || holds(&name, &file).map_err(|error| Failed::from(error.to_string())))
        })
        .collect();
    trials.push(Trial::test("the_start_that_is_written_for_people_holds", || {
        let scenario = Scenario::parse(STARTER, Path::new("start"))?;
        played::passed(&played::on("start", &scenario, &Backend::Memory)?).map_err(Failed::from)
    }));
    trials.push(Trial::test("every_gap_of_a_log_is_one_of_a_scenario_file", || {
        let names: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
        match recorded::GAPS.iter().find(|(name, _)| !names.iter().any(|file| file == name)) {
            Some((name, _)) => Err(format!("no scenario file is named {name}").into()),
            None => Ok(()),
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn holds(name: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::load(file)?;
    let in_memory = played::on(name, &scenario, &Backend::Memory)?;
    played::passed(&in_memory)?;
    let reached = in_memory.last["requests"].as_array().cloned().unwrap_or_default();
    let bytes = |outcome| ScenarioReport { scenarios: vec![outcome] }.to_json().to_string();
    let expected = bytes(in_memory);
    if bytes(played::on(name, &scenario, &Backend::Memory)?) != expected {
        return Err("two runs differ".into());
    }
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("store");
    if bytes(play(name, &scenario, &Backend::Sled(store.clone()))?) != expected {
        return Err("the report on disk differs from that in memory".into());
    }
    let (log, _) = DiskLog::open(&store, OpenMode::Existing)?;
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    events.block_on(async {
        played::proved(&log, &reached).await?;
        recorded::plays_again(name, &log).await
    })
}
