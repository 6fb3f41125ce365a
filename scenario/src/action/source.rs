//! Declared context sources.

use super::Action;
use super::nested::Nesting;
use crate::reader::JsonAt;
use crate::{Invalid, Template};
use annals_core::Key;
use serde_json::Value;

/// A declared context source.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredSource {
    /// Its key.
    pub key: Key,
    /// The contribution that it belongs to.
    pub contribution: Key,
    /// The type of its values.
    pub codec: DeclaredCodec,
    /// Its value; `None` while it is unavailable or absent.
    pub value: Option<Value>,
    /// Whether it is absent.
    pub absent: bool,
    /// The template of its text in the baseline.
    pub baseline: Template,
    /// The template of the context update for a changed value.
    pub update: Template,
    /// The template of the context update for its removal; `None` if it cannot be removed.
    pub removed: Option<Template>,
    /// Actions that run once, during its next observation.
    pub on_load: Vec<Action>,
}

/// The type of the values of a declared source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeclaredCodec {
    /// Any JSON.
    #[default]
    Json,
    /// Text.
    String,
    /// A number.
    Number,
}

impl DeclaredCodec {
    const WORDS: &'static [(&'static str, DeclaredCodec)] =
        &[("json", DeclaredCodec::Json), ("string", DeclaredCodec::String), ("number", DeclaredCodec::Number)];

    /// Whether a value has this type.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::Json => true,
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
        }
    }

    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find_map(|(name, codec)| (*codec == self).then_some(*name)).unwrap_or("json")
    }
}

impl DeclaredSource {
    pub(super) fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fields = at.fields(&[
            "key",
            "contribution",
            "codec",
            "value",
            "unavailable",
            "baseline",
            "update",
            "removed",
            "on_load",
        ])?;
        let key: Key = fields.need("key")?.parsed()?;
        let codec = fields.read("codec", |at| at.word(DeclaredCodec::WORDS))?.unwrap_or_default();
        let unavailable = fields.read("unavailable", |at| at.boolean())?.unwrap_or(false);
        let value = fields.read("value", |at| match codec.holds(at.value) {
            true => Ok(at.value.clone()),
            false => Err(at.invalid(format!("the codec of this source is `{}`", codec.name()))),
        })?;
        let template = |name: &str| fields.read(name, |at| at.text().map(Template::new));
        Ok(Self {
            contribution: fields.read("contribution", |at| at.parsed())?.unwrap_or_else(|| key.clone()),
            codec,
            value: value.filter(|_| !unavailable),
            absent: false,
            baseline: template("baseline")?.unwrap_or_default(),
            update: template("update")?.unwrap_or_default(),
            removed: template("removed")?,
            on_load: fields.read("on_load", |at| within.on_load(&at))?.unwrap_or_default(),
            key,
        })
    }
}
