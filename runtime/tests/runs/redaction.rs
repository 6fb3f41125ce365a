//! No door lets a secret through: each test brings one in by another, then searches everything that was kept or sent.

mod contents;

use crate::world::{Tested, World, all_rebuilt, events, says};
use annals_core::event::{AgentProfile, Attachment, MessageEvent, RedactionApplied};
use annals_core::{Event, Seq, SessionId};
use annals_guard::redaction::Redactor;
use annals_runtime::context::Source;
use annals_runtime::permission::{Answered, FixedApprover, PermissionAnswer};
use annals_runtime::ports::{ProviderError, ProviderErrorKind};
use annals_runtime::settings::SummaryHook;
use annals_runtime::settings::{CompactionSettings, bare_agent};
use annals_runtime::testing::{MemoryOutputs, ScriptedAttempt};
use annals_runtime::tools::{FunctionTool, ToolError, ToolOutput};
use annals_runtime::{Admitted, Boxed, NewInput, NewSession, Ports, Runtime, Session};
use annals_store::exchange::export;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

const SECRET: &str = "planted-secret-4711";
const PLACEHOLDER: &str = "[redacted:env:PLANTED_TOKEN]";

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::default().with_variable("PLANTED_TOKEN", SECRET))
}

/// A world that knows the secret, and where whole outputs are kept in it.
struct Guarded {
    world: World,
    outputs: Arc<MemoryOutputs>,
    runtime: Runtime,
}

impl Guarded {
    fn new(mut world: World) -> Self {
        world.settings.redactor = Some(redactor());
        let outputs = Arc::new(MemoryOutputs::new(world.clock.clone()));
        let ports = Ports {
            log: world.log.clone(),
            provider: world.provider.clone(),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            outputs: outputs.clone(),
            approver: world.approver.clone(),
            locations: Arc::new(world.services.clone()),
            definitions: Arc::new(world.definitions.clone()),
        };
        let runtime = Runtime::new(ports, world.settings.clone());
        Self { world, outputs, runtime }
    }

    async fn session(&self) -> Result<Session, annals_runtime::LogError> {
        self.world.session(&self.runtime).await
    }

    /// Everything that was kept or sent: the exported log with its blobs, the requests, the whole outputs.
    async fn everything(&self, session: &Session) -> Result<String, Box<dyn std::error::Error>> {
        let mut exported = Vec::new();
        export(&*self.world.log, session.id(), &mut exported, &mut |_| {}).await?;
        let mut all = String::from_utf8(exported)?;
        for sent in self.world.scripted.received() {
            all.push_str(&sent.request.shape_json().to_string());
            all.push_str(&format!("{:?}", sent.request));
        }
        all.push_str(&format!("{:?}", self.outputs.files()));
        Ok(all)
    }

    /// That the secret stands nowhere, its placeholder does, and the log counts it `count` times.
    async fn holds_no_secret(&self, session: &Session, count: u64) -> Tested {
        let all = self.everything(session).await?;
        assert!(!all.contains(SECRET), "{all}");
        assert!(all.contains(PLACEHOLDER), "{all}");
        assert_eq!(self.counted(session).await?, count, "{all}");
        Ok(())
    }

    /// How often the log says that the secret was replaced.
    async fn counted(&self, session: &Session) -> Result<u64, Box<dyn std::error::Error>> {
        let mut counted = 0;
        for slice in self.world.log.read(session.id(), Seq::ZERO, 10_000).await? {
            for record in slice.records() {
                if let Event::Message(MessageEvent::RedactionApplied(RedactionApplied { counts })) = record.event {
                    counted += counts.values().sum::<u64>();
                }
            }
        }
        Ok(counted)
    }
}

