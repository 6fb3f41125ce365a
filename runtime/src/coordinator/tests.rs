use super::*;
use crate::outcome::CompactionError;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tokio::sync::Notify;

/// Keeps every job it is given and ends it as it is told.
#[derive(Default)]
struct Jobs {
    began: Mutex<Vec<RunJob>>,
    /// Lets one job end.
    release: Notify,
    /// How many of the first jobs fail.
    failing: AtomicUsize,
    ended: AtomicUsize,
}

impl Jobs {
    fn began(&self) -> Vec<RunJob> {
        self.began.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl JobRunner for Jobs {
    fn work(self: Arc<Self>, _: SessionId, job: RunJob, cancel: Arc<Cancel>) -> Boxed<'static, RunResult> {
        Box::pin(async move {
            self.began.lock().unwrap_or_else(PoisonError::into_inner).push(job);
            let cancellation = cancel.watch();
            let outcome = tokio::select! {
                biased;
                () = cancellation.cancelled() => {
                    // Putting away what is open takes its time.
                    tokio::task::yield_now().await;
                    Ok(Outcome::Interrupted)
                }
                () = self.release.notified() => {
                    match self.failing.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
                        Ok(_) => Err(RunError::CompactionFailed(CompactionError("no summary".into()))),
                        Err(_) => Ok(Outcome::Idle),
                    }
                }
            };
            self.ended.fetch_add(1, SeqCst);
            outcome
        })
    }
}

const FORCED: RunJob = RunJob::Drain { forced: true };
const UNFORCED: RunJob = RunJob::Drain { forced: false };

fn session(n: u64) -> SessionId {
    SessionId::from_parts(n, 0)
}

struct Bench {
    coordinator: Coordinator,
    jobs: Arc<Jobs>,
    work: Arc<dyn JobRunner>,
}

fn bench() -> Bench {
    let jobs = Arc::new(Jobs::default());
    Bench { coordinator: Coordinator::new(Bus::default()), work: jobs.clone(), jobs }
}

impl Bench {
    fn run(&self, job: RunJob) -> JoinHandle<RunResult> {
        let (coordinator, work) = (self.coordinator.clone(), self.work.clone());
        tokio::spawn(async move { coordinator.run(&work, session(1), job).await })
    }

    fn wake(&self) {
        self.coordinator.wake(&self.work, session(1));
    }

    /// Lets everything go on until it waits.
    async fn settle(&self) {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn any_number_of_wakes_make_one_more_drain_in_the_same_busy_period() {
    let bench = bench();
    let run = bench.run(FORCED);
    bench.settle().await;
    (0..20_000).for_each(|_| bench.wake());
    bench.jobs.release.notify_one();
    bench.settle().await;
    assert!(!run.is_finished(), "a joined waiter resolves at the end of the period");
    bench.jobs.release.notify_one();
    assert!(matches!(run.await, Ok(Ok(Outcome::Idle))));
    assert_eq!(bench.jobs.began(), [FORCED, UNFORCED]);
    assert!(bench.coordinator.busy().is_empty());
}

#[tokio::test]
async fn a_run_joins_a_drain_and_forces_no_successor() {
    let bench = bench();
    bench.wake();
    bench.settle().await;
    let (first, second) = (bench.run(FORCED), bench.run(FORCED));
    bench.settle().await;
    bench.jobs.release.notify_one();
    assert!(matches!((first.await, second.await), (Ok(Ok(Outcome::Idle)), Ok(Ok(Outcome::Idle)))));
    assert_eq!(bench.jobs.began(), [UNFORCED]);
}

#[tokio::test]
async fn after_a_failure_waiters_get_it_and_a_wake_gets_a_period_of_its_own() {
    let bench = bench();
    bench.jobs.failing.store(1, SeqCst);
    let run = bench.run(FORCED);
    bench.settle().await;
    bench.wake();
    bench.jobs.release.notify_one();
    assert!(run.await.is_ok_and(|ended| ended.is_err_and(|error| error.kind() == "compaction-failed")));
    bench.settle().await;
    assert_eq!(bench.jobs.began(), [FORCED, UNFORCED]);
    assert!(bench.coordinator.is_busy(session(1)));
}

#[tokio::test]
async fn an_interrupt_forgets_the_wakes_before_it_and_a_run_during_cleanup_starts_afresh() {
    let bench = bench();
    let run = bench.run(FORCED);
    bench.settle().await;
    bench.wake();
    bench.coordinator.interrupt(session(1));
    bench.coordinator.interrupt(session(1));
    let again = bench.run(FORCED);
    assert!(matches!(run.await, Ok(Ok(Outcome::Interrupted))));
    bench.settle().await;
    assert_eq!(bench.jobs.began(), [FORCED, FORCED]);
    bench.jobs.release.notify_one();
    assert!(matches!(again.await, Ok(Ok(Outcome::Idle))));
}

#[tokio::test]
async fn a_compaction_waits_for_the_drain_and_a_drain_for_the_compaction() {
    let bench = bench();
    bench.wake();
    bench.settle().await;
    let compaction = bench.run(RunJob::Compact);
    bench.settle().await;
    assert_eq!(bench.jobs.began(), [UNFORCED]);
    bench.jobs.release.notify_one();
    bench.settle().await;
    bench.wake();
    bench.jobs.release.notify_one();
    assert!(matches!(compaction.await, Ok(Ok(Outcome::Idle))));
    bench.settle().await;
    assert_eq!(bench.jobs.began(), [UNFORCED, RunJob::Compact, UNFORCED]);
}

#[tokio::test]
async fn dropping_a_waiter_cancels_nothing_and_halting_drops_what_runs() {
    let bench = bench();
    let run = bench.run(FORCED);
    bench.settle().await;
    run.abort();
    bench.settle().await;
    assert!(bench.coordinator.is_busy(session(1)));
    let waiting = bench.run(FORCED);
    bench.settle().await;
    bench.coordinator.halt().await;
    assert!(waiting.await.is_ok_and(|ended| ended.is_err_and(|error| error.kind() == "halted")));
    assert_eq!((bench.jobs.ended.load(SeqCst), bench.coordinator.busy().len()), (0, 0));
}

#[tokio::test]
async fn a_panic_is_a_defect_of_the_run_and_releases_the_session() {
    struct Panics;
    impl JobRunner for Panics {
        fn work(self: Arc<Self>, _: SessionId, _: RunJob, _: Arc<Cancel>) -> Boxed<'static, RunResult> {
            Box::pin(async { panic!("a mistake in a port") })
        }
    }
    let coordinator = Coordinator::new(Bus::default());
    let work: Arc<dyn JobRunner> = Arc::new(Panics);
    let ended = coordinator.run(&work, session(1), FORCED).await;
    assert!(ended.is_err_and(|error| error.to_string().contains("a mistake in a port")));
    assert!(!coordinator.is_busy(session(1)));
}
