//! Composition, observation and the registry; the built-in sources as a model reads them.

mod guidance;

use super::*;
use crate::ports::{Clock, MemoryFilesystem};
use crate::testing::ManualClock;
use annals_core::context::{Observed, Reconciled, Snapshot, initialize, reconcile};
use annals_core::event::Location;
use annals_core::{NoBlobs, SessionId};
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(super) fn boundary(directory: &str) -> Boundary {
    Boundary {
        session: SessionId::from_parts(0, 1),
        agent: "build".into(),
        location: Location { directory: directory.into(), workspace: None },
        discovered: Vec::new(),
    }
}

pub(super) fn key(text: &'static str) -> Key {
    own_key(text)
}

/// A source of a fixed text.
fn fixed(name: &'static str, value: &'static str) -> SystemContext {
    let render = move |value: &String| format!("{name}={value}");
    Source::new(key(name), move || ready(value.to_string()), render).into()
}

/// The baseline of a context.
pub(super) async fn baseline(context: &SystemContext) -> Result<String, Box<dyn std::error::Error>> {
    Ok(initialize(&context.observe().await?.sources)?.text())
}

/// What a second context sends to a session that has the first.
pub(super) async fn update_text(
    before: &SystemContext,
    after: &SystemContext,
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let snapshot = initialize(&before.observe().await?.sources)?.snapshot;
    match reconcile(&after.observe().await?.sources, &snapshot, &NoBlobs)? {
        Reconciled::Unchanged => Ok(None),
        Reconciled::Updated(update) => Ok(Some(update.text)),
        other => Err(format!("expected a message, got {other:?}").into()),
    }
}

#[tokio::test]
async fn combining_keeps_the_callers_order_and_refuses_a_repeated_key() -> Outcome {
    let context = SystemContext::combine([fixed("b/one", "1"), fixed("a/two", "2")])?;
    assert_eq!(baseline(&context).await?, "b/one=1\n\na/two=2");
    let error = SystemContext::combine([context, fixed("b/one", "3")]).err().ok_or("expected a refusal")?;
    assert_eq!(error.to_string(), "Duplicate system context key: b/one");
    Ok(())
}

#[tokio::test]
async fn every_source_is_loaded_once_and_all_at_the_same_time() -> Outcome {
    let loads = Arc::new(AtomicUsize::new(0));
    let meet = Arc::new(tokio::sync::Barrier::new(2));
    let waiting = |name| {
        let (loads, meet) = (loads.clone(), meet.clone());
        let load = move || {
            let (loads, meet) = (loads.clone(), meet.clone());
            async move {
                loads.fetch_add(1, Ordering::SeqCst);
                meet.wait().await; // would wait for ever, if one were loaded after the other
                7
            }
        };
        SystemContext::from(Source::new(key(name), load, |n: &i32| n.to_string()))
    };
    let context = SystemContext::combine([waiting("a/x"), waiting("a/y")])?;
    let observed = context.observe().await?;
    assert_eq!(loads.load(Ordering::SeqCst), 2);
    reconcile(&observed.sources, &Snapshot::default(), &NoBlobs)?;
    assert_eq!(loads.load(Ordering::SeqCst), 2, "deciding loads nothing");
    Ok(())
}

#[tokio::test]
async fn an_unavailable_source_says_why() -> Outcome {
    let source: Source<String> =
        Source::new(key("a/x"), || ready(Loaded::unavailable("the socket is gone")), |text: &String| text.clone());
    let observed = SystemContext::from(source).observe().await?;
    assert!(matches!(observed.sources[0].observed, Observed::Unavailable));
    assert_eq!(observed.unavailable, [(key("a/x"), "the socket is gone".to_string())]);
    Ok(())
}