#[tokio::test]
async fn an_input_and_its_attachments_lose_their_secrets_in_the_batch_that_admits_them() -> Tested {
    let guarded = Guarded::new(World::new([ScriptedAttempt::text("ok")]));
    let session = guarded.session().await?;
    let encoded = STANDARD.encode(format!("x={SECRET}"));
    let mut input = NewInput::steer(format!("my key is {SECRET}")).named("m1");
    let attached = |mime: &str, uri: String| Attachment {
        mime: mime.into(),
        name: Some(format!("{SECRET}.txt")),
        uri: uri.into(),
    };
    input.attachments = vec![
        attached("text/plain", format!("data:text/plain;base64,{encoded}")),
        attached("text/plain", format!("data:text/plain,{SECRET}")),
    ];
    assert_eq!(session.admit(input.clone()).await?, Admitted::New);
    assert_eq!(events(&guarded.world, &session).await?, ["session.created", "input.admitted", "redaction.applied"]);
    session.run().await?;
    guarded.holds_no_secret(&session, 5).await?;
    assert!(!guarded.everything(&session).await?.contains(&encoded));

    // The same again is known: it is compared as it was kept.
    assert_eq!(session.admit(input).await?, Admitted::Known);
    Ok(())
}

#[tokio::test]
async fn binary_attachments_pass_as_they_are() -> Tested {
    let guarded = Guarded::new(World::new([]));
    let session = guarded.session().await?;
    let uri = format!("data:image/png;base64,{}", STANDARD.encode(format!("\u{89}PNG {SECRET}")));
    let mut input = NewInput::steer("look");
    input.attachments = vec![Attachment { mime: "image/png".into(), name: None, uri: uri.clone().into() }];
    session.admit(input).await?;
    assert!(guarded.everything(&session).await?.contains(&uri));
    assert_eq!(guarded.counted(&session).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_context_source_is_compared_as_it_was_told_so_nothing_changes_at_each_turn() -> Tested {
    let world =
        World::new([ScriptedAttempt::text("one"), ScriptedAttempt::text("two"), ScriptedAttempt::text("three")]);
    let value = Arc::new(Mutex::new(format!("token {SECRET}")));
    let read = value.clone();
    let source = Source::new(
        "acme/notes".parse()?,
        move || std::future::ready(read.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        |notes: &String| format!("Notes: {notes}"),
    )
    .removed(|notes| format!("Gone: {notes}"));
    let registry = &world.services.registry;
    registry.register("acme/notes".parse()?, annals_runtime::context::SystemContext::from(source))?.detach();
    let guarded = Guarded::new(world);
    let session = guarded.session().await?;
    for said in ["hello", "again"] {
        session.admit(NewInput::steer(said)).await?;
        session.run().await?;
    }
    guarded.holds_no_secret(&session, 1).await?;
    assert!(!events(&guarded.world, &session).await?.contains(&"context.admitted"));

    *value.lock().unwrap_or_else(PoisonError::into_inner) = format!("changed, {SECRET}");
    session.admit(NewInput::steer("and now")).await?;
    session.run().await?;
    assert!(events(&guarded.world, &session).await?.contains(&"context.admitted"));
    guarded.holds_no_secret(&session, 2).await
}

/// A tool by the name of `look`.
fn look(body: impl Fn() -> Result<ToolOutput, ToolError> + Send + Sync + 'static) -> FunctionTool<serde_json::Value> {
    let schema = json!({"type": "object"});
    FunctionTool::new("look", "Looks.", &schema, move |_, _| std::future::ready(body()))
}

async fn looked(tool: FunctionTool<serde_json::Value>) -> Result<(Guarded, Session), Box<dyn std::error::Error>> {
    let called = ScriptedAttempt::call("c1", "look", "{}");
    let guarded = Guarded::new(World::new([called, ScriptedAttempt::text("done")]).tool(tool));
    let session = guarded.session().await?;
    session.admit(NewInput::steer("look")).await?;
    session.run().await?;
    Ok((guarded, session))
}

#[tokio::test]
async fn a_tools_text_value_and_attachments_lose_their_secrets() -> Tested {
    let output = || {
        let structured = ToolOutput::structured(&json!({"a": [SECRET], (SECRET): 1}));
        let uri = format!("data:application/json,{{\"k\":\"{SECRET}\"}}").into();
        let attachments = vec![Attachment { mime: "application/json".into(), name: None, uri }];
        Ok(ToolOutput { text: Some(format!("found {SECRET}")), attachments, ..structured })
    };
    let (guarded, session) = looked(look(output)).await?;
    guarded.holds_no_secret(&session, 4).await
}

#[tokio::test]
async fn a_tools_output_loses_its_secrets_before_it_is_cut_and_kept_whole() -> Tested {
    // The cut would fall into one of them.
    let (guarded, session) = looked(look(|| Ok(ToolOutput::text(SECRET.repeat(10_000))))).await?;
    assert_eq!(guarded.outputs.files().len(), 1);
    guarded.holds_no_secret(&session, 10_000).await?;
    let all = guarded.everything(&session).await?;
    for part in ["planted-s", "secret-47"] {
        assert!(!all.contains(part), "a part of it stands there");
    }
    Ok(())
}

#[tokio::test]
async fn a_tools_error_loses_its_secrets() -> Tested {
    let (guarded, session) = looked(look(|| Err(ToolError(format!("no access with {SECRET}"))))).await?;
    guarded.holds_no_secret(&session, 1).await
}

#[tokio::test]
async fn what_a_tool_shows_while_it_runs_loses_its_secrets() -> Tested {
    let schema = json!({"type": "object"});
    let tool = FunctionTool::new("look", "Looks.", &schema, |_: serde_json::Value, context| async move {
        let shown = context.progress.show(&context.call, Some(format!("so far {SECRET}")), Some(&json!({"k": SECRET})));
        assert!(shown);
        tokio::task::yield_now().await;
        Ok(ToolOutput::text("done"))
    });
    let (guarded, session) = looked(tool).await?;
    assert!(events(&guarded.world, &session).await?.contains(&"tool.progressed"));
    guarded.holds_no_secret(&session, 2).await
}

#[tokio::test]
async fn a_providers_error_loses_its_secrets() -> Tested {
    let refused = |kind| {
        ScriptedAttempt::error(ProviderError {
            kind,
            status: Some(401),
            retry_after_ms: None,
            message: format!("incorrect key: {SECRET}"),
        })
    };
    // The first is tried again, the second is the end.
    let attempts = [refused(ProviderErrorKind::Transport), refused(ProviderErrorKind::Authentication)];
    let guarded = Guarded::new(World::new(attempts));
    let session = guarded.session().await?;
    session.admit(NewInput::steer("hello")).await?;
    let refusal = session.run().await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refusal.contains(PLACEHOLDER) && !refusal.contains(SECRET), "{refusal}");
    let all = guarded.everything(&session).await?;
    assert!(all.contains("retry.scheduled") && all.contains("step.failed") && !all.contains(SECRET), "{all}");
    Ok(())
}

#[tokio::test]
async fn what_a_person_answers_loses_its_secrets() -> Tested {
    let answer = PermissionAnswer::Reject { feedback: Some(format!("use {SECRET} instead")) };
    let mut world = World::new([ScriptedAttempt::call("c1", "look", "{}"), ScriptedAttempt::text("done")])
        .tool(says("look", "seen"));
    world.approver = Arc::new(FixedApprover(Answered::by_user(answer)));
    let guarded = Guarded::new(world);
    let session = guarded.session().await?;
    session.admit(NewInput::steer("look")).await?;
    session.run().await?;
    guarded.holds_no_secret(&session, 2).await
}

#[tokio::test]
async fn titles_that_people_give_lose_their_secrets() -> Tested {
    let guarded = Guarded::new(World::new([]));
    let titled =
        NewSession { title: Some(format!("with {SECRET}")), ..NewSession::at("/project", "build", "test/alpha") };
    let session = guarded.runtime.create(titled).await?;
    session.set_title(format!("now {SECRET}")).await?;
    guarded.holds_no_secret(&session, 2).await
}

#[tokio::test]
async fn what_shapes_a_request_loses_its_secrets_before_its_hash_is_taken() -> Tested {
    let system = Some(format!("Deploy with {SECRET}.").into());
    let schema = json!({"type": "object", "description": SECRET});
    let tool = FunctionTool::new("look", &format!("Looks with {SECRET}."), &schema, |_: serde_json::Value, _| async {
        Ok(ToolOutput::text("seen"))
    });
    let mut world = World::new([ScriptedAttempt::text("one"), ScriptedAttempt::text("two")]).tool(tool);
    world.definitions = world.definitions.clone().agent(AgentProfile { system, ..bare_agent(&"build".into()) });
    let guarded = Guarded::new(world);
    let session = guarded.session().await?;
    for said in ["hello", "again"] {
        session.admit(NewInput::steer(said)).await?;
        session.run().await?;
    }
    // Recorded once: the second turn finds the same shape.
    guarded.holds_no_secret(&session, 3).await?;
    let recorded = events(&guarded.world, &session).await?;
    let times = |name: &str| recorded.iter().filter(|recorded| **recorded == name).count();
    assert_eq!((times("agent.profile_recorded"), times("tools.recorded")), (1, 1));
    Ok(())
}

struct Hook;

impl SummaryHook for Hook {
    fn context(&self, _: SessionId) -> Boxed<'_, Option<String>> {
        Box::pin(async { Some(format!("The ticket is {SECRET}.")) })
    }
}

#[tokio::test]
async fn what_is_added_to_a_summary_request_loses_its_secrets() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("hi"), ScriptedAttempt::text("Greetings.")]);
    world.settings.summary = Some(Arc::new(Hook));
    world.settings.compaction = CompactionSettings { keep_tokens: 0, ..CompactionSettings::default() };
    let guarded = Guarded::new(world);
    let session = guarded.session().await?;
    session.admit(NewInput::steer("hello")).await?;
    session.run().await?;
    session.compact().await?;
    guarded.holds_no_secret(&session, 1).await
}

