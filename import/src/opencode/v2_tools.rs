//! Tool calls of OpenCode's V2 core. See the table in `v2.rs`.

use super::super::foreign::{JsonObject, compact};
use super::content::{names, output, todos};
use super::v2::V2Mapper;
use annals_core::Event;
use annals_core::event::*;

impl V2Mapper {
    pub(super) fn called(&mut self, data: &JsonObject<'_>) -> Option<Vec<Event>> {
        let (assistant, foreign) = (data.text("assistantMessageID")?, data.text("callID")?);
        let name = data.text("tool")?;
        if self.calls.of(data).is_none() {
            let index = self.step.open(data, &format!("tool {foreign}"))?;
            self.calls.started(assistant, foreign, name.clone(), index);
        }
        let input = data.json("input")?;
        let provider = data.object("provider");
        let hosted = provider.as_ref().is_some_and(|provider| provider.flag("executed"));
        let metadata = provider.as_ref().and_then(|provider| provider.json("metadata"));
        let call = self.calls.of(data)?;
        call.called = true;
        call.name.clone_from(&name);
        Some(vec![ToolCalled { index: call.index, call: call.id.clone(), name, input, hosted, metadata }.into()])
    }

    pub(super) fn succeeded(&mut self, data: &JsonObject<'_>) -> Option<Vec<Event>> {
        let shown = output(data);
        let paths = names(data, "outputPaths");
        let provider = data.object("provider");
        let hosted = provider.as_ref().is_some_and(|provider| provider.flag("executed"));
        let metadata = provider.as_ref().and_then(|provider| provider.json("metadata"));
        let todo = self.calls.of(data).filter(|call| call.name == "todowrite").and_then(|_| todos(data));
        let call = self.calls.settled(data)?;
        // Without a text the model is sent the structured value as JSON.
        let text = shown.text.or_else(|| shown.structured.as_ref().map(|json| json.0.clone())).unwrap_or_default();
        let settled = ToolSettled {
            call: call.id,
            outcome: ToolOutcome::Completed,
            output: text,
            error: None,
            structured: shown.structured,
            attachments: shown.attachments,
            truncated: !paths.is_empty(),
            paths,
            lossy: false,
            hosted_result: if hosted { data.json("result") } else { None },
            metadata,
        };
        Some(std::iter::once(settled.into()).chain(todo.map(Event::from)).collect())
    }

    pub(super) fn failed(&mut self, data: &JsonObject<'_>) -> Option<Vec<Event>> {
        let error = data.object("error")?;
        let message = error.text("message")?;
        if error.text("type").is_some_and(|kind| kind != "unknown") {
            error.note("type");
        }
        if let Some(result) = data.object("result") {
            // A local error's result repeats its message.
            if result.text("value").as_ref() == Some(&message) {
                result.skip(&["type"]);
            }
        }
        let provider = data.object("provider");
        let hosted = provider.as_ref().is_some_and(|provider| provider.flag("executed"));
        let metadata = provider.as_ref().and_then(|provider| provider.json("metadata"));
        let call = self.calls.settled(data)?;
        let mut events = Vec::new();
        if !call.called {
            // It failed before its input was complete: what had arrived of it is kept.
            let raw = call.raw.clone().unwrap_or_default();
            let input = annals_core::Json::received(if raw.is_empty() { "{}".into() } else { compact_or_raw(&raw) });
            let name = call.name.clone();
            events.push(
                ToolCalled { index: call.index, call: call.id.clone(), name, input, hosted, metadata: None }.into(),
            );
        }
        let settled = ToolSettled {
            call: call.id,
            outcome: ToolOutcome::Failed,
            output: call.output.unwrap_or_default(),
            error: Some(message.into()),
            structured: call.structured,
            attachments: Vec::new(),
            paths: Vec::new(),
            truncated: false,
            lossy: false,
            hosted_result: if hosted { data.json("result") } else { None },
            metadata,
        };
        events.push(settled.into());
        Some(events)
    }
}

fn compact_or_raw(raw: &str) -> String {
    if serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok() { compact(raw) } else { raw.to_owned() }
}
