//! Small arguments of actions.

use super::ViewName;
use crate::reader::{JsonAt, unknown};
use crate::{Invalid, ViewPattern};
use annals_core::InputId;
use annals_core::event::Delivery;
use std::collections::BTreeMap;

/// An input of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputScript {
    /// Its id; generated if missing.
    pub id: Option<InputId>,
    /// The text of the user.
    pub text: String,
    /// When it is promoted.
    pub delivery: Delivery,
    /// A system text for the turns that answer it; an addition to `fixtures/scenarios/FORMAT.md`, as `tools` is.
    pub system: Option<String>,
    /// Which tools those turns are offered.
    pub tools: BTreeMap<String, bool>,
}

impl InputScript {
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        if let Some(text) = at.value.as_str() {
            let (text, tools) = (text.to_owned(), BTreeMap::new());
            return Ok(Self { id: None, text, delivery: Delivery::Steer, system: None, tools });
        }
        if !at.value.is_object() {
            return Err(at.invalid("expected a text, or `{id?, text, delivery?, system?, tools?}`"));
        }
        let fields = at.fields(&["id", "text", "delivery", "system", "tools"])?;
        let words = &[("steer", Delivery::Steer), ("queue", Delivery::Queue)];
        Ok(Self {
            id: fields.read("id", |at| at.name("an input id").map(InputId::from))?,
            text: fields.need("text")?.text()?.to_owned(),
            delivery: fields.read("delivery", |at| at.word(words))?.unwrap_or(Delivery::Steer),
            system: fields.read("system", |at| at.text().map(str::to_owned))?,
            tools: fields.read("tools", |at| choice(&at))?.unwrap_or_default(),
        })
    }
}

/// Whether tools are offered, by name or pattern.
fn choice(at: &JsonAt<'_>) -> Result<BTreeMap<String, bool>, Invalid> {
    at.entries()?.into_iter().map(|(name, at)| Ok((name.to_owned(), at.boolean()?))).collect()
}

/// A skill of the location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredSkill {
    /// Its name.
    pub name: String,
    /// Its description; without one it is not listed.
    pub description: Option<String>,
    /// Its text; never shown as guidance.
    pub body: Option<String>,
}

impl DeclaredSkill {
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        let fields = at.fields(&["name", "description", "body"])?;
        Ok(Self {
            name: fields.need("name")?.name("the name of a skill")?.to_owned(),
            description: fields.read("description", |at| at.text().map(str::to_owned))?,
            body: fields.read("body", |at| at.text().map(str::to_owned))?,
        })
    }
}

/// Background work that a script starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleTarget {
    /// The request for the session's title.
    Title,
    /// The background task of the n-th child, from 1.
    Child(u64),
}

impl SettleTarget {
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        if at.value.is_object() {
            return ordinal(&at.fields(&["child"])?.need("child")?, "children").map(Self::Child);
        }
        at.word(&[("title", Self::Title)])
    }
}

/// An action on a revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevertAction {
    /// Stage the undo of a message and of everything after it.
    To {
        /// The n-th user message, from 1.
        user: u64,
        /// Whether files are restored too; an addition to `fixtures/scenarios/FORMAT.md`.
        files: bool,
    },
    /// Clear the staged revert.
    Clear,
    /// Commit the staged revert.
    Commit,
}

impl RevertAction {
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        if at.value.is_object() {
            let fields = at.fields(&["to", "files"])?;
            let files = fields.read("files", |at| at.boolean())?.unwrap_or(false);
            return Ok(Self::To { user: user(&fields.need("to")?)?, files });
        }
        at.word(&[("clear", Self::Clear), ("commit", Self::Commit)])
    }
}

/// A point where the process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Before the next batch is appended.
    BeforeAppend,
    /// After the next batch was appended, before the caller knows.
    AfterAppend,
    /// While the next tool runs.
    DuringTool,
    /// While the next attempt streams: its text and reasoning have arrived, its calls have not.
    DuringStream,
}

impl CrashPoint {
    /// Every point, by its word.
    pub const WORDS: &'static [(&'static str, CrashPoint)] = &[
        ("before-append", CrashPoint::BeforeAppend),
        ("after-append", CrashPoint::AfterAppend),
        ("during-tool", CrashPoint::DuringTool),
        ("during-stream", CrashPoint::DuringStream),
    ];
}

/// `{user: N}`, counted from 1.
pub(super) fn user(at: &JsonAt<'_>) -> Result<u64, Invalid> {
    ordinal(&at.fields(&["user"])?.need("user")?, "user messages")
}

/// A number counted from 1.
pub(super) fn ordinal(at: &JsonAt<'_>, what: &str) -> Result<u64, Invalid> {
    match at.whole()? {
        0 => Err(at.invalid(format!("{what} are counted from 1"))),
        n => Ok(n),
    }
}

/// A duration such as `90s`, in milliseconds.
pub(super) fn duration(at: &JsonAt<'_>) -> Result<u64, Invalid> {
    let text = at.text()?;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => {
            return Err(at.invalid(format!("{text:?} is not a duration: expected a whole number and ms, s, m, h or d")));
        }
    };
    if number.is_empty() {
        return Err(at.invalid(format!("{text:?} is not a duration: the number is missing")));
    }
    // Times stay below 2^53 (`docs/reference/events.md#forms`): a hundred thousand years are enough for any scenario.
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    ms.filter(|ms| *ms < 1 << 51).ok_or_else(|| at.invalid(format!("{text} is too long")))
}

/// The label of a capture, without a dot: `$same` ends labels at the first dot.
pub(super) fn label(at: &JsonAt<'_>) -> Result<String, Invalid> {
    let label = at.name("a label")?;
    if label.contains('.') {
        return Err(at.invalid(format!("the label {label:?} contains a dot, which ends a label in `$same`")));
    }
    Ok(label.to_owned())
}

/// The patterns of an `expect`, by view.
pub(super) fn views(at: &JsonAt<'_>) -> Result<Vec<(ViewName, ViewPattern)>, Invalid> {
    let names: Vec<&str> = ViewName::ALL.iter().map(|(name, _)| *name).collect();
    let entries = at.entries()?;
    let read = |(name, pattern): &(&str, JsonAt<'_>)| {
        let view = ViewName::ALL.iter().find_map(|(known, view)| (known == name).then_some(*view));
        let view = view.ok_or_else(|| pattern.invalid(unknown("view", name, &names)))?;
        Ok((view, ViewPattern::read(pattern)?))
    };
    let mut views = entries.iter().map(read).collect::<Result<Vec<_>, Invalid>>()?;
    views.sort_by_key(|(view, _)| *view);
    Ok(views)
}
