//! The tools `lsp_hover` and `lsp_diagnostics`.

use crate::read::path_is_one;
use crate::typed::{TypedTool, Worked};
use crate::workplace::lsp::diagnostics::line;
use crate::workplace::lsp::protocol::Hover;
use crate::workplace::lsp::{RunningServer, document};
use crate::workplace::{LanguageServers, PathAccess, Workplace};
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to explain a name.
const HOVER: Duration = Duration::from_secs(20);

/// How many findings are shown.
const SHOWN: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HoverInput {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// The line, from 1.
    line: u32,
    /// The name on that line.
    symbol: String,
}

/// Says what a name is.
pub(crate) struct LspHover(pub(crate) Workplace, pub(crate) LanguageServers);

impl TypedTool for LspHover {
    type Input = HoverInput;
    const NAME: &str = "lsp_hover";
    const ACTION: &str = "read";
    const ABOUT: &str = "Gives the type and the documentation of a name in a file, from its language server.";

    fn check(&self, input: &HoverInput) -> Result<(), String> {
        if input.line == 0 || input.symbol.trim().is_empty() {
            return Err("`line` counts from 1, and `symbol` is a name on it".into());
        }
        path_is_one(&input.path)
    }

    fn demands(&self, input: &HoverInput) -> Vec<Demand> {
        self.0.demands(Self::ACTION, &input.path, PathAccess::Look)
    }

    async fn run(&self, input: HoverInput, _: CallContext) -> Worked {
        let (path, server) = running(&self.0, &self.1, &input.path).await?;
        let text = tokio::fs::read_to_string(&path).await.map_err(|error| format!("{}: {error}", input.path))?;
        let row = input.line - 1;
        let line =
            text.lines().nth(row as usize).ok_or_else(|| format!("{} has no line {}.", input.path, input.line))?;
        let at = line.find(&input.symbol).ok_or_else(|| format!("Line {} is: {}", input.line, line.trim()))?;
        let column = line.get(..at).unwrap_or_default().encode_utf16().count();
        // Some servers answer only once they have read the project.
        server.checked(&path, self.1.wait).await.ok();
        let hover = server.hover(&path, row, u32::try_from(column).unwrap_or_default(), HOVER).await?;
        let hover: Option<Hover> =
            serde_json::from_value(hover).map_err(|error| format!("The server's answer: {error}"))?;
        let text = hover.map(Hover::text).unwrap_or_default();
        match text.trim() {
            "" => Ok(ToolOutput::text(format!("The server knows nothing of {}.", input.symbol))),
            text => Ok(ToolOutput::text(text)),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiagnosticsInput {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
}

/// Gives what a server finds in a file.
pub(crate) struct LspDiagnostics(pub(crate) Workplace, pub(crate) LanguageServers);

impl TypedTool for LspDiagnostics {
    type Input = DiagnosticsInput;
    const NAME: &str = "lsp_diagnostics";
    const ACTION: &str = "read";
    const ABOUT: &str = "Gives all errors and warnings that the language server finds in a file.";

    fn check(&self, input: &DiagnosticsInput) -> Result<(), String> {
        path_is_one(&input.path)
    }

    fn demands(&self, input: &DiagnosticsInput) -> Vec<Demand> {
        self.0.demands(Self::ACTION, &input.path, PathAccess::Look)
    }

    async fn run(&self, input: DiagnosticsInput, _: CallContext) -> Worked {
        let (path, server) = running(&self.0, &self.1, &input.path).await?;
        let found = server.checked(&path, self.1.wait.max(HOVER)).await;
        let found = found.map_err(|_| format!("{} did not answer in time.", server.name))?;
        let uri = document::uri(&path);
        let mut found = found.get(&uri).cloned().unwrap_or_default();
        found.sort_by_key(|one| (one.range.start.line, one.range.start.character));
        let lines: Vec<String> = found
            .iter()
            .take(SHOWN)
            .map(|one| {
                let kind = match one.severity {
                    Some(2) => "warning",
                    Some(3 | 4) => "hint",
                    _ => "error",
                };
                format!("{kind}: {}", line(&self.0, &server.name, &uri, one))
            })
            .collect();
        let text = if lines.is_empty() { format!("{} finds nothing in it.", server.name) } else { lines.join("\n") };
        Ok(ToolOutput::text(text))
    }
}

async fn running(
    place: &Workplace,
    servers: &LanguageServers,
    path: &str,
) -> Result<(PathBuf, Arc<RunningServer>), String> {
    let real = place.resolve(path).map_err(|error| format!("{path}: {error}"))?;
    match servers.running(place, &real).await {
        Some(Ok(server)) => Ok((real, server)),
        Some(Err(trouble)) => Err(trouble),
        None => Err(format!("No language server is configured for {path}.")),
    }
}
