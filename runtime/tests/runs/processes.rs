//! Which process wrote to a session is recorded once per process and session, and only if the host asks for it.

use crate::world::{Tested, World, all_rebuilt, events};
use annals_core::event::{Location, ProcessInfo, SessionEvent};
use annals_core::{Event, Seq};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{Boxed, DescribeProcess, NewInput, ProcessRecorder};
use std::sync::Arc;

struct Named(&'static str);

impl DescribeProcess for Named {
    fn describe<'a>(&'a self, location: Option<&'a Location>) -> Boxed<'a, ProcessInfo> {
        let host = location.map(|location| location.directory.clone());
        Box::pin(async move { ProcessInfo { program: self.0.to_owned(), host, ..ProcessInfo::default() } })
    }
}

fn started_as(world: &mut World, name: &'static str) {
    world.settings.process = Some(Arc::new(ProcessRecorder::new(Arc::new(Named(name)))));
}

#[tokio::test]
async fn a_process_is_in_the_creation_or_in_the_first_batch_that_it_appends() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("one"), ScriptedAttempt::text("two")]);
    started_as(&mut world, "first");
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    assert!(!events(&world, &session).await?.contains(&"process.attached"));

    started_as(&mut world, "second");
    let runtime = world.runtime();
    let before = session.view().await?.session.next;
    let again = runtime.session(session.id()).await?;
    again.view().await?;
    assert_eq!(again.view().await?.session.next, before, "looking appends nothing");
    again.admit(NewInput::steer("again")).await?;
    again.run().await?;
    let kinds = events(&world, &session).await?;
    let at = kinds.iter().position(|kind| *kind == "process.attached").ok_or("it is recorded")?;
    assert_eq!(kinds.iter().filter(|kind| **kind == "process.attached").count(), 1);
    assert_eq!((at as u64, kinds[at - 1]), (before.0 + 1, "input.admitted"), "in the first batch, behind its events");

    let mut named = Vec::new();
    for slice in world.log.read(session.id(), Seq::ZERO, 10_000).await? {
        for record in slice.records() {
            match record.event {
                Event::Session(SessionEvent::Created(created)) => named.extend(created.process.clone()),
                Event::Session(SessionEvent::ProcessAttached(attached)) => named.push(attached.process.clone()),
                _ => {}
            }
        }
    }
    let named: Vec<_> = named.iter().map(|one| (one.program.as_str(), one.host.as_deref())).collect();
    assert_eq!(named, [("first", Some("/project")), ("second", Some("/project"))]);
    all_rebuilt(&world, &session).await
}

#[tokio::test]
async fn a_fork_names_the_process_in_the_batch_that_begins_it() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("one")]);
    started_as(&mut world, "it");
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    let fork = session.fork(None).await?;
    fork.admit(NewInput::steer("other")).await?;
    let kinds = events(&world, &fork).await?;
    assert_eq!(kinds[kinds.len() - 3..], ["session.forked", "process.attached", "input.admitted"]);
    Ok(())
}
