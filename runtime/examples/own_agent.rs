//! A stock-keeping agent: two Context Sources and a tool of its own, against a scripted model.
//!
//! `cargo run -p annals-runtime --example own_agent` prints what each request showed the model, then the log. The
//! stock changes while the agent works: the model gets one update, after the result that changed it.

use annals_core::Seq;
use annals_core::event::AgentProfile;
use annals_runtime::context::{Source, SystemContext};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_agent, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs, ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Ports, Runtime, Settings};
use annals_store::{EventLog, MemoryLog};
use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[derive(Deserialize)]
struct Take {
    boxes: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The world that the agent works in.
    let stock = Arc::new(AtomicU64::new(5));

    // What the model reads about it: typed values with pure renderers, observed before every request.
    let services = LocationServices::default();
    let counted = stock.clone();
    let boxes = Source::new(
        "shop/boxes".parse()?,
        move || std::future::ready(counted.load(SeqCst)),
        |boxes: &u64| format!("There are {boxes} boxes in stock."),
    )
    .update(|_, boxes| format!("There are now {boxes} boxes in stock."));
    let rule = Source::new(
        "shop/rule".parse()?,
        || std::future::ready(2u64),
        |least: &u64| format!("Always keep at least {least} boxes."),
    );
    services.registry.register("shop/boxes".parse()?, SystemContext::from(boxes))?.detach();
    services.registry.register("shop/rule".parse()?, SystemContext::from(rule))?.detach();

    // What it may do: a tool whose input is a type and whose body is a function.
    let taken = stock.clone();
    let schema = json!({"type": "object", "properties": {"boxes": {"type": "integer"}}, "required": ["boxes"]});
    let take = FunctionTool::new("take", "Takes boxes out of stock.", &schema, move |Take { boxes }, _| {
        let taken = taken.clone();
        async move {
            let left = taken.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(boxes));
            left.map(|_| ToolOutput::text(format!("took {boxes}")))
                .map_err(|left| format!("only {left} are left").into())
        }
    });
    services.tools.register([Arc::new(take) as Arc<dyn Tool>])?.detach();

    // A model that follows a script. A real one is another `Provider`.
    let provider = Arc::new(ScriptedProvider::new([
        ScriptedAttempt::call("c1", "take", "{\"boxes\":3}"),
        ScriptedAttempt::text("Three are out."),
    ]));
    let keeper = AgentProfile { system: Some("You keep the stock.".into()), ..bare_agent(&"keeper".into()) };
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let log = Arc::new(MemoryLog::new());
    let ports = Ports {
        log: log.clone(),
        provider: provider.clone(),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(7)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("example")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().agent(keeper).model(bare_model(
            &"demo/one".into(),
            100_000,
            4_000,
        ))),
    };

    let runtime = Runtime::new(ports, Settings::default());
    let session = runtime.create(NewSession::at("/shop", "keeper", "demo/one")).await?;
    session.admit(NewInput::steer("Take three boxes, please.")).await?;
    let outcome = session.run().await?;

    for (n, sent) in provider.received().iter().enumerate() {
        println!("request {}: {}", n + 1, serde_json::to_string_pretty(&sent.request.shape_json())?);
    }
    println!("outcome: {}, boxes left: {}", outcome.as_str(), stock.load(SeqCst));
    for slice in log.read(session.id(), Seq::ZERO, 1_000).await? {
        slice.records().for_each(|record| println!("{:>4}  {}", record.seq, record.event.kind().name()));
    }
    Ok(())
}
