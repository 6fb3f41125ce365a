//! A server that speaks Chat Completions by a script, for the examples `agent` and `coding_agent`.

use serde_json::{Value, json};
use std::error::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The base URL of the model: `ANNALS_EXAMPLE_URL`, or a server in this process that first calls the tool and then answers with
/// its result.
///
/// # Errors
/// When no port is free.
pub async fn url() -> Result<String, Box<dyn Error + Send + Sync>> {
    match std::env::var("ANNALS_EXAMPLE_URL") {
        Ok(url) => Ok(url),
        Err(_) => serve().await,
    }
}

async fn serve() -> Result<String, Box<dyn Error + Send + Sync>> {
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
            (json!({"content": format!("It is {}.", sum.trim())}), "stop")
        }
        _ => {
            let offered = body["tools"].as_array().into_iter().flatten().any(|tool| tool["function"]["name"] == "add");
            let function = match offered {
                true => json!({"name": "add", "arguments": "{\"numbers\":[19,23]}"}),
                false => json!({"name": "read", "arguments": "{\"path\":\"notes.txt\"}"}),
            };
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
