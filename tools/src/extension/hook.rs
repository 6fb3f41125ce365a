//! Hooks by command: programs that are given JSON before and after calls, at boundaries and at compactions.

use super::reason;
use crate::program::ExternalProgram;
use annals_core::SessionId;
use annals_core::permission::wildcard;
use annals_runtime::Boxed;
use annals_runtime::hooks::{HookedCall, Hooks};
use annals_runtime::settings::SummaryHook;
use annals_runtime::tools::ToolOutput;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The exit status with which a program refuses a call.
const REFUSES: i32 = 2;

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its name in the configuration.
    pub name: String,
    /// When it is run.
    pub moment: HookMoment,
    /// The tools whose calls it is about: names, and patterns with `*`. None means all.
    pub tools: Vec<String>,
    /// The program.
    pub program: ExternalProgram,
}

/// When a hook is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookMoment {
    /// Before a call: exit status 2 refuses it.
    BeforeTool,
    /// After a call: what it prints is added to the result.
    AfterTool,
    /// Before the context of a request is read.
    Boundary,
    /// Before a summary is requested: what it prints is added to what is summarised.
    Compaction,
}

/// The hooks of a configuration.
#[derive(Clone, Debug, Default)]
pub struct HookPrograms {
    hooks: Vec<Hook>,
    /// Where programs run that belong to no location.
    directory: PathBuf,
}

impl HookPrograms {
    /// These hooks, which run in the directory of the session; at compactions in `directory`.
    pub fn new(hooks: Vec<Hook>, directory: impl Into<PathBuf>) -> Self {
        Self { hooks, directory: directory.into() }
    }

    fn at(&self, moment: HookMoment, tool: &str) -> impl Iterator<Item = &Hook> {
        let is_of = move |hook: &&Hook| {
            hook.moment == moment && (hook.tools.is_empty() || hook.tools.iter().any(|one| wildcard(one, tool)))
        };
        self.hooks.iter().filter(is_of)
    }
}

fn given(event: &str, call: &HookedCall) -> Value {
    json!({
        "event": event, "session": call.session, "directory": call.directory, "agent": call.agent, "call": call.call,
        "tool": call.tool, "input": call.input.value(),
    })
}

impl Hooks for HookPrograms {
    fn before_tool<'a>(&'a self, call: &'a HookedCall) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move {
            for hook in self.at(HookMoment::BeforeTool, &call.tool) {
                let given = given("before_tool", call).to_string();
                match hook.program.run(Path::new(&call.directory), &given).await {
                    Ok(output) if output.exit == Some(0) => {}
                    Ok(output) if output.exit == Some(REFUSES) => return Err(reason(&output)),
                    // A hook that is broken must not let a call pass which it was to judge.
                    Ok(output) => return Err(format!("the hook {} failed: {}", hook.name, reason(&output))),
                    Err(error) => return Err(format!("the hook {} failed: {error}", hook.name)),
                }
            }
            Ok(())
        })
    }

    fn after_tool<'a>(
        &'a self,
        call: &'a HookedCall,
        ended: Result<&'a ToolOutput, &'a str>,
    ) -> Boxed<'a, Option<String>> {
        Box::pin(async move {
            let mut remarks = Vec::new();
            for hook in self.at(HookMoment::AfterTool, &call.tool) {
                let mut given = given("after_tool", call);
                let (output, error) = match ended {
                    Ok(output) => (output.text.as_deref(), None),
                    Err(error) => (None, Some(error)),
                };
                if let Some(fields) = given.as_object_mut() {
                    fields.insert("output".into(), output.into());
                    fields.insert("error".into(), error.into());
                }
                match hook.program.run(Path::new(&call.directory), &given.to_string()).await {
                    Ok(output) if output.exit == Some(0) => {
                        let text = output.stdout.trim();
                        remarks.extend((!text.is_empty()).then(|| text.to_owned()));
                    }
                    Ok(output) => remarks.push(format!("The hook {} failed: {}", hook.name, reason(&output))),
                    Err(error) => remarks.push(format!("The hook {} failed: {error}", hook.name)),
                }
            }
            (!remarks.is_empty()).then(|| remarks.join("\n"))
        })
    }

    fn at_boundary<'a>(&'a self, session: SessionId, directory: &'a str) -> Boxed<'a, ()> {
        Box::pin(async move {
            for hook in self.at(HookMoment::Boundary, "") {
                let given = json!({ "event": "boundary", "session": session, "directory": directory }).to_string();
                match hook.program.run(Path::new(directory), &given).await {
                    Ok(output) if output.exit == Some(0) => {}
                    Ok(output) => tracing::warn!(hook = hook.name, reason = reason(&output), "a hook failed"),
                    Err(error) => tracing::warn!(hook = hook.name, %error, "a hook failed"),
                }
            }
        })
    }
}

impl SummaryHook for HookPrograms {
    fn context(&self, session: SessionId) -> Boxed<'_, Option<String>> {
        Box::pin(async move {
            let mut added = Vec::new();
            for hook in self.at(HookMoment::Compaction, "") {
                let given = json!({ "event": "compaction", "session": session }).to_string();
                match hook.program.run(&self.directory, &given).await {
                    Ok(output) if output.exit == Some(0) => added.push(output.stdout.trim().to_owned()),
                    Ok(output) => tracing::warn!(hook = hook.name, reason = reason(&output), "a hook failed"),
                    Err(error) => tracing::warn!(hook = hook.name, %error, "a hook failed"),
                }
            }
            added.retain(|text| !text.is_empty());
            (!added.is_empty()).then(|| added.join("\n\n"))
        })
    }
}
