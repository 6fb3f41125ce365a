//! The event bus: publishes what happened to observers, after it is durable and without delaying it
//! (`docs/reference/turn.md#answer`).

use crate::outcome::Outcome;
use annals_core::{Batch, CallId, ModelName, RequestId, SessionId};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Events are durable. Each batch is published once per lane, in order.
    Committed(Arc<Batch>),
    /// A delta of an answer arrived; the log gets the finished fragment.
    Delta(Delta),
    /// The window of the model is small: a turn offers fewer tools, in fewer words.
    ToolsReduced {
        /// The session.
        session: SessionId,
        /// The model.
        model: ModelName,
        /// The tools that are not offered.
        left_out: Vec<String>,
    },
    /// A Session began to run.
    Busy(SessionId),
    /// A Session is idle again.
    Idle {
        /// The session.
        session: SessionId,
        /// How its run ended; `None` when it failed.
        outcome: Option<Outcome>,
    },
}

impl Notice {
    /// The session that it concerns.
    pub fn session(&self) -> SessionId {
        match self {
            Self::Committed(batch) => batch.session,
            Self::Delta(delta) => delta.session,
            Self::Busy(session) | Self::Idle { session, .. } | Self::ToolsReduced { session, .. } => *session,
        }
    }
}

/// A delta of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The session that receives the answer.
    pub session: SessionId,
    /// The request that is answered.
    pub request: RequestId,
    /// The fragment that it extends.
    pub fragment: Fragment,
    /// The text to append.
    pub text: String,
}

/// The fragment that a delta belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// Text, by its place in the content of the current step.
    Text(u32),
    /// Reasoning, likewise.
    Reasoning(u32),
    /// The input of a call that has not arrived whole, by the provider's id.
    ToolInput(CallId),
    /// The text of a summary.
    Summary,
}

/// Receives every notice, on the task that caused it: be quick. A panic is logged and stops nothing.
pub trait Observer: Send + Sync {
    /// Handles one notice.
    fn notice(&self, notice: &Notice);
}

impl<F: Fn(&Notice) + Send + Sync> Observer for F {
    fn notice(&self, notice: &Notice) {
        self(notice);
    }
}

/// A subscriber was too slow and lost notices. Subscribe again, and read the log for what was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subscriber did not keep up: more than {capacity} notices waited")]
pub struct SubscriberOverflow {
    /// How many notices may wait.
    pub capacity: usize,
}

/// Publishes notices to observers and subscribers.
#[derive(Clone, Default)]
pub struct Bus {
    listeners: Arc<Mutex<Listeners>>,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    observers: Vec<(u64, Arc<dyn Observer>)>,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").finish_non_exhaustive()
    }
}

impl Bus {
    /// Calls `observer` with every notice until the [`Listening`] is dropped.
    pub fn observe(&self, observer: impl Observer + 'static) -> Listening {
        let mut listeners = self.listeners();
        listeners.next += 1;
        let id = listeners.next;
        listeners.observers.push((id, Arc::new(observer)));
        Listening { bus: self.clone(), id }
    }

    /// Queues what `select` picks out of the notices, up to `capacity` (at least 1) at a time; what it leaves out takes
    /// no room. Overflow ends this subscription and no other.
    pub fn subscribe<T: Send + 'static>(
        &self,
        capacity: usize,
        select: impl Fn(&Notice) -> Option<T> + Send + Sync + 'static,
    ) -> Subscription<T> {
        let capacity = capacity.max(1);
        let (sender, queue) = mpsc::channel(capacity);
        let overflown = Arc::new(AtomicBool::new(false));
        let (open, mark) = (Mutex::new(Some(sender)), overflown.clone());
        let listening = self.observe(move |notice: &Notice| {
            let Some(picked) = select(notice) else { return };
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(sender) = open.as_ref() else { return };
            if let Err(refused) = sender.try_send(picked) {
                mark.store(matches!(refused, mpsc::error::TrySendError::Full(_)), Ordering::Release);
                *open = None;
            }
        });
        Subscription { queue, capacity, overflown, _listening: listening }
    }

    /// Publishes a notice to every listener, in the order of registration. No listener can stop another one, or the fact
    /// itself, which is durable already.
    pub(crate) fn publish(&self, notice: &Notice) {
        let observers: Vec<Arc<dyn Observer>> =
            self.listeners().observers.iter().map(|(_, observer)| observer.clone()).collect();
        for observer in observers {
            if catch_unwind(AssertUnwindSafe(|| observer.notice(notice))).is_err() {
                tracing::error!(session = %notice.session(), "an observer panicked; the notice is durable");
            }
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An observer's registration. Dropping it ends the calls.
#[must_use = "dropping it removes the observer"]
#[derive(Debug)]
pub struct Listening {
    bus: Bus,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let removed = {
            let mut listeners = self.bus.listeners();
            let at = listeners.observers.iter().position(|(id, _)| *id == self.id);
            at.map(|at| listeners.observers.remove(at))
        };
        // An observer's own drop runs outside the lock: it may use the bus.
        drop(removed);
    }
}

/// Notices of one kind, queued.
#[derive(Debug)]
pub struct Subscription<T> {
    queue: mpsc::Receiver<T>,
    capacity: usize,
    overflown: Arc<AtomicBool>,
    _listening: Listening,
}

impl<T> Subscription<T> {
    /// The next notice; `None` after an overflow was returned, or when the bus is gone.
    ///
    /// # Errors
    /// [`SubscriberOverflow`], once, after everything that was queued before it.
    pub async fn next(&mut self) -> Option<Result<T, SubscriberOverflow>> {
        match self.queue.recv().await {
            Some(picked) => Some(Ok(picked)),
            None => {
                let overflown = self.overflown.swap(false, Ordering::AcqRel);
                overflown.then_some(Err(SubscriberOverflow { capacity: self.capacity }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::SessionId;

    fn busy(n: u64) -> Notice {
        Notice::Busy(SessionId::from_parts(n, 0))
    }

    fn millis(notice: &Notice) -> Option<u64> {
        Some(notice.session().millis())
    }

    #[tokio::test]
    async fn an_observer_that_panics_stops_neither_the_fact_nor_the_others() {
        let bus = Bus::default();
        let _first = bus.observe(|_: &Notice| panic!("a mistake in an observer"));
        let mut second = bus.subscribe(4, millis);
        bus.publish(&busy(1));
        bus.publish(&busy(2));
        assert_eq!((second.next().await, second.next().await), (Some(Ok(1)), Some(Ok(2))));
    }

    #[tokio::test]
    async fn overflow_ends_only_the_slow_subscriber_and_what_is_left_out_takes_no_room() {
        let bus = Bus::default();
        let mut slow = bus.subscribe(2, millis);
        let mut picky = bus.subscribe(1, |notice| millis(notice).filter(|n| *n == 4));
        (1..=4).for_each(|n| bus.publish(&busy(n)));
        assert_eq!((slow.next().await, slow.next().await), (Some(Ok(1)), Some(Ok(2))));
        assert_eq!(slow.next().await, Some(Err(SubscriberOverflow { capacity: 2 })));
        assert_eq!(slow.next().await, None);
        assert_eq!(picky.next().await, Some(Ok(4)));
    }

    #[test]
    fn an_observer_that_left_is_told_nothing() {
        let bus = Bus::default();
        let listening = bus.observe(|_: &Notice| panic!("told after it left"));
        drop(listening);
        bus.publish(&busy(1));
        assert!(bus.listeners().observers.is_empty());
    }
}
