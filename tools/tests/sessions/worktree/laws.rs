//! Over any sequence of edits: what is touched returns byte for byte, what is not touched is not changed.

use crate::place::{Failure, Place, Stands, World};
use annals_runtime::worktree::{Files, FilesError, StagedFiles, StepFiles, Undo};
use proptest::prelude::*;
use std::fs;
use std::io;

/// One edit of one path.
#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, Vec<u8>, bool),
    Link(&'static str, &'static str),
    Remove(&'static str),
    Rename(&'static str, &'static str),
}

/// Who edits next.
#[derive(Clone, Debug)]
enum Act {
    Agent(Vec<Edit>),
    User(Edit),
}

const PATHS: [&str; 8] = ["a", "b", "dir", "dir/a", "dir/deep/b", "dir/deep/c", "with space", "deep\nline"];

fn edit() -> impl Strategy<Value = Edit> {
    let path = || prop::sample::select(&PATHS[..]);
    let bytes = prop_oneof![
        prop::sample::select(vec![&b"one\n"[..], b"two\r\n", b"", b"\0\xff\n"]).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40)
    ];
    prop_oneof![
        4 => (path(), bytes, any::<bool>()).prop_map(|(path, bytes, run)| Edit::Write(path, bytes, run)),
        1 => (path(), prop::sample::select(vec!["a", "nowhere", "/etc"])).prop_map(|(path, to)| Edit::Link(path, to)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => prop::collection::vec(edit(), 0..4).prop_map(Act::Agent),
        1 => edit().prop_map(Act::User),
    ]
}

/// Carries an edit out; one that has no place for its file is no edit.
fn perform(place: &Place, edit: &Edit) -> io::Result<()> {
    let clear = |path: &str| -> io::Result<()> {
        for (at, _) in path.match_indices('/') {
            let above = place.path(&path[..at]);
            match fs::symlink_metadata(&above) {
                Ok(there) if !there.is_dir() => fs::remove_file(&above)?,
                _ => {}
            }
        }
        let full = place.path(path);
        match fs::symlink_metadata(&full) {
            Ok(there) if there.is_dir() => fs::remove_dir_all(&full)?,
            Ok(_) => fs::remove_file(&full)?,
            Err(_) => {}
        }
        full.parent().map_or(Ok(()), fs::create_dir_all)
    };
    match edit {
        Edit::Write(path, bytes, run) => {
            clear(path)?;
            place.write(path, bytes)?;
            if *run { place.executable(path) } else { Ok(()) }
        }
        Edit::Link(path, to) => {
            clear(path)?;
            place.link(path, to)
        }
        Edit::Remove(path) => match fs::symlink_metadata(place.path(path)) {
            Ok(there) if !there.is_dir() => place.remove(path),
            _ => Ok(()),
        },
        Edit::Rename(from, to) => match fs::symlink_metadata(place.path(from)) {
            Ok(there) if there.is_file() && !to.starts_with(&format!("{from}/")) && from != to => {
                let bytes = fs::read(place.path(from))?;
                place.remove(from)?;
                clear(to)?;
                place.write(to, bytes)
            }
            _ => Ok(()),
        },
    }
}

/// A step with the files before and after it, as the disk showed them.
struct Known {
    files: StepFiles,
    before: World,
    after: World,
}

/// What an undo must leave (`docs/reference/revert.md#files`): every path that the removed steps changed, and that
/// nobody changed since, is as it was before the first of them; everything else is as it is.
fn expected(now: &World, steps: &[Known]) -> World {
    let mut world = now.clone();
    for path in PATHS {
        let mut touching = steps.iter().filter(|step| step.before.get(path) != step.after.get(path));
        let Some(first) = touching.next() else { continue };
        let last = touching.next_back().unwrap_or(first);
        if now.get(path) == last.after.get(path) {
            match first.before.get(path) {
                Some(stands) => world.insert(path.into(), stands.clone()),
                None => world.remove(path),
            };
        }
    }
    world
}

async fn holds(acts: &[Act], boundaries: &[usize]) -> Result<(), Failure> {
    let place = Place::committed(&[("a", "first\n"), ("dir/a", "first\n"), ("dir/deep/b", "first\n")])?;
    place.tree().await?;
    let mut steps: Vec<Known> = Vec::new();
    for act in acts {
        match act {
            Act::User(edit) => perform(&place, edit)?,
            Act::Agent(edits) => {
                let before = place.world()?;
                let files = place.step(|place| edits.iter().try_for_each(|edit| perform(place, edit))).await?;
                steps.push(Known { files, before, after: place.world()? });
            }
        }
    }
    let original = place.world()?;
    let mut staged: Option<StagedFiles> = None;
    for boundary in boundaries {
        let removed = &steps[boundary % (steps.len() + 1)..];
        let files: Vec<StepFiles> = removed.iter().map(|step| step.files.clone()).collect();
        let before = place.world()?;
        let plan = match place.files.plan(&Undo { steps: files.clone(), staged: staged.clone() }).await {
            Ok(plan) => plan,
            Err(FilesError::InTheWay { .. }) => {
                assert_eq!(place.world()?, before, "a refused plan changed something");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        assert_eq!(place.world()?, before, "a plan changed something");
        place.files.restore(&plan).await?;
        // The boundary may have moved before: what counts is the original alone.
        assert_eq!(place.world()?, expected(&original, removed));
        place.files.restore(&plan.reversed()).await?;
        assert_eq!(place.world()?, before, "taking a restore back left a trace");
        place.files.restore(&plan).await?;
        let named = plan.recorded.files.iter().map(|file| file.path.clone()).collect();
        staged = Some(StagedFiles { original: plan.original, files: named, steps: files });
    }
    if staged.is_some() {
        let clear = place.files.plan(&Undo { steps: Vec::new(), staged }).await?;
        place.files.restore(&clear).await?;
    }
    assert_eq!(place.world()?, original, "the clear did not bring the original back");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_worktree_equals_its_capture_where_touched_and_itself_elsewhere(
        acts in prop::collection::vec(act(), 1..7),
        boundaries in prop::collection::vec(any::<usize>(), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
        runtime.block_on(holds(&acts, &boundaries)).map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

#[test]
fn the_model_of_the_law_sees_a_difference() {
    let stands = |text: &str| Stands::File { bytes: text.into(), executable: false };
    let (one, two) = (World::from([("a".into(), stands("1"))]), World::from([("a".into(), stands("2"))]));
    let step = Known { files: StepFiles::default(), before: one.clone(), after: two.clone() };
    assert_eq!(expected(&two, &[step]), one);
}
