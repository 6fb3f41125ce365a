//! Restores of files whose process dies, at every point: the next one finds them whole, or takes them back.
#![cfg(unix)]

#[path = "worktree/place.rs"]
#[allow(dead_code, reason = "shared with the tests of the worktree itself")]
mod place;
#[path = "worktree/watched.rs"]
#[allow(dead_code, reason = "shared with other tests of files")]
mod watched;
#[path = "runs/world.rs"]
#[allow(dead_code, reason = "shared with the tests of runs")]
mod world;

use annals_core::{Event, Seq, SessionId};
use annals_runtime::ports::provider::Attempt;
use annals_runtime::settings::LocationServices;
use annals_runtime::tools::{FunctionTool, ToolError, ToolOutput};
use annals_runtime::worktree::{FilesError, files_at};
use annals_runtime::{Extent, MessagePlace, NewInput, NewSession, Ports, Runtime, Session};
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use place::{Place, git, git_is_here};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;
use watched::{Moment, Places, Watch, Watched, at};
use world::{Tested, World, events, history};

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

/// Every point that a restore passes.
const POINTS: [Point; 6] = [
    Point::Append(0, When::Before),
    Point::Append(0, When::After),
    Point::Restore(0, When::Before),
    Point::Restore(0, When::After),
    Point::Append(1, When::Before),
    Point::Append(1, When::After),
];

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

