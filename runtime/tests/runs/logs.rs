//! Runs over a log that does not know, and over one that another process writes, too.

use crate::world::{Tested, World, events, history};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{Extent, MessagePlace, NewInput, Outcome, RunError, Session};
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer, MemoryLog};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A log that so many times in a row does not know whether it wrote a batch, for every batch.
struct Unsure {
    inner: MemoryLog,
    times: usize,
    asked: AtomicUsize,
}

impl LogLayer for Unsure {
    fn inner(&self) -> &dyn EventLog {
        &self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::SeqCst) % (self.times + 1) < self.times {
                return Err(AppendError::Unknown);
            }
            self.inner.append(draft).await
        })
    }
}

#[tokio::test]
async fn a_batch_of_which_the_log_does_not_know_is_appended_again() -> Tested {
    for (times, runs) in [(1, true), (3, true), (4, false)] {
        let world = World::new([]);
        // The session is created by an append that nobody repeats.
        let inner = MemoryLog::new();
        let created = World { log: Arc::new(inner.clone()), ..world.clone() };
        let id = created.session(&created.runtime()).await?.id();
        let world = World { log: Arc::new(Unsure { inner, times, asked: AtomicUsize::new(0) }), ..world };
        let runtime = world.runtime();
        let session = runtime.session(id).await?;
        let admitted = session.admit(NewInput::steer("go")).await;
        assert_eq!(admitted.is_ok(), runs, "{times}: {admitted:?}");
        if runs {
            assert_eq!(session.run().await?, Outcome::Idle);
            assert_eq!(history(&session).await?, ["user go", "assistant stop: ok"]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_to_what_another_process_reverted_is_not_recorded() -> Tested {
    let other: Arc<Mutex<Option<Session>>> = Arc::default();
    let elsewhere = other.clone();
    let mut attempt = ScriptedAttempt::text("the answer to what is gone");
    attempt.during = Some(Arc::new(move || {
        let session = elsewhere.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            let Some(session) = session else { return };
            let plan = session.plan_revert(MessagePlace::User(1), Extent::Conversation).await;
            let Ok(plan) = plan else { panic!("a revert can be planned") };
            assert!(
                session.stage(&plan).await.is_ok()
                    && session.commit_revert().await.is_ok_and(|committed| committed.is_some())
            );
        })
    }));
    let world = World::new([attempt]);
    let (runtime, second) = (world.runtime(), world.runtime());
    let session = world.session(&runtime).await?;
    let same = second.session(session.id()).await?;
    *other.lock().unwrap_or_else(PoisonError::into_inner) = Some(same);
    session.admit(NewInput::steer("go")).await?;
    let ended: Result<Outcome, RunError> = session.run().await;
    assert_eq!(ended?, Outcome::Interrupted);
    let all = events(&world, &session).await?;
    let committed = all.iter().position(|kind| *kind == "revert.committed").ok_or("it was committed")?;
    assert!(!all[committed..].iter().any(|kind| kind.starts_with("step.") || kind.starts_with("text.")), "{all:?}");
    let view = session.view().await?;
    assert!(history(&session).await?.is_empty() && view.anomalies().is_empty(), "{:?}", view.anomalies());
    Ok(())
}