#[tokio::test]
async fn a_loader_that_panics_fails_by_its_key() -> Outcome {
    let load = || async {
        let lines = "one line".lines().collect::<Vec<_>>();
        lines[1].to_string()
    };
    let source = Source::new(key("a/x"), load, |text: &String| text.clone());
    let context = SystemContext::combine([fixed("a/w", "1"), source.into()])?;
    let error = context.observe().await.err().ok_or("expected a fault")?;
    assert!(error.to_string().starts_with("system context source a/x panicked: index out of bounds"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_renderer_that_panics_renders_nothing_and_fails_by_its_key() -> Outcome {
    let source = Source::new(key("a/x"), || ready(1), |_: &i32| panic!("boom"));
    let observed = SystemContext::from(source).observe().await?;
    let error = initialize(&observed.sources).err().ok_or("expected an error")?;
    assert_eq!(error.to_string(), "System context source a/x rendered an empty baseline");
    Ok(())
}

#[tokio::test]
async fn a_value_that_its_codec_does_not_give_back_is_a_fault() -> Outcome {
    let source = Source::new(key("a/x"), || ready(f64::NAN), |n: &f64| n.to_string());
    let error = SystemContext::from(source).observe().await.err().ok_or("expected a fault")?;
    assert!(error.to_string().starts_with("system context source a/x has a value that its codec"), "{error}");
    Ok(())
}

#[tokio::test]
async fn values_are_compared_as_decoded_and_what_does_not_decode_is_incompatible() -> Outcome {
    let number = Source::new(key("a/x"), || ready(2.0), |n: &f64| format!("is {n}"));
    let observed = SystemContext::from(number).observe().await?.sources;
    let render = &observed[0].render;
    assert_eq!(render.same(&serde_json::json!(2), &serde_json::json!(2.0)), Ok(true));
    assert_eq!(render.same(&serde_json::json!(3), &serde_json::json!(2.0)), Ok(false));
    assert!(render.same(&serde_json::json!("2"), &serde_json::json!(2.0)).is_err());
    assert_eq!(render.update(&serde_json::json!(3), &serde_json::json!(2.0)), "is 2", "the default update");
    Ok(())
}

#[tokio::test]
async fn contributions_are_rendered_by_key_whatever_the_order_of_registration() -> Outcome {
    let registry = Registry::default();
    let _b = registry.register(key("b/second"), fixed("x/late", "2"))?;
    let _a = registry.register(key("a/first"), fixed("z/early", "1"))?;
    assert_eq!(baseline(&registry.load(&boundary("/")).await?).await?, "z/early=1\n\nx/late=2");
    Ok(())
}

#[tokio::test]
async fn a_taken_contribution_key_is_refused_and_the_earlier_one_stays() -> Outcome {
    let registry = Registry::default();
    let first = registry.register(key("a/x"), fixed("a/x", "1"))?;
    let refused = registry.register(key("a/x"), fixed("a/x", "2")).err().ok_or("expected a refusal")?;
    assert_eq!(refused.to_string(), "Duplicate system context entry key: a/x");
    assert_eq!(baseline(&registry.load(&boundary("/")).await?).await?, "a/x=1");
    first.close();
    assert_eq!(baseline(&registry.load(&boundary("/")).await?).await?, "");
    Ok(())
}

#[tokio::test]
async fn closing_a_scope_removes_exactly_its_registration() -> Outcome {
    let registry = Registry::default();
    let old = registry.register(key("a/x"), fixed("a/x", "1"))?;
    let mut kept = registry.register(key("a/y"), fixed("a/y", "1"))?;
    kept.replace(fixed("a/y", "2"));
    drop(old);
    registry.register(key("a/z"), fixed("a/z", "3"))?.detach();
    assert_eq!(baseline(&registry.load(&boundary("/")).await?).await?, "a/y=2\n\na/z=3");
    drop(kept);
    assert_eq!(baseline(&registry.load(&boundary("/")).await?).await?, "a/z=3");
    Ok(())
}

#[tokio::test]
async fn sources_of_two_contributions_with_one_key_name_both() -> Outcome {
    let registry = Registry::default();
    let _a = registry.register(key("plug/one"), fixed("a/x", "1"))?;
    let _b = registry.register(key("plug/two"), fixed("a/x", "2"))?;
    match registry.load(&boundary("/")).await.err().ok_or("expected a refusal")? {
        ContextError::DuplicateSource { key: found, contributors } => {
            assert_eq!((found, contributors), (key("a/x"), ["plug/one".to_string(), "plug/two".to_string()]));
        }
        other => return Err(other.into()),
    }
    Ok(())
}

#[tokio::test]
async fn a_producer_that_panics_fails_by_its_contribution() -> Outcome {
    let registry = Registry::default();
    let producer = |boundary: Boundary| async move {
        assert!(boundary.discovered.len() > 1, "no {}", boundary.agent);
        Ok(SystemContext::default())
    };
    let _broken = registry.register(key("plug/one"), producer)?;
    let error = registry.load(&boundary("/")).await.err().ok_or("expected a fault")?;
    assert_eq!(error.to_string(), "system context contribution plug/one panicked: no build");
    Ok(())
}

#[tokio::test]
async fn environment_and_date_are_told_as_they_are_at_each_boundary() -> Outcome {
    let files = Arc::new(MemoryFilesystem::default());
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let registry = Registry::default();
    let builtins = Builtins {
        files: files.clone(),
        clock: clock.clone() as Arc<dyn Clock>,
        platform: "linux".into(),
        environment: true,
        date: true,
    };
    let _builtins = registry.register(Builtins::key(), builtins)?;
    let context = registry.load(&boundary("/project/app")).await?;
    let first = context.observe().await?;
    let generation = initialize(&first.sources)?;
    let block = |root, git| {
        format!(
            "<env>\n  Working directory: /project/app\n  Workspace root folder: {root}\n  \
             Is directory a git repo: {git}\n  Platform: linux\n</env>"
        )
    };
    assert_eq!(
        generation.text(),
        format!(
            "Here is some useful information about the environment you are running in:\n{}\n\nToday's date: Wed Jun 03 2026",
            block("/project/app", "no")
        )
    );
    files.worktree("/project");
    clock.advance(24 * 60 * 60 * 1_000);
    let Reconciled::Updated(update) = reconcile(&context.observe().await?.sources, &generation.snapshot, &NoBlobs)?
    else {
        return Err("expected a message".into());
    };
    let now = block("/project", "yes");
    assert_eq!(
        update.text,
        format!("The environment you are running in is now:\n{now}\n\nToday's date is now: Thu Jun 04 2026")
    );
    assert!(generation.snapshot.0.values().all(|entry| entry.removed.is_none()));
    Ok(())
}