#[tokio::test]
async fn what_a_model_wrote_stays_as_it_is() -> Tested {
    let said = format!("the password could be {SECRET}");
    let attempts =
        [ScriptedAttempt::call("c1", "look", format!("{{\"k\":\"{SECRET}\"}}")), ScriptedAttempt::text(said.clone())];
    let guarded = Guarded::new(World::new(attempts).tool(says("look", "seen")));
    let session = guarded.session().await?;
    session.admit(NewInput::steer("guess")).await?;
    session.run().await?;
    let all = guarded.everything(&session).await?;
    assert!(all.contains(&said) && !all.contains("redacted"), "{all}");
    Ok(())
}

#[tokio::test]
async fn every_request_is_still_rebuilt_from_the_log() -> Tested {
    let (guarded, session) = looked(look(|| Ok(ToolOutput::text(format!("found {SECRET}"))))).await?;
    assert_eq!(guarded.world.scripted.received().len(), 2);
    all_rebuilt(&guarded.world, &session).await
}

#[tokio::test]
async fn without_a_redactor_everything_passes_as_it_is() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("ok")]);
    world.settings.redactor = None;
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer(SECRET)).await?;
    session.run().await?;
    assert!(!events(&world, &session).await?.contains(&"redaction.applied"));
    Ok(())
}

