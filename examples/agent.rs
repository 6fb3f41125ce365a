//! A complete agent: a tool, a Chat Completions endpoint over HTTP and a log on disk. The endpoint is a scripted server in this
//! folder; with `ANNALS_EXAMPLE_URL` (such as `http://127.0.0.1:11434/v1`) and `ANNALS_EXAMPLE_MODEL` it is a real model.
//!
//! `cargo run -p annals-examples --bin agent`

mod scripted_server;

use annals_core::event::ModelProfile;
use annals_providers::http::{Endpoint, HttpProvider, OneEndpoint};
use annals_providers::wire::Protocol;
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{SystemClock, now_of};
use annals_runtime::settings::bare_model;
use annals_runtime::tools::{FunctionTool, ToolOutput};
use annals_runtime::{NewSession, Runtime};
use annals_store::{OpenMode, SharedLog};
use serde_json::{Value, json};
use std::error::Error;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let log = Arc::new(SharedLog::open(folder.path(), OpenMode::Create).await?);
    let endpoint = Arc::new(OneEndpoint(Endpoint::at(scripted_server::url().await?)));
    let provider = Arc::new(HttpProvider::new(endpoint, now_of(Arc::new(SystemClock::local()))));
    let array = json!({"type": "array", "items": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": {"numbers": array}, "required": ["numbers"]});
    let add = FunctionTool::new("add", "Adds numbers.", &schema, |input: Value, _| async move {
        let sum: i64 = input["numbers"].as_array().into_iter().flatten().filter_map(Value::as_i64).sum();
        Ok(ToolOutput::text(sum.to_string()))
    });
    let runtime = Runtime::builder(log, provider)
        .agent("main", "Use the tool to add.")
        .model(model())
        .tool(add)
        .approver(Arc::new(FixedApprover::allowing("example")))
        .build()?;
    let session = runtime.create(NewSession::at("/project", "main", "local/model")).await?;
    println!("{}", session.ask("What is 19 + 23?").await?);
    Ok(())
}

fn model() -> ModelProfile {
    let id = std::env::var("ANNALS_EXAMPLE_MODEL").unwrap_or_else(|_| "scripted".into());
    let protocol = Protocol::OpenAiChat;
    let (encoding, protocol) = (protocol.encoding(), protocol.as_str().into());
    ModelProfile { id, protocol, encoding, ..bare_model(&"local/model".into(), 32_000, 4_000) }
}
