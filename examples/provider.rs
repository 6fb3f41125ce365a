//! Writes a provider: a "model" that answers with the last words of the user in capitals.
//!
//! `cargo run -p annals-examples --bin provider`

use annals_core::event::{Finish, Usage};
use annals_projections::{Block, Role};
use annals_providers::provider::{AnswerStream, Provider, ProviderEvent, ProviderRequest};
use annals_runtime::settings::bare_model;
use annals_runtime::{NewSession, Runtime};
use annals_store::MemoryLog;
use futures_util::{StreamExt, stream};
use std::sync::Arc;

/// Answers in capitals.
struct Loud;

impl Provider for Loud {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let messages = request.request.messages.iter().rev().filter(|message| message.role == Role::User);
        let words = messages.flat_map(|message| &message.blocks).find_map(|block| match block {
            Block::Text { text, .. } => Some(text.to_uppercase()),
            _ => None,
        });
        let (id, text) = ("0".to_owned(), words.unwrap_or_default());
        let usage = Usage { output: text.len() as u64, ..Usage::default() };
        stream::iter([
            Ok(ProviderEvent::TextDelta { id: id.clone(), text }),
            Ok(ProviderEvent::TextEnded { id, metadata: None }),
            Ok(ProviderEvent::Usage(usage)),
            Ok(ProviderEvent::Finished(Finish::Stop)),
        ])
        .boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder(Arc::new(MemoryLog::new()), Arc::new(Loud))
        .model(bare_model(&"loud/one".into(), 10_000, 1_000))
        .build()?;
    let session = runtime.create(NewSession::at("/project", "main", "loud/one")).await?;
    println!("{}", session.ask("what did I say?").await?);
    Ok(())
}
