//! Registration, offering, running and settling.

use super::*;
use crate::Boxed;
use crate::context::{Loaded, Skill, SkillCatalogue};
use crate::ports::SeededIds;
use crate::testing::{ManualClock, MemoryOutputs};
use annals_core::bound::Limits;
use annals_core::event::{Effect, Rule, ToolOutcome, ToolSettled};
use annals_core::{Json, Seq, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn tool(name: &str, output: &'static str) -> Arc<dyn Tool> {
    let body = move |_: Value, _| async move { Ok(ToolOutput::text(output)) };
    Arc::new(FunctionTool::new(name, "", &json!({}), body))
}

fn context(cancel: &Cancel) -> CallContext {
    CallContext {
        session: SessionId::from_parts(0, 1),
        agent: "build".into(),
        step: Seq(3),
        call: "c1".into(),
        authorised: Vec::new(),
        permits: Permits::default(),
        cancellation: cancel.watch(),
        progress: ProgressSender::default(),
        past: Past::default(),
    }
}

async fn run(tool: &Registered) -> Result<ToolOutput, CallError> {
    tool.run(CallInput::received("{}"), context(&Cancel::default())).await
}

fn names(offered: &Offered) -> Vec<&str> {
    offered.tools().iter().map(|tool| tool.definition().name.as_str()).collect()
}

fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
    Rule { action: action.into(), resource: resource.into(), effect }
}

#[tokio::test]
async fn location_tools_shadow_those_of_the_application_until_their_layer_closes() -> Outcome {
    let application = ToolRegistry::default();
    application.register([tool("read", "application"), tool("write", "application")])?.detach();
    let location = ToolRegistry::over(&application);
    let said = async |name: &str| -> Result<String, CallError> {
        let tool = location.materialise(&[]).resolve(&location, name)?;
        Ok(run(&tool).await?.text.unwrap_or_default())
    };
    let below = location.register([tool("read", "location")])?;
    let above = location.register([tool("read", "newest")])?;
    assert_eq!((said("read").await?, said("write").await?), ("newest".into(), "application".into()));
    drop(below);
    assert_eq!(said("read").await?, "newest");
    above.close();
    assert_eq!(said("read").await?, "application");
    assert_eq!(names(&application.materialise(&[])), ["read", "write"]);
    Ok(())
}

#[test]
fn a_batch_with_one_bad_name_registers_nothing() {
    let registry = ToolRegistry::default();
    for bad in ["", "1st", "a b", "ä", "a.b", &"x".repeat(65)] {
        let refused = registry.register([tool("good", ""), tool(bad, "")]).err();
        assert_eq!(refused, Some(RegistrationError::InvalidName(bad.into())));
    }
    let refused = registry.register([tool("twice", ""), tool("twice", "")]).err();
    assert_eq!(refused, Some(RegistrationError::Repeated("twice".into())));
    assert!(registry.materialise(&[]).is_empty());
    assert!(registry.register([tool(&"x".repeat(64), ""), tool("A_b-1", "")]).is_ok());
}

#[test]
fn a_tool_is_offered_unless_its_action_is_finally_denied_on_everything() -> Outcome {
    let registry = ToolRegistry::default();
    let patch = FunctionTool::new("patch", "", &json!({}), |_: Value, _| async { Ok(ToolOutput::default()) });
    let patch = patch.judged("edit", |_| vec!["*".into()]);
    registry.register([tool("shell", ""), tool("read", ""), Arc::new(patch) as Arc<dyn Tool>])?.detach();
    assert_eq!(names(&registry.materialise(&[rule("shell", "*", Effect::Deny)])), ["patch", "read"]);
    assert_eq!(names(&registry.materialise(&[rule("edit", "*", Effect::Deny)])), ["read", "shell"]);
    let again = [rule("*", "*", Effect::Deny), rule("shell", "ls", Effect::Allow)];
    assert_eq!(names(&registry.materialise(&again)), ["shell"]);
    Ok(())
}

