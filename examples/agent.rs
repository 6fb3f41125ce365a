//! A complete agent: a tool, a Chat Completions endpoint over HTTP and a log on disk. The endpoint is a scripted server in this
//! program; with `ANNALS_EXAMPLE_URL` (such as `http://127.0.0.1:11434/v1`) and `ANNALS_EXAMPLE_MODEL` it is a real model.
//!
//! `cargo run -p annals-examples --bin agent`

mod ports;

use annals_core::event::{AgentProfile, ModelProfile, StepEvent, ToolEvent};
use annals_core::{Event, Seq};
use annals_providers::http::{Endpoint, HttpProvider, OneEndpoint};
use annals_providers::wire::Protocol;
use annals_runtime::ports::{SystemClock, now_of};
use annals_runtime::settings::bare_model;
use annals_runtime::settings::{LocationServices, bare_agent};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession};
use annals_store::{EventLog, OpenMode, SharedLog};
use serde_json::{Value, json};
use std::env;
use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = match env::var("ANNALS_EXAMPLE_URL") {
        Ok(url) => url,
        Err(_) => serve().await?,
    };
    let folder = tempfile::tempdir()?;
    let log: Arc<dyn EventLog> = Arc::new(SharedLog::open(folder.path(), OpenMode::Create).await?);

    let services = LocationServices::default();
    let add = FunctionTool::new("add", "Adds numbers.", &numbers(), |input: Value, _| async move {
        let sum: i64 = input["numbers"].as_array().into_iter().flatten().filter_map(Value::as_i64).sum();
        Ok(ToolOutput::text(sum.to_string()))
    });
    services.tools.register([Arc::new(add) as Arc<dyn Tool>])?.detach();

    let agent = AgentProfile { system: Some("Use the tool to add.".into()), ..bare_agent(&"main".into()) };
    let model = ModelProfile {
        id: env::var("ANNALS_EXAMPLE_MODEL").unwrap_or_else(|_| "scripted".into()),
        protocol: Protocol::OpenAiChat.as_str().into(),
        encoding: Protocol::OpenAiChat.encoding(),
        ..bare_model(&"local/model".into(), 32_000, 4_000)
    };
    let endpoint = Arc::new(OneEndpoint(Endpoint::at(url)));
    let provider = Arc::new(HttpProvider::new(endpoint, now_of(Arc::new(SystemClock::local()))));
    let runtime = ports::runtime(log.clone(), provider, services, agent, model)?;
    let session = runtime.create(NewSession::at("/project", "main", "local/model")).await?;
    session.admit(NewInput::steer("What is 19 + 23?")).await?;
    println!("outcome: {}", session.run().await?.as_str());
    let blobs = session.blobs();
    for slice in log.read(session.id(), Seq::ZERO, usize::MAX).await? {
        for record in slice.records() {
            let text = match record.event {
                Event::Tool(ToolEvent::Called(called)) => {
                    format!("  {} {}", called.name, called.input.0.resolve(&*blobs))
                }
                Event::Step(StepEvent::TextEnded(ended)) => format!("  {}", ended.text.resolve(&*blobs)),
                _ => String::new(),
            };
            println!("{:>4}  {}{text}", record.seq, record.event.kind().name());
        }
    }
    Ok(())
}

fn numbers() -> Value {
    let array = json!({"type": "array", "items": {"type": "integer"}});
    json!({"type": "object", "properties": {"numbers": array}, "required": ["numbers"]})
}

/// Starts a server that first calls the tool and then answers with its result. Returns its base URL.
async fn serve() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Err(error) = reply(stream).await {
                eprintln!("the server of the example: {error}");
            }
        }
    });
    Ok(base)
}

/// Reads one request and answers it with an event stream of the protocol.
async fn reply(stream: TcpStream) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while stream.read_line(&mut line).await? > 2 {
        if let Some(("content-length", value)) = line.to_lowercase().split_once(": ") {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body: Value = serde_json::from_slice(&body)?;
    let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let (delta, finish) = match last["role"].as_str() {
        Some("tool") => {
            let sum = last["content"].as_str().unwrap_or_default();
            (json!({"content": format!("It is {sum}.")}), "stop")
        }
        _ => {
            let function = json!({"name": "add", "arguments": "{\"numbers\":[19,23]}"});
            (
                json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}),
                "tool_calls",
            )
        }
    };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 5});
    let chunks = [
        json!({"choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}),
    ];
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    stream.write_all(format!("{head}{events}data: [DONE]\n\n").as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
