//! Many processes, one store: whoever owns it may be killed at any moment (`docs/reference/store.md#ownership`).

use annals_core::event::InputEvent;
use annals_core::{Event, Seq, SessionId};
use annals_store::conformance::material::{admitted, begin, draft, next, promoted, session, whole};
use annals_store::exchange::verify_store;
use annals_store::{
    AppendError, EventLog, Followed, HungOwner, OpenMode, Ownership, ReadError, Scope, SharedError, SharedLog, Slice,
};
use annals_tests::deadline::{Watched, WithDeadline};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// Set for a process that this test starts: which store, under which name, how many inputs.
const STORE: &str = "ANNALS_TEST_STORE";
const NAME: &str = "ANNALS_TEST_NAME";
const COUNT: &str = "ANNALS_TEST_COUNT";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The body of a writing process. Told `acked INPUT` on stdout only after the append was acknowledged.
#[test]
#[ignore = "started by the other tests in a process of its own"]
fn a_writing_process() {
    let Ok(dir) = std::env::var(STORE) else { return };
    let name = std::env::var(NAME).unwrap();
    let count: u64 = std::env::var(COUNT).unwrap().parse().unwrap();
    runtime().block_on(async {
        let log = SharedLog::open(Path::new(&dir), OpenMode::Existing).await.unwrap();
        println!("\n{}", if log.ownership() == Ownership::Guest { "guest" } else { "owner" });
        for n in 0..count {
            let input = format!("{name}-{n}");
            append(&log, session(1), &input).await;
            println!("acked {input}");
        }
        log.close().await.unwrap();
    });
}

/// Appends an input wherever the session ends.
async fn append(log: &SharedLog, s: SessionId, input: &str) {
    let mut at = log.head(s).await.unwrap().map_or(Seq::ZERO, |head| head.next);
    loop {
        match log.append(draft(s, at, vec![admitted(input, "from a process"), promoted(input)])).await {
            Err(AppendError::Conflict { actual, .. }) => at = actual,
            other => break other.map(|_| ()).unwrap(),
        }
    }
}

struct Writer {
    child: Watched,
    lines: mpsc::Receiver<String>,
    acked: BTreeSet<String>,
    ownership: Option<String>,
}

impl Writer {
    fn start(dir: &Path, name: &str, count: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "store::processes::a_writing_process", "--nocapture"])
            .env(STORE, dir)
            .env(NAME, name)
            .env(COUNT, count.to_string())
            .stdout(Stdio::piped())
            .spawn_watched()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, acked: BTreeSet::new(), ownership: None }
    }

    /// Hears what it says until `enough` of its inputs are acknowledged, or it ends.
    fn hear(&mut self, enough: usize) {
        while self.acked.len() < enough || self.ownership.is_none() {
            let Ok(line) = self.lines.recv() else { return };
            match line.strip_prefix("acked ") {
                Some(input) => {
                    assert!(self.acked.insert(input.to_owned()), "{input} was acknowledged twice");
                }
                None if line == "owner" || line == "guest" => self.ownership = Some(line),
                None => {}
            }
        }
    }

    fn kill(mut self) -> BTreeSet<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.hear(usize::MAX);
        self.acked
    }

    fn finish(mut self, count: usize) -> BTreeSet<String> {
        self.hear(usize::MAX);
        assert!(self.child.wait().unwrap().success());
        assert_eq!(self.acked.len(), count);
        self.acked
    }
}

/// How often each input was admitted.
fn inputs(slices: &[Slice]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for slice in slices {
        for event in &slice.batch.events {
            if let Event::Input(InputEvent::Admitted(admitted)) = event {
                *counts.entry(admitted.input.to_string()).or_default() += 1;
            }
        }
    }
    counts
}

/// Opens a new store, begins the session, and leaves it.
async fn prepared(dir: &Path) {
    let log = SharedLog::open(dir, OpenMode::Create).await.unwrap();
    begin(&log, session(1)).await.unwrap();
    log.close().await.unwrap();
}

async fn is_whole(dir: &Path, acked: &BTreeSet<String>, unanswered: usize) {
    let log = SharedLog::open(dir, OpenMode::Existing).await.unwrap();
    let Ownership::Owner(report) = log.ownership() else { panic!("somebody still owns the store") };
    assert!(!report.lost_something(), "{:?}", report.remarks);
    let slices = whole(&log, session(1)).await.unwrap();
    let counts = inputs(&slices);
    let missing: Vec<_> = acked.iter().filter(|input| !counts.contains_key(*input)).collect();
    assert!(missing.is_empty(), "acknowledged and missing: {missing:?}");
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
    assert!(doubled.is_empty(), "more than once: {doubled:?}");
    assert!(counts.len() <= acked.len() + unanswered, "{} inputs, {} acknowledged", counts.len(), acked.len());
    let verified = verify_store(&log, &mut |_| {}).await.unwrap();
    assert!(verified.is_sound(), "{:?}", verified.damage);
    log.close().await.unwrap();
}

#[test]
fn two_processes_appending_to_one_session_make_one_dense_chain() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let runtime = runtime();
    runtime.block_on(prepared(&dir));
    let mut first = Writer::start(&dir, "first", 150);
    first.hear(1);
    let mut second = Writer::start(&dir, "second", 150);
    second.hear(1);
    assert_eq!(first.ownership.as_deref(), Some("owner"));
    let mut acked = first.finish(150);
    acked.extend(second.finish(150));
    runtime.block_on(is_whole(&dir, &acked, 0));
}