#[test]
fn a_call_means_the_registration_that_was_offered() -> Outcome {
    let registry = ToolRegistry::default();
    let layer = registry.register([tool("gone", ""), tool("replaced", ""), tool("stays", "")])?;
    let hidden = registry.materialise(&[rule("stays", "*", Effect::Deny)]);
    let offered = registry.materialise(&[]);
    let _over = registry.register([tool("replaced", "")])?;
    let refusal = |offered: &Offered, name| offered.resolve(&registry, name).err().map(|error| error.to_string());
    assert_eq!(refusal(&offered, "never").as_deref(), Some("Unknown tool: never"));
    assert_eq!(refusal(&hidden, "stays").as_deref(), Some("Unknown tool: stays"));
    assert_eq!(refusal(&offered, "replaced").as_deref(), Some("Stale tool call: replaced"));
    assert_eq!(refusal(&offered, "stays"), None);
    drop(layer);
    assert_eq!(refusal(&offered, "gone").as_deref(), Some("Stale tool call: gone"));
    Ok(())
}

#[tokio::test]
async fn a_running_call_ends_on_its_registration() -> Outcome {
    let registry = ToolRegistry::default();
    let layer = registry.register([tool("read", "text")])?;
    let resolved = registry.materialise(&[]).resolve(&registry, "read")?;
    drop(layer);
    assert_eq!(run(&resolved).await?.text.as_deref(), Some("text"));
    Ok(())
}

#[derive(Deserialize)]
struct Path {
    path: String,
}

#[tokio::test]
async fn an_input_is_validated_and_judged_as_its_type() -> Outcome {
    let registry = ToolRegistry::default();
    let read = FunctionTool::new("read", "", &json!({}), |Path { path }, _| async move { Ok(ToolOutput::text(path)) });
    let read = read.judged("read", |input: &Path| vec![input.path.clone()]);
    registry.register([Arc::new(read) as Arc<dyn Tool>])?.detach();
    let read = registry.materialise(&[]).resolve(&registry, "read")?;
    let refused = read.validate(&CallInput::received("\"a.txt\"")).err().ok_or("expected a refusal")?;
    assert!(
        refused.to_string().starts_with("Invalid tool input: the arguments must be a JSON object, not a string"),
        "{refused}"
    );
    let input = CallInput::received("{\"path\":\"a.txt\"}");
    assert_eq!((read.validate(&input), read.resources(&input)), (Ok(()), vec!["a.txt".to_string()]));
    Ok(())
}

#[tokio::test]
async fn errors_panics_and_interruptions_are_told_apart_and_a_result_that_is_there_counts() -> Outcome {
    let registry = ToolRegistry::default();
    let body = |input: Value, _: CallContext| async move {
        match input["do"].as_str() {
            Some("fail") => Err("the disk is full".into()),
            Some("panic") => panic!("boom"),
            Some("wait") => std::future::pending().await,
            _ => Ok(ToolOutput::text("done")),
        }
    };
    registry.register([Arc::new(FunctionTool::new("act", "", &json!({}), body)) as Arc<dyn Tool>])?.detach();
    let act = registry.materialise(&[]).resolve(&registry, "act")?;
    let cancel = Cancel::default();
    let mut outcome = Vec::new();
    for wanted in ["fail", "panic", "wait", "end"] {
        if wanted == "wait" {
            cancel.cancel();
        }
        let input = CallInput::received(&json!({ "do": wanted }).to_string());
        outcome.push(act.run(input, context(&cancel)).await.map(|output| output.text.unwrap_or_default()));
    }
    let outcomes: Vec<String> =
        outcome.into_iter().map(|outcome| outcome.unwrap_or_else(|error| error.to_string())).collect();
    assert_eq!(outcomes, ["the disk is full", "Tool execution failed: boom", "Tool execution interrupted", "done"]);
    Ok(())
}

fn bounding() -> (Arc<MemoryOutputs>, Bounding) {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let files = Arc::new(MemoryOutputs::new(clock.clone()));
    let ids = Arc::new(SeededIds::scripted(1));
    (files.clone(), Bounding { files, ids, clock, limits: Limits::default() })
}

fn output(settled: &ToolSettled) -> &str {
    settled.output.inline().unwrap_or_default()
}

