//! A model that is a function of its request, and the history as lines.

use annals_core::NoBlobs;
use annals_core::event::{Finish, Purpose};
use annals_projections::{Block, Body, Content, Request, Role, SessionView, Status};
use annals_runtime::ports::{AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest};
use futures_util::StreamExt;
use futures_util::stream;

/// `say X` answers X; `style N` calls `style` N times, one after the other; `both N` calls it N times at once,
/// or as often as is left after an answer that was cut off; `retry X` fails in passing at the first attempt. A summary
/// is always the same.
pub struct ScriptedModel;

impl Provider for ScriptedModel {
    fn send(&self, sent: ProviderRequest) -> AnswerStream {
        stream::iter(answer(&sent.request, sent.attempt)).boxed()
    }
}

fn answer(request: &Request, attempt: u32) -> Vec<Result<ProviderEvent, ProviderError>> {
    if request.purpose == Purpose::Summary {
        return says("A summary.");
    }
    let (prompt, results) = asked(request);
    let (word, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
    let number: usize = rest.parse().unwrap_or(0);
    match word {
        "look" if results < number => calls(results..results + 1),
        "both" if results < number => calls(results..number),
        "retry" if attempt == 1 => vec![Err(ProviderError {
            kind: ProviderErrorKind::RateLimit,
            status: Some(429),
            retry_after_ms: None,
            message: "too many".into(),
        })],
        _ => says(&format!("done: {prompt}")),
    }
}

/// The last prompt, and how many results came since.
fn asked(request: &Request) -> (&str, usize) {
    let mut results = 0;
    for message in request.messages.iter().rev() {
        for block in &message.blocks {
            match (message.role, block) {
                (Role::User, Block::Text { text, .. }) => return (text, results),
                (Role::Tool, Block::Result { .. }) => results += 1,
                _ => {}
            }
        }
    }
    ("", results)
}

fn says(text: &str) -> Vec<Result<ProviderEvent, ProviderError>> {
    vec![
        Ok(ProviderEvent::TextDelta { id: "t".into(), text: text.into() }),
        Ok(ProviderEvent::TextEnded { id: "t".into(), metadata: None }),
        Ok(ProviderEvent::Finished(Finish::Stop)),
    ]
}

fn calls(numbers: std::ops::Range<usize>) -> Vec<Result<ProviderEvent, ProviderError>> {
    let call = |n: usize| ProviderEvent::ToolCalled {
        call: format!("c{n}").into(),
        name: "look".into(),
        input: format!("{{\"n\":{n}}}"),
        hosted: false,
        metadata: None,
    };
    numbers.map(call).chain([ProviderEvent::Finished(Finish::ToolCalls)]).map(Ok).collect()
}

pub(super) fn lines(view: &SessionView) -> Vec<String> {
    let mut lines = Vec::new();
    for message in view.history.selected() {
        match &message.body {
            Body::User { text, .. } => lines.push(format!("user {}", text.resolve(&NoBlobs))),
            Body::System { text, .. } => lines.push(format!("system {}", text.resolve(&NoBlobs))),
            Body::Compaction { summary, .. } => lines.push(format!("compaction {}", summary.resolve(&NoBlobs))),
            Body::Assistant(answer) => {
                for content in &answer.content {
                    match content {
                        Content::Text { text, .. } if answer.error.is_none() => {
                            lines.push(format!("says {}", text.resolve(&NoBlobs)));
                        }
                        Content::Tool(tool) => {
                            let cut_off = tool.status == Status::Error;
                            let result = if cut_off { tool.error.as_ref() } else { Some(&tool.output) };
                            let result = result.map(|text| text.resolve(&NoBlobs).into_owned()).unwrap_or_default();
                            lines.push(format!("call {} {result}", tool.input.0.resolve(&NoBlobs)));
                        }
                        _ => {}
                    }
                }
            }
            other => lines.push(format!("{other:?}")),
        }
    }
    lines
}
