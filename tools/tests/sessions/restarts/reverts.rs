//! Stages and clears of reverts.

use super::{Death, Point, When, dies, process};
use crate::place::Place;
use crate::world::{Tested, World, events, history};
use annals_core::SessionId;
use annals_core::event::Location;
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::{FunctionTool, ToolError, ToolOutput};
use annals_runtime::{Extent, MessagePlace, NewInput, NewSession, Session};
use serde_json::json;
use std::fs;

/// Every point that a restore passes.
const POINTS: [Point; 6] = [
    Point::Append(0, When::Before),
    Point::Append(0, When::After),
    Point::Restore(0, When::Before),
    Point::Restore(0, When::After),
    Point::Append(1, When::Before),
    Point::Append(1, When::After),
];

/// A world with a session that changed `a` from one to two.
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
    let world = World::new([ScriptedAttempt::call("c1", "write", "{}"), ScriptedAttempt::text("first")]).tool(tool);
    let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
    let session = runtime.create(NewSession::at(place.root.to_string_lossy(), "build", "test/alpha")).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    Ok((world, place, session.id()))
}

async fn undo(session: Session) -> Result<(), annals_runtime::Refusal> {
    let plan = session.plan_revert(MessagePlace::User(1), Extent::ConversationAndFiles).await?;
    session.stage(&plan).await.map(drop)
}

async fn clear(session: Session) -> Result<(), annals_runtime::Refusal> {
    session.clear_revert().await.map(drop)
}

#[tokio::test]
async fn a_stage_whose_process_dies_at_any_point_is_recorded_with_its_files_or_has_not_happened() -> Tested {
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
async fn a_move_takes_a_restore_back_before_it_leaves() -> Tested {
    let (world, place, id) = worked().await?;
    let files = place.world()?;
    let death = Death::at(Point::Restore(0, When::After));
    dies(&process(&world, &[(&place.root, &place.folder)], &death, true), &death, id, undo).await?;
    let runtime = process(&world, &[(&place.root, &place.folder)], &Death::at(Point::Never), true);
    let session = runtime.session(id).await?;
    assert!(session.move_to(Location { directory: "/elsewhere".into(), workspace: None }).await?);
    assert_eq!(place.world()?, files);
    let log = events(&world, &session).await?;
    assert_eq!(log[log.len() - 3..], ["restore.begun", "restore.abandoned", "session.moved"]);
    Ok(())
}

#[tokio::test]
async fn a_run_takes_a_restore_back_before_its_first_turn_and_keeps_what_the_user_changed_since() -> Tested {
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