#[tokio::test]
async fn a_long_output_keeps_both_ends_and_the_file_keeps_all_of_it() -> Outcome {
    let (files, bounding) = bounding();
    let whole = (1..=3_000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let mut long = ToolOutput::text(whole.clone());
    long.structured = Some(Json::canonical(&json!({"lines": 3_000})));
    long.paths.push("/own/file".into());
    let settled = bounding.settle("c1".into(), Ok(long)).await;
    let [own, managed] = settled.paths.as_slice() else { return Err("expected two paths".into()) };
    assert_eq!(own, "/own/file");
    assert_eq!(files.files().get(managed), Some(&whole));
    assert!(managed.starts_with("/outputs/tool_"));
    let marker = format!("line 998\n\n... output truncated; full content saved to {managed} ...\n\nline 2003\n");
    assert!(output(&settled).contains(&marker));
    assert!(settled.truncated && !settled.lossy);
    assert_eq!(settled.structured, Some(Json::canonical(&json!({"lines": 3_000}))));
    Ok(())
}

#[tokio::test]
async fn an_output_within_the_limits_stands_and_makes_no_file() {
    let (files, bounding) = bounding();
    let settled = bounding.settle("c1".into(), Ok(ToolOutput::text("short\n"))).await;
    assert_eq!((output(&settled), settled.truncated, settled.paths.len()), ("short\n", false, 0));
    assert!(files.files().is_empty());
}

#[tokio::test]
async fn an_output_that_cannot_be_kept_is_still_a_success_and_says_what_is_lost() {
    let (files, bounding) = bounding();
    files.set_full(true);
    let settled = bounding.settle("c1".into(), Ok(ToolOutput::text("x".repeat(60_000)))).await;
    assert_eq!(settled.outcome, ToolOutcome::Completed);
    assert!(settled.truncated && settled.lossy && settled.paths.is_empty());
    assert_eq!(output(&settled).len(), 51_200);
    assert!(output(&settled).contains("is lost ...") && !output(&settled).contains("saved to"));
}

#[tokio::test]
async fn a_structured_value_alone_is_read_as_indented_json_and_bounded_only_there() {
    let (_, bounding) = bounding();
    let small = bounding.settle("c1".into(), Ok(ToolOutput::structured(&json!({"a": [1]})))).await;
    assert_eq!(output(&small), "{\n  \"a\": [\n    1\n  ]\n}");
    let large = json!((0..3_000).collect::<Vec<_>>());
    let settled = bounding.settle("c2".into(), Ok(ToolOutput::structured(&large))).await;
    assert!(settled.truncated && output(&settled).starts_with("[\n  0,\n"));
    assert_eq!(settled.structured, Some(Json::canonical(&large)));
}

#[tokio::test]
async fn an_error_is_settled_as_it_is() {
    let (_, bounding) = bounding();
    let settled = bounding.settle("c1".into(), Err(CallError::Declared("the disk is full".into()))).await;
    assert_eq!(settled.outcome, ToolOutcome::Failed);
    assert_eq!(settled.error.as_ref().and_then(|text| text.inline()), Some("the disk is full"));
    assert_eq!(output(&settled), "");
}

#[tokio::test]
async fn a_structured_value_that_is_no_json_is_an_error() {
    let (_, bounding) = bounding();
    let broken = ToolOutput { structured: Some(Json::received("{\"a\":")), ..ToolOutput::text("fine") };
    let settled = bounding.settle("c1".into(), Ok(broken)).await;
    let error = settled.error.as_ref().and_then(|text| text.inline()).unwrap_or_default();
    assert!(error.starts_with("Tool returned an invalid value for its output schema: EOF"), "{error}");
    assert_eq!(settled.structured, None);
}

#[test]
fn a_hosted_result_is_settled_as_received() {
    let long = format!("[{}]", "12345678901234567890123,".repeat(9_000));
    let settled = hosted("c1".into(), long.clone(), None, Some("{}".into()));
    assert_eq!(settled.hosted_result, Some(Json::received(long)));
    assert!(!settled.truncated && settled.outcome == ToolOutcome::Completed);
    assert_eq!(hosted("c1".into(), "{}".into(), Some("no".into()), None).outcome, ToolOutcome::Failed);
}

struct Panicking;

impl Tool for Panicking {
    fn definition(&self) -> annals_core::event::ToolDefinition {
        annals_core::event::ToolDefinition {
            name: "odd".into(),
            description: "".into(),
            schema: Json::canonical(&json!({})),
        }
    }

    fn resources(&self, input: &CallInput) -> Vec<String> {
        vec![input.fields()["path"].to_string()] // panics without a path
    }

    fn validate(&self, _: &CallInput) -> Result<(), String> {
        Ok(())
    }

    fn execute<'a>(&'a self, _: CallInput, _: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::default()) })
    }
}