#[test]
fn killing_the_owner_loses_nothing_and_stops_nobody() {
    kill_owners(false);
}

#[test]
fn a_follower_misses_nothing_when_the_owner_is_killed() {
    kill_owners(true);
}

/// Kills the owner six times while a guest appends, who is the owner then; with somebody who only looks, or without.
fn kill_owners(followed: bool) {
    const ROUNDS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let runtime = runtime();
    runtime.block_on(prepared(&dir));
    let mut acked = BTreeSet::new();
    let mut owner = Writer::start(&dir, "w0", 1_000_000);
    owner.hear(1);
    assert_eq!(owner.ownership.as_deref(), Some("owner"));
    // Who follows is a guest too, and may become the owner; then writers are killed in the middle of their calls.
    let follower = followed.then(|| {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let log = runtime.block_on(SharedLog::open(&dir, OpenMode::Existing)).unwrap();
        (stop, runtime.spawn(follow_until(log, stopped)))
    });
    for round in 1..=ROUNDS {
        let mut guest = Writer::start(&dir, &format!("w{round}"), 1_000_000);
        guest.hear(10);
        assert_eq!(guest.ownership.as_deref(), Some("guest"));
        owner.hear(20 * round);
        let before = guest.acked.len();
        acked.extend(owner.kill());
        guest.hear(before + 20);
        owner = guest;
    }
    acked.extend(owner.kill());
    if let Some((stop, follower)) = follower {
        stop.send(()).unwrap();
        let (log, seen) = runtime.block_on(follower).unwrap();
        assert!(acked.is_subset(&seen), "the follower missed something that was acknowledged");
        runtime.block_on(log.close()).unwrap();
    }
    runtime.block_on(is_whole(&dir, &acked, ROUNDS + 1));
}

/// Sends a signal to a process that this test started.
fn signal(child: &Watched, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Stops a process, and waits until every thread of it stands still: the signal alone does not say so.
fn stop(child: &Watched) {
    signal(child, "-STOP");
    let tasks = format!("/proc/{}/task", child.id());
    let stands = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:\tT"))
    };
    while !std::fs::read_dir(&tasks).unwrap().flatten().all(stands) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_guest_of_an_owner_that_was_stopped_is_told_which_process_it_is_and_goes_on_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, runtime) = (folder.path().to_owned(), runtime());
    runtime.block_on(prepared(&dir));
    let mut owner = Writer::start(&dir, "owner", 1_000_000);
    owner.hear(5);
    let pid = owner.child.id();
    runtime.block_on(async {
        let s = session(1);
        let log = SharedLog::open(&dir, OpenMode::Existing).await.unwrap();
        assert_eq!(log.ownership(), Ownership::Guest);
        let next_seq = log.head(s).await.unwrap().unwrap().next;
        stop(&owner.child);
        let mut following = log.follow(Scope::Session { session: s, from: Seq::ZERO });
        let appending = log.append(draft(s, next_seq, vec![admitted("late", "while it stands still")]));
        let opening = SharedLog::open(&dir, OpenMode::Existing);
        let (read, appended, opened, followed) =
            futures_util::join!(log.head(s), appending, opening, futures_util::StreamExt::next(&mut following));
        let is_it = |hung: &HungOwner| assert_eq!((hung.owner, &hung.dir), (Some(pid), &dir));
        match (read, appended, opened, followed) {
            (
                Err(ReadError::OwnerHung(read)),
                Err(AppendError::OwnerHung(appended)),
                Err(SharedError::OwnerHung(opened)),
                Some(Err(ReadError::OwnerHung(followed))),
            ) => [read, appended, opened, followed].iter().for_each(is_it),
            other => panic!("{other:?}"),
        }
        signal(&owner.child, "-CONT");
        assert!(log.head(s).await.unwrap().unwrap().next >= next_seq);
        log.close().await.unwrap();
    });
    owner.kill();
}

/// Follows until told how much there is at least and nothing more comes; gives every input, each seen once.
async fn follow_until(
    log: SharedLog,
    mut stopped: tokio::sync::oneshot::Receiver<()>,
) -> (SharedLog, BTreeSet<String>) {
    let mut following = log.follow(Scope::Session { session: session(1), from: Seq::ZERO });
    let (mut due, mut synced, mut seen, mut wanted) = (Seq::ZERO, 0, BTreeSet::new(), None);
    loop {
        let item = tokio::select! {
            item = next(&mut following) => item.unwrap(),
            lines = &mut stopped, if wanted.is_none() => {
                // Everything that was acknowledged stands before the head now.
                assert!(lines.is_ok());
                let head = log.head(session(1)).await.unwrap().unwrap();
                if head.next <= due {
                    break;
                }
                wanted = Some(head.next);
                continue;
            }
        };
        match item {
            Followed::Synced => synced += 1,
            Followed::Batch { slice, .. } => {
                assert_eq!(slice.from, due, "a follower of a killed owner lost or repeated something");
                due = slice.until;
                seen.extend(inputs(&[slice]).into_keys());
                if wanted.is_some_and(|wanted| due >= wanted) {
                    break;
                }
            }
        }
    }
    assert_eq!(synced, 1);
    (log, seen)
}
