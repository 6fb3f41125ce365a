//! Declared tools, and the user's answers to their permission questions.

use super::Action;
use super::nested::Nesting;
use crate::Invalid;
use crate::reader::JsonAt;
use serde_json::Value;

/// The most lines of a declared tool: far more than is ever shown, far less than fills the memory.
const LINES_MAX: u32 = 1_000_000;

/// A declared tool.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTool {
    /// Its name.
    pub name: String,
    /// Its text; `None` if it only returns a structured value.
    pub output: Option<String>,
    /// Its structured value.
    pub structured: Option<Value>,
    /// The message with which it fails.
    pub error: Option<String>,
    /// Output files that it manages itself.
    pub paths: Vec<String>,
    /// The fields that a valid input has.
    pub required: Vec<String>,
    /// The permission action of its calls, on resource `*`; default: its name.
    pub permission: Option<String>,
    /// Actions while it runs.
    pub during: Vec<Action>,
    /// The results of its first calls, in order, which replace the fields above; an addition to
    /// `fixtures/scenarios/FORMAT.md` for recordings.
    pub results: Vec<ScriptedResult>,
}

/// The result of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedResult {
    /// Its text.
    pub output: Option<String>,
    /// Its structured value.
    pub structured: Option<Value>,
    /// The message with which it fails.
    pub error: Option<String>,
    /// Output files that the tool manages itself.
    pub paths: Vec<String>,
    /// Actions while the call runs.
    pub during: Vec<Action>,
}

impl DeclaredTool {
    pub(super) fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fields = at.fields(&[
            "name",
            "output",
            "lines",
            "structured",
            "error",
            "paths",
            "required",
            "permission",
            "during",
            "results",
        ])?;
        let texts = |at: JsonAt<'_>| -> Result<Vec<String>, Invalid> {
            at.items()?.iter().map(|at| at.text().map(str::to_owned)).collect()
        };
        let lines = fields.read("lines", |at| match at.whole::<u32>()? {
            lines if lines <= LINES_MAX => Ok(lines),
            lines => Err(at.invalid(format!("{lines} lines are too many: at most {LINES_MAX}"))),
        })?;
        let output = fields.read("output", |at| at.text().map(str::to_owned))?;
        if lines.is_some() && output.is_some() {
            return Err(fields.at().invalid("`output` and `lines` both define the text: keep one"));
        }
        Ok(Self {
            name: fields.need("name")?.name("the name of a tool")?.to_owned(),
            output: output.or_else(|| lines.map(numbered)),
            structured: fields.get("structured").map(|at| at.value.clone()),
            error: fields.read("error", |at| at.text().map(str::to_owned))?,
            paths: fields.read("paths", texts)?.unwrap_or_default(),
            required: fields.read("required", texts)?.unwrap_or_default(),
            permission: fields.read("permission", |at| at.name("a permission").map(str::to_owned))?,
            during: fields.read("during", |at| within.during(&at))?.unwrap_or_default(),
            results: fields
                .read("results", |at| at.items()?.iter().map(|at| ScriptedResult::read(at, within)).collect())?
                .unwrap_or_default(),
        })
    }

    /// The result of the call after `calls` others.
    pub fn given(&self, calls: usize) -> ScriptedResult {
        self.results.get(calls).cloned().unwrap_or_else(|| ScriptedResult {
            output: self.output.clone(),
            structured: self.structured.clone(),
            error: self.error.clone(),
            paths: self.paths.clone(),
            during: self.during.clone(),
        })
    }
}

impl ScriptedResult {
    fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fields = at.fields(&["output", "structured", "error", "paths", "during"])?;
        let text = |name: &str| fields.read(name, |at| at.text().map(str::to_owned));
        let texts = |at: JsonAt<'_>| at.items()?.iter().map(|at| at.text().map(str::to_owned)).collect();
        Ok(Self {
            output: text("output")?,
            structured: fields.get("structured").map(|at| at.value.clone()),
            error: text("error")?,
            paths: fields.read("paths", texts)?.unwrap_or_default(),
            during: fields.read("during", |at| within.during(&at))?.unwrap_or_default(),
        })
    }
}

/// `line 1` to `line N`, without a newline at the end.
fn numbered(lines: u32) -> String {
    (1..=lines).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n")
}

/// An answer to a permission question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyScript {
    /// Allow this call.
    Once,
    /// Allow for the rest of the session.
    Always,
    /// Reject, optionally with feedback for the model.
    Reject(Option<String>),
}

impl ReplyScript {
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        if at.value.is_object() {
            let feedback = at.fields(&["reject"])?.need("reject")?;
            return feedback.text().map(|text| Self::Reject(Some(text.to_owned())));
        }
        let words = [("once", ()), ("always", ()), ("reject", ())];
        at.word(&words)?;
        Ok(match at.text()? {
            "once" => Self::Once,
            "always" => Self::Always,
            _ => Self::Reject(None),
        })
    }
}