#[test]
fn a_call_whose_resources_cannot_be_named_is_not_made() -> Outcome {
    let registry = ToolRegistry::default();
    registry.register([Arc::new(Panicking) as Arc<dyn Tool>])?.detach();
    let odd = registry.materialise(&[]).resolve(&registry, "odd")?;
    assert!(matches!(odd.validate(&CallInput::received("{}")), Err(CallError::Defect(_))));
    assert_eq!(odd.validate(&CallInput::received("{\"path\":\"a\"}")), Ok(()));
    Ok(())
}

struct Catalogue;

impl SkillCatalogue for Catalogue {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        let audit = Skill { name: "audit".into(), description: None, body: "Read the log.".into() };
        Box::pin(async { Loaded::Available(vec![audit]) })
    }
}

#[tokio::test]
async fn the_skill_tool_gives_a_body_and_is_judged_by_the_skills_name() -> Outcome {
    let registry = ToolRegistry::default();
    registry.register([Arc::new(SkillTool::new(Arc::new(Catalogue))) as Arc<dyn Tool>])?.detach();
    let skill = registry.materialise(&[]).resolve(&registry, "skill")?;
    let input = CallInput::received("{\"name\":\"audit\"}");
    assert_eq!(skill.resources(&input), ["audit"]);
    let cancel = Cancel::default();
    assert_eq!(skill.run(input, context(&cancel)).await?.text.as_deref(), Some("Read the log."));
    let unknown = skill.run(CallInput::received("{\"name\":\"x\"}"), context(&cancel)).await;
    assert!(matches!(unknown, Err(CallError::Declared(_))));
    assert!(skill.validate(&CallInput::received("{}")).is_err());
    Ok(())
}

#[test]
fn progress_reaches_whoever_watches() -> Outcome {
    let (sender, mut watched) = tokio::sync::mpsc::unbounded_channel();
    assert!(ProgressSender::to(sender).show(&"c1".into(), Some("half".into()), None));
    assert_eq!(watched.try_recv()?.output, Some("half".into()));
    assert!(!ProgressSender::default().show(&"c1".into(), None, None));
    Ok(())
}

/// Ends well or badly, but only once it was interrupted.
struct Lingering(Result<(), ()>);

impl Tool for Lingering {
    fn definition(&self) -> annals_core::event::ToolDefinition {
        Panicking.definition()
    }

    fn demands(&self, _: &CallInput) -> Vec<Demand> {
        vec![Demand { action: "external_directory".into(), resources: vec!["/tmp".into()] }]
    }

    fn puts_away(&self) -> bool {
        true
    }

    fn validate(&self, _: &CallInput) -> Result<(), String> {
        Ok(())
    }

    fn execute<'a>(&'a self, _: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            context.cancellation.cancelled().await;
            tokio::task::yield_now().await;
            self.0.map(|()| ToolOutput::text("done")).map_err(|()| "stopped".into())
        })
    }
}

#[tokio::test]
async fn an_interrupted_tool_that_puts_things_away_is_waited_for_and_its_success_counts() -> Outcome {
    let outcome = async |ends| -> Result<_, CallError> {
        let registry = ToolRegistry::default();
        let registered = registry.register([Arc::new(Lingering(ends)) as Arc<dyn Tool>]);
        registered.map_err(|error| CallError::Defect(error.to_string()))?.detach();
        let tool = registry.materialise(&[]).resolve(&registry, "odd")?;
        assert_eq!(tool.demands(&CallInput::received("{}"))[0].action, "external_directory");
        let cancel = Cancel::default();
        let run = tool.run(CallInput::received("{}"), context(&cancel));
        let (ended, ()) = tokio::join!(run, async { cancel.cancel() });
        let late = tool.run(CallInput::received("{}"), context(&cancel)).await;
        assert_eq!(late, Err(CallError::Interrupted), "nothing is begun after the interruption");
        ended
    };
    assert_eq!(outcome(Ok(())).await, Ok(ToolOutput::text("done")));
    assert_eq!(outcome(Err(())).await, Err(CallError::Interrupted));
    Ok(())
}
