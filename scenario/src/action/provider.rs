//! Scripted answers of the provider.

use super::Action;
use super::nested::Nesting;
use crate::Invalid;
use crate::reader::JsonAt;
use annals_core::CallId;
use annals_core::event::{Finish, Usage};
use annals_runtime::ports::ProviderErrorKind;
use serde_json::Value;

/// One attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptScript {
    /// The provider answers.
    Answer(Box<AnswerScript>),
    /// The provider fails.
    Failing(FailureScript),
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerScript {
    /// Its text.
    pub text: Option<String>,
    /// Its reasoning, which precedes the text.
    pub reasoning: Option<String>,
    /// Its tool calls, which are last.
    pub calls: Vec<CallScript>,
    /// The reported usage.
    pub usage: Option<Usage>,
    /// How it ends; default `stop`, with calls `tool-calls`.
    pub finish: Option<Finish>,
    /// Runs after text and reasoning, before the calls.
    pub during: Vec<Action>,
}

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CallScript {
    /// Its id.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// A failure of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureScript {
    /// The kind of error.
    pub kind: ProviderErrorKind,
    /// HTTP status.
    pub status: Option<u16>,
    /// The wait that the provider asks for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Text that arrives before it fails.
    pub after_text: Option<String>,
    /// The reported usage before it fails; an addition to `fixtures/scenarios/FORMAT.md`.
    pub usage: Option<Usage>,
}

const ANSWER: &[&str] = &["text", "reasoning", "calls", "usage", "finish", "during"];
const FINISHES: &[(&str, Finish)] = &[
    ("stop", Finish::Stop),
    ("tool-calls", Finish::ToolCalls),
    ("length", Finish::Length),
    ("content-filter", Finish::ContentFilter),
    ("error", Finish::Error),
];

impl AttemptScript {
    pub(super) fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fails = at.object()?.contains_key("error") || at.object()?.contains_key("after_text");
        if fails {
            FailureScript::read(at).map(Self::Failing)
        } else {
            AnswerScript::read(at, within).map(|a| Self::Answer(Box::new(a)))
        }
    }
}

impl FailureScript {
    fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        let of_answers = |name: &str| name != "usage" && ANSWER.contains(&name);
        if let Some((name, value)) = at.object()?.iter().find(|(name, _)| of_answers(name)) {
            let reason = "an attempt that fails has only `error`, `after_text` and `usage`";
            return Err(at.child(name, value).invalid(reason));
        }
        let fields = at.fields(&["error", "after_text", "usage"])?;
        let error = fields.need("error")?.fields(&["kind", "status", "retry_after_ms"])?;
        Ok(Self {
            kind: error.need("kind")?.word(&ProviderErrorKind::ALL.map(|kind| (kind.as_str(), kind)))?,
            status: error.read("status", |at| at.whole())?,
            retry_after_ms: error.read("retry_after_ms", |at| at.whole())?,
            after_text: fields.read("after_text", |at| at.text().map(str::to_owned))?,
            usage: fields.read("usage", |at| usage(&at))?,
        })
    }
}

impl AnswerScript {
    fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fields = at.fields(&[ANSWER, &["error", "after_text"]].concat())?;
        let text = |name: &str| fields.read(name, |at| at.text().map(str::to_owned));
        Ok(Self {
            text: text("text")?,
            reasoning: text("reasoning")?,
            calls: fields.read("calls", |at| at.items()?.iter().map(CallScript::read).collect())?.unwrap_or_default(),
            usage: fields.read("usage", |at| usage(&at))?,
            finish: fields.read("finish", |at| at.word(FINISHES))?,
            during: fields.read("during", |at| within.during(&at))?.unwrap_or_default(),
        })
    }
}

impl CallScript {
    fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        let fields = at.fields(&["id", "tool", "input"])?;
        Ok(Self {
            id: CallId::from(fields.need("id")?.name("a call id")?),
            tool: fields.need("tool")?.name("the name of a tool")?.to_owned(),
            input: fields.need("input")?.value.clone(),
        })
    }
}

fn usage(at: &JsonAt<'_>) -> Result<Usage, Invalid> {
    let fields = at.fields(&["input", "output", "reasoning", "cache_read", "cache_write"])?;
    let tokens = |name: &str| fields.read(name, |at| at.whole()).map(Option::unwrap_or_default);
    Ok(Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        reasoning: tokens("reasoning")?,
        cache_read: tokens("cache_read")?,
        cache_write: tokens("cache_write")?,
    })
}