#[tokio::test]
async fn a_runtime_redacts_unless_it_is_told_not_to() -> Tested {
    let key = concat!("gh", "p_1wh3wmXvKeYu2D49PQ8kY9ceIUm0ORUy2GOm");
    let world = World::new([ScriptedAttempt::text("ok")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer(format!("my token is {key}"))).await?;
    session.run().await?;
    let sent: String = world.scripted.received().iter().map(|sent| format!("{:?}", sent.request)).collect();
    assert!(sent.contains("[redacted:github-token]") && !sent.contains(key), "{sent}");
    assert!(events(&world, &session).await?.contains(&"redaction.applied"));
    Ok(())
}

#[tokio::test]
async fn the_options_of_requests_lose_their_secrets_before_their_hash_is_taken() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("one"), ScriptedAttempt::text("two")]);
    let mut options = annals_core::event::RequestOptions::default();
    for (values, name) in [(&mut options.options, "user"), (&mut options.body, "metadata")] {
        values.insert(name.into(), annals_core::Json::canonical(&json!({"of": [SECRET]})));
    }
    world.definitions = world.definitions.clone().options(options);
    let guarded = Guarded::new(world);
    let session = guarded.session().await?;
    for said in ["hello", "again"] {
        session.admit(NewInput::steer(said)).await?;
        session.run().await?;
    }
    guarded.holds_no_secret(&session, 2).await?;
    // The hash that a request names is that of the recorded options, so they are recorded once and rebuilt.
    let recorded = events(&guarded.world, &session).await?;
    assert_eq!(recorded.iter().filter(|name| **name == "options.recorded").count(), 1);
    all_rebuilt(&guarded.world, &session).await
}
