//! Restores of files whose process dies, at every point: the next one finds them whole, or takes them back.
#![cfg(unix)]

#[path = "worktree/place.rs"]
#[allow(dead_code, reason = "shared with the tests of the worktree itself")]
mod place;
#[path = "runs/world.rs"]
#[allow(dead_code, reason = "shared with the tests of runs")]
mod world;

use annals_core::SessionId;
use annals_core::event::Location;
use annals_runtime::ports::provider::Attempt;
use annals_runtime::settings::{LocationServices, Locations};
use annals_runtime::tools::{FunctionTool, ToolError, ToolOutput};
use annals_runtime::worktree::{Capture, Changes, Files, FilesError, Plan, Transfer, Tree, Undo, files_at};
use annals_runtime::{Extent, MessagePlace, NewInput, NewSession, Ports, Runtime, Session};
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use place::{Place, git, git_is_here};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;
use world::{Tested, World, events, history};

/// Where a process dies: at the n-th append or restore since it was armed, before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Append(usize, When),
    Restore(When),
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
    died: Notify,
}

impl Death {
    fn at(point: Point) -> Arc<Self> {
        Arc::new(Self { point, appends: AtomicUsize::new(0), died: Notify::new() })
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

/// Files of a process that dies, or whose departures fail.
struct DyingFiles {
    inner: Arc<dyn Files>,
    death: Arc<Death>,
    departs: bool,
}

impl Files for DyingFiles {
    fn talk_only(&self) -> Option<&str> {
        self.inner.talk_only()
    }
    fn checkout(&self) -> Option<annals_runtime::worktree::Checkout> {
        self.inner.checkout()
    }
    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>> {
        self.inner.capture()
    }
    fn changes<'a>(&'a self, from: &'a Tree, to: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>> {
        self.inner.changes(from, to)
    }
    fn plan<'a>(&'a self, undo: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan(undo)
    }
    fn restore<'a>(&'a self, plan: &'a Plan) -> Boxed<'a, Result<(), FilesError>> {
        Box::pin(async move {
            self.death.passes(Point::Restore(When::Before)).await;
            self.inner.restore(plan).await?;
            self.death.passes(Point::Restore(When::After)).await;
            Ok(())
        })
    }
    fn plan_take_back<'a>(&'a self, from: &'a Tree, to: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan_take_back(from, to)
    }
    fn uncommitted<'a>(&'a self, below: &'a str) -> Boxed<'a, Result<Transfer, FilesError>> {
        self.inner.uncommitted(below)
    }
    fn plan_arrival<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        self.inner.plan_arrival(transfer)
    }
    fn plan_departure<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        match self.departs {
            true => self.inner.plan_departure(transfer),
            false => Box::pin(async { Err(FilesError::Changed { path: "app/a".into() }) }),
        }
    }
    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>> {
        self.inner.tidy()
    }
}

/// Every point that a restore passes.
const POINTS: [Point; 6] = [
    Point::Append(0, When::Before),
    Point::Append(0, When::After),
    Point::Restore(When::Before),
    Point::Restore(When::After),
    Point::Append(1, When::Before),
    Point::Append(1, When::After),
];

/// Services by directory.
struct Places(BTreeMap<String, LocationServices>);

impl Locations for Places {
    fn at(&self, location: &Location) -> LocationServices {
        self.0.get(&location.directory).cloned().unwrap_or_default()
    }
}

/// A process over the world that dies at a point.
fn process(world: &World, places: &[(&Path, &Path)], death: &Arc<Death>, departs: bool) -> Runtime {
    let services = places.iter().map(|(root, shadow)| {
        let files = DyingFiles { inner: files_at(root, shadow), death: death.clone(), departs };
        let services = LocationServices { files: Some(Arc::new(files)), ..world.services.clone() };
        (root.to_string_lossy().into_owned(), services)
    });
    let ports = Ports {
        log: Arc::new(DyingLog { inner: world.log.clone(), death: death.clone() }),
        provider: world.provider.clone(),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        outputs: Arc::new(annals_runtime::ports::MemoryOutputs::new(world.clock.clone())),
        approver: world.approver.clone(),
        locations: Arc::new(Places(services.collect())),
        definitions: Arc::new(world.definitions.clone()),
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
        let death = Death::at(Point::Restore(When::After));
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

fn at(path: &Path) -> Location {
    Location { directory: path.to_string_lossy().into_owned(), workspace: None }
}

#[tokio::test]
async fn a_move_whose_process_dies_has_happened_with_its_changes_or_not_at_all() -> Tested {
    if !git_is_here() {
        return Ok(());
    }
    for point in POINTS {
        let (world, place, other, id) = moving().await?;
        let death = Death::at(point);
        let there = at(&other);
        dies(&two(&world, &place, &other, &death, true), &death, id, move |session| async move {
            let plan = session.plan_move(there).await?;
            session.move_with_changes(&plan).await.map(drop)
        })
        .await?;
        let runtime = two(&world, &place, &other, &Death::at(Point::Never), true);
        let session = runtime.session(id).await?;
        session.plan_clear().await?;
        let view = session.view().await?;
        assert_eq!(view.session.restoring, None, "{point:?}");
        let moved = point == Point::Append(1, When::After);
        let expected = if moved { at(&other) } else { at(&place.root) };
        assert_eq!(view.session.location, Some(expected), "{point:?}");
        let there = fs::read_to_string(other.join("app/a"))?;
        assert_eq!(there, if moved { "2\n" } else { "1\n" }, "{point:?}");
        // What was to leave the source is still there: nothing is lost.
        assert_eq!(place.read("app/a")?, "2\n", "{point:?}");
    }
    Ok(())
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
