//! Restores of files whose process dies, at every point: the next one finds them whole, or takes them back.

mod moves;
mod reverts;

use crate::watched::{Moment, Places, Watch, Watched};
use crate::world::{Tested, World};
use annals_core::SessionId;
use annals_runtime::settings::LocationServices;
use annals_runtime::worktree::FilesError;
use annals_runtime::{Ports, Runtime, Session};
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use annals_tools::worktree::files_at;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Where a process dies: at the n-th append or the n-th restore since it was armed, before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Append(usize, When),
    Restore(usize, When),
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    After,
    /// It does not die: the restore fails this once.
    Instead,
}

/// A process that dies at a point: whatever reaches it never goes on.
struct Death {
    point: Point,
    appends: AtomicUsize,
    restores: AtomicUsize,
    died: Notify,
}

impl Death {
    fn at(point: Point) -> Arc<Self> {
        let (appends, restores) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { point, appends, restores, died: Notify::new() })
    }

    async fn passes(&self, here: Point) {
        if self.point == here {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

struct DyingLog {
    inner: Arc<dyn EventLog>,
    death: Arc<Death>,
}

impl LogLayer for DyingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            let number = self.death.appends.fetch_add(1, Ordering::SeqCst);
            self.death.passes(Point::Append(number, When::Before)).await;
            let committed = self.inner.append(draft).await?;
            self.death.passes(Point::Append(number, When::After)).await;
            Ok(committed)
        })
    }
}

/// A process that dies at its files, or whose departures fail.
struct Dying {
    death: Arc<Death>,
    departs: bool,
}

impl Watch for Dying {
    fn at(&self, moment: Moment) -> Boxed<'_, Result<(), FilesError>> {
        Box::pin(async move {
            let restores = &self.death.restores;
            match moment {
                Moment::Restores => {
                    let number = restores.load(Ordering::SeqCst);
                    self.death.passes(Point::Restore(number, When::Before)).await;
                    if self.death.point == Point::Restore(number, When::Instead) {
                        restores.fetch_add(1, Ordering::SeqCst);
                        let source = std::io::Error::other("the disk is away");
                        return Err(FilesError::Io { path: "app/a".into(), source });
                    }
                }
                Moment::Restored => {
                    let number = restores.fetch_add(1, Ordering::SeqCst);
                    self.death.passes(Point::Restore(number, When::After)).await;
                }
                Moment::Departs if !self.departs => return Err(FilesError::Changed { path: "app/a".into() }),
                Moment::Departs => {}
            }
            Ok(())
        })
    }
}

/// A process over the world that dies at a point.
fn process(world: &World, places: &[(&Path, &Path)], death: &Arc<Death>, departs: bool) -> Runtime {
    let services = places.iter().map(|(root, shadow)| {
        let watch = Dying { death: death.clone(), departs };
        let files = Watched { inner: files_at(root, shadow), watch };
        let services = LocationServices { files: Some(Arc::new(files)), ..world.services.clone() };
        (root.to_string_lossy().into_owned(), services)
    });
    let ports = Ports {
        log: Arc::new(DyingLog { inner: world.log.clone(), death: death.clone() }),
        locations: Arc::new(Places(services.collect())),
        ..world.ports()
    };
    Runtime::new(ports, world.settings.clone())
}

/// Works on a session in a process that dies at a point.
async fn dies<F>(runtime: &Runtime, death: &Death, id: SessionId, work: impl FnOnce(Session) -> F) -> Tested
where
    F: Future<Output = Result<(), annals_runtime::Refusal>> + Send + 'static,
{
    let working = tokio::spawn(work(runtime.session(id).await?));
    death.died.notified().await;
    working.abort();
    Ok(())
}
