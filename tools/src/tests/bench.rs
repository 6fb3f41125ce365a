//! A project in a temporary folder, and calls of the tools in it.

use crate::{Workplace, further_tools, tools};
use annals_core::event::{Effect, Rule};
use annals_core::{NoBlobs, Seq, SessionId};
use annals_runtime::tools::{
    CallContext, CallError, CallInput, Cancel, Demand, Past, Permits, ProgressSender, ToolOutput, ToolRegistry,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a test ends with.
pub(super) type Tested = Result<(), Box<dyn std::error::Error>>;

/// A project with its tools. What lies beside the project is outside.
pub(super) struct Bench {
    folder: TempDir,
    registry: ToolRegistry,
    pub(super) cancel: Cancel,
    pub(super) progress: ProgressSender,
    /// What is allowed without asking while a call runs; everything, unless a test says otherwise.
    pub(super) rules: Vec<Rule>,
    session: SessionId,
}

pub(super) fn rule(action: &str, resource: &str, effect: Effect) -> Rule {
    Rule { action: action.into(), resource: resource.into(), effect }
}

impl Bench {
    /// An empty project.
    pub(super) fn new() -> std::io::Result<Self> {
        Self::with(|place| place)
    }

    /// An empty project whose workplace is something else than the usual.
    pub(super) fn with(change: impl FnOnce(Workplace) -> Workplace) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let project = folder.path().join("project");
        std::fs::create_dir(&project)?;
        let registry = ToolRegistry::default();
        let place = change(Workplace::at(&project, &project));
        let all = tools(&place).into_iter().chain(further_tools(&place, None, None));
        let registered = registry.register(all);
        registered.map_err(std::io::Error::other)?.detach();
        let session = SessionId::from_parts(0, 1);
        let (cancel, progress, rules) =
            (Cancel::default(), ProgressSender::default(), vec![rule("*", "*", Effect::Allow)]);
        Ok(Self { folder, registry, cancel, progress, rules, session })
    }

    /// The same project for another session.
    pub(super) fn other_session(mut self) -> Self {
        self.session = SessionId::from_parts(0, 2);
        self
    }

    /// A path in the project.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    /// A path beside the project.
    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file in the project, as somebody else.
    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> std::io::Result<()> {
        put(&self.at(path), content)
    }

    /// What a file in the project holds.
    pub(super) fn text(&self, path: &str) -> std::io::Result<String> {
        std::fs::read_to_string(self.at(path))
    }

    /// What a call needs permission for, as `action resource`.
    pub(super) fn demands(&self, tool: &str, input: Value) -> Vec<String> {
        let line = |demand: Demand| format!("{} {}", demand.action, demand.resources.join(" | "));
        self.judged(tool, input).map(|demands| demands.into_iter().map(line).collect()).unwrap_or_default()
    }

    pub(super) fn judged(&self, tool: &str, input: Value) -> Result<Vec<Demand>, CallError> {
        let tool = self.registry.materialise(&[]).resolve(&self.registry, tool)?;
        let input = CallInput::received(&input.to_string());
        tool.validate(&input)?;
        Ok(tool.demands(&input))
    }

    /// Makes a call to which everything that it needs is allowed.
    pub(super) async fn call(&self, tool: &str, input: Value) -> Result<ToolOutput, CallError> {
        let authorised = self.judged(tool, input.clone())?;
        self.call_with(tool, input, authorised).await
    }

    /// Makes a call to which this was allowed.
    pub(super) async fn call_with(
        &self,
        tool: &str,
        input: Value,
        authorised: Vec<Demand>,
    ) -> Result<ToolOutput, CallError> {
        let tool = self.registry.materialise(&[]).resolve(&self.registry, tool)?;
        let context = CallContext {
            session: self.session,
            agent: "build".into(),
            step: Seq(1),
            call: "c1".into(),
            authorised,
            permits: Permits::by(self.rules.clone()),
            cancellation: self.cancel.watch(),
            progress: self.progress.clone(),
            past: Past::default(),
        };
        tool.run(CallInput::received(&input.to_string()), context).await
    }

    /// The text of a call, or of its error.
    pub(super) async fn said(&self, tool: &str, input: Value) -> String {
        match self.call(tool, input).await {
            Ok(output) => output.text.unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }
}

/// The structured value of an output.
pub(super) fn structured(output: &ToolOutput) -> Value {
    output.structured.as_ref().map(|json| json.value(&NoBlobs)).unwrap_or_default()
}

/// Writes a file and the directories above it.
pub(super) fn put(path: &Path, content: impl AsRef<[u8]>) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::fs::write(path, content)
}

/// Makes a named pipe.
pub(crate) fn pipe(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?)
}