/// A world with a Session that changed `a` from one to two.
async fn worked() -> Result<(World, Place, SessionId), Box<dyn std::error::Error>> {
    let place = Place::committed(&[("a", "one\n"), ("mine", "mine\n")])?;
    let path = place.root.join("a");
    let tool = FunctionTool::new("write", "Writes.", &json!({"type": "object"}), move |_: serde_json::Value, _| {
        let path = path.clone();
        async move {
            let done = fs::write(path, "two\n").map(|()| ToolOutput::text("done"));
            done.map_err(|error| ToolError(error.to_string()))
        }
    });
    let world = World::new([Attempt::call("c1", "write", "{}"), Attempt::text("first")]).tool(tool);
    let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
    let session = runtime.create(NewSession::at(place.root.to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    Ok((world, place, session.id()))
}

/// Works on a Session in a process that dies at a point.
async fn dies<F>(runtime: &Runtime, death: &Death, id: SessionId, work: impl FnOnce(Session) -> F) -> Tested
where
    F: Future<Output = Result<(), annals_runtime::Refusal>> + Send + 'static,
{
    let working = tokio::spawn(work(runtime.session(id).await?));
    death.died.notified().await;
    working.abort();
    Ok(())
}

async fn undo(session: Session) -> Result<(), annals_runtime::Refusal> {
    let plan = session.plan_revert(MessagePlace::User(1), Extent::TalkAndFiles).await?;
    session.stage(&plan).await.map(drop)
}

async fn clear(session: Session) -> Result<(), annals_runtime::Refusal> {
    session.clear_revert().await.map(drop)
}

#[tokio::test]
async fn a_stage_whose_process_dies_at_any_point_is_recorded_with_its_files_or_has_not_happened() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    for point in POINTS {
        let (world, place, id) = worked().await?;
        let (files, before) = (place.world()?, events(&world, &world_session(&world, id).await?).await?);
        let death = Death::at(point);
        let dying = process(&world, &[(&place.root, &place.folder)], &death, true);
        dies(&dying, &death, id, undo).await?;
        let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        // Whoever looks at the files next finds out.
        session.plan_clear().await?;
        let view = session.view().await?;
        assert_eq!(view.session.restoring, None, "{point:?}");
        if point == Point::Append(1, When::After) {
            assert!(view.session.revert.is_some(), "{point:?}");
            assert_eq!(place.read("a")?, "one\n", "{point:?}");
            session.clear_revert().await?;
        } else {
            assert_eq!(view.session.revert, None, "{point:?}");
            let mut expected = before;
            if point != Point::Append(0, When::Before) {
                expected.extend(["restore.begun", "restore.abandoned"]);
            }
            assert_eq!(events(&world, &session).await?, expected, "{point:?}");
        }
        assert_eq!(place.world()?, files, "{point:?}: byte for byte");
    }
    Ok(())
}

/// A handle that only looks.
async fn world_session(world: &World, id: SessionId) -> Result<Session, annals_runtime::Refusal> {
    world.runtime().session(id).await
}

#[tokio::test]
async fn a_clear_whose_process_dies_at_any_point_leaves_the_revert_staged_with_its_files_or_gone_with_them() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    for point in POINTS {
        let (world, place, id) = worked().await?;
        let files = place.world()?;
        let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
        undo(runtime.session(id).await?).await?;
        let restored = place.world()?;
        let death = Death::at(point);
        let dying = process(&world, &[(&place.root, &place.folder)], &death, true);
        dies(&dying, &death, id, clear).await?;
        let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        session.plan_clear().await?;
        let view = session.view().await?;
        let cleared = point == Point::Append(1, When::After);
        assert_eq!((view.session.revert.is_none(), &view.session.restoring), (cleared, &None), "{point:?}");
        assert_eq!(place.world()?, if cleared { files } else { restored }, "{point:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_run_takes_a_restore_back_before_its_first_turn_and_keeps_what_the_user_changed_since() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    for edited in [false, true] {
        let (world, place, id) = worked().await?;
        let death = Death::at(Point::Restore(0, When::After));
        dies(&process(&world, &[(&place.root, &place.folder)], &death, true), &death, id, undo).await?;
        assert_eq!(place.read("a")?, "one\n", "restored, and nobody knows");
        if edited {
            place.write("a", "the user's own\n")?;
        }
        let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        session.admit(NewInput::steer("on")).await?;
        session.run().await?;
        assert_eq!(place.read("a")?, if edited { "the user's own\n" } else { "two\n" });
        let all = history(&session).await?;
        assert_eq!(all[all.len() - 2..], ["user on", "assistant stop: ok"]);
        let log = events(&world, &session).await?;
        let ended = log.iter().position(|kind| *kind == "restore.abandoned").ok_or("it has an end")?;
        let promoted = log.iter().rposition(|kind| *kind == "input.promoted").ok_or("it was promoted")?;
        assert!(ended < promoted);
    }
    Ok(())
}

/// Two worktrees of a project, and a Session in the first with something uncommitted.
async fn moving() -> Result<(World, Place, PathBuf, SessionId), Box<dyn std::error::Error>> {
    let place = Place::committed(&[("app/a", "1\n")])?;
    let other = place.folder.join("other");
    git(&place.root, &["worktree", "add", "-q", "-b", "other", &other.to_string_lossy()])?;
    place.write("app/a", "2\n")?;
    place.write("app/new", "new\n")?;
    let world = World::new([Attempt::text("hi")]);
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.create(NewSession::at(place.root.to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    Ok((world, place, other, session.id()))
}

fn two(world: &World, place: &Place, other: &Path, death: &Arc<Death>, departs: bool) -> Runtime {
    let shadows = (place.folder.join("shadow-1"), place.folder.join("shadow-2"));
    process(world, &[(&place.root, &shadows.0), (other, &shadows.1)], death, departs)
}

/// Every point that a move with uncommitted changes passes: the arrival, the record, the departure, its end.
const POINTS_OF_A_MOVE: [Point; 10] = [
    Point::Append(0, When::Before),
    Point::Append(0, When::After),
    Point::Restore(0, When::Before),
    Point::Restore(0, When::After),
    Point::Append(1, When::Before),
    Point::Append(1, When::After),
    Point::Restore(1, When::Before),
    Point::Restore(1, When::After),
    Point::Append(2, When::Before),
    Point::Append(2, When::After),
];

#[tokio::test]
async fn a_move_whose_process_dies_at_any_point_leaves_the_changes_at_one_place() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    for (number, point) in POINTS_OF_A_MOVE.into_iter().enumerate() {
        let (world, place, other, id) = moving().await?;
        moves_and_dies(&world, &place, &other, id, point).await?;
        let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        // Whoever looks at the files next finds out, once.
        session.plan_clear().await?;
        let log = events(&world, &session).await?;
        session.plan_clear().await?;
        assert_eq!(events(&world, &session).await?, log, "{point:?}");
        let view = session.view().await?;
        assert_eq!((&view.session.restoring, &view.session.departing), (&None, &None), "{point:?}");
        let moved = number >= 5;
        let expected = if moved { at(&other) } else { at(&place.root) };
        assert_eq!(view.session.location, Some(expected), "{point:?}");
        let (here, there) = (place.read("app/a")?, fs::read_to_string(other.join("app/a"))?);
        let (stays, leaves) = ("1\n", "2\n");
        let expected = if moved { (stays, leaves) } else { (leaves, stays) };
        assert_eq!((here.as_str(), there.as_str()), expected, "{point:?}");
        assert_eq!((place.read("app/new").is_err(), other.join("app/new").exists()), (moved, moved), "{point:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_departure_that_is_finished_later_leaves_what_the_user_changed_since() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    let (world, place, other, id) = moving().await?;
    moves_and_dies(&world, &place, &other, id, Point::Append(1, When::After)).await?;
    place.write("app/new", "the user's own\n")?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.admit(NewInput::steer("on")).await?;
    session.run().await?;
    assert_eq!((place.read("app/a")?.as_str(), place.read("app/new")?.as_str()), ("1\n", "the user's own\n"));
    assert_eq!(fs::read_to_string(other.join("app/new"))?, "new\n");
    Ok(())
}

#[tokio::test]
async fn a_departure_keeps_nobody_from_working_and_ends_with_what_keeps_the_changes() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    let (world, place, other, id) = moving().await?;
    moves_and_dies(&world, &place, &other, id, Point::Append(1, When::After)).await?;
    // Who knows nothing of the source leaves it to somebody else.
    let runtime = process(&world, &[(&other, &place.folder.join("shadow-2"))], &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.plan_clear().await?;
    assert_eq!(session.view().await?.session.departing.as_ref().map(|open| &open.location), Some(&at(&place.root)));
    // At the source there is no project any more.
    fs::rename(place.root.join(".git"), place.folder.join("no-project-any-more"))?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    session.plan_clear().await?;
    assert_eq!(session.view().await?.session.departing, None);
    let log = world.log.read(id, Seq::ZERO, 1_000).await?;
    let last = log.last().and_then(|slice| slice.records().last().map(|record| record.event.clone()));
    let Some(Event::DepartureEnded(ended)) = last else { return Err(format!("{last:?}").into()) };
    assert_eq!(ended.error.ok_or("it says why")?.kind, "files");
    assert_eq!((place.read("app/a")?.as_str(), fs::read_to_string(other.join("app/a"))?.as_str()), ("2\n", "2\n"));
    Ok(())
}

/// Moves a Session with its changes, in a process that dies at a point.
async fn moves_and_dies(world: &World, place: &Place, other: &Path, id: SessionId, point: Point) -> Tested {
    let (death, there) = (Death::at(point), at(other));
    dies(&two(world, place, other, &death, true), &death, id, move |session| async move {
        let plan = session.plan_move(there).await?;
        session.move_with_changes(&plan).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_move_whose_departure_fails_has_moved_and_says_what_keeps_the_changes_at_the_source() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    let (world, place, other, id) = moving().await?;
    let runtime = two(&world, &place, &other, &Death::at(Point::Never), false);
    let session = runtime.session(id).await?;
    let plan = session.plan_move(at(&other)).await?;
    let kept = session.move_with_changes(&plan).await?.ok_or("something keeps them")?;
    assert_eq!(kept.to_string(), "app/a changed in the meantime");
    let view = session.view().await?;
    assert_eq!((view.session.location.clone(), &view.session.restoring), (Some(at(&other)), &None));
    assert_eq!(fs::read_to_string(other.join("app/a"))?, "2\n");
    assert_eq!(place.read("app/a")?, "2\n");
    Ok(())
}
