//! Language servers: they check files that tools change, and say what a name is. They are started when one of their files is first
//! changed, and end with the process (`docs/tools.md`).
//!
//! ```text
//! edit ─► Workplace::diagnosed ─► LanguageServers ─► RunningServer (documents, published diagnostics) ─► LspConnection
//! lsp_hover, lsp_diagnostics ─────────┘
//! ```

mod connection;
pub(crate) mod diagnostics;
pub(crate) mod document;
pub(crate) mod protocol;
mod server;

use super::{PathAccess, Workplace};
use crate::confinement::Confinement;
use annals_core::{Json, NoBlobs};
use annals_runtime::tools::{CallContext, ToolError, ToolOutput};
use diagnostics::{Findings, new_errors};
use serde_json::json;
pub(crate) use server::RunningServer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How often a server that ended is started again.
const STARTS: u32 = 3;

/// A language server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageServer {
    /// Its name in the configuration.
    pub name: String,
    /// The program and its arguments; it speaks LSP over stdin and stdout.
    pub command: Vec<String>,
    /// The extensions of its files, without a dot.
    pub extensions: Vec<String>,
}

impl LanguageServer {
    /// Whether its program is there.
    pub fn is_installed(&self) -> bool {
        let Some(program) = self.command.first() else { return false };
        let is_file = |path: PathBuf| path.is_file();
        match program.contains('/') {
            true => is_file(PathBuf::from(program)),
            false => std::env::var_os("PATH")
                .is_some_and(|path| std::env::split_paths(&path).any(|folder| is_file(folder.join(program)))),
        }
    }
}

/// The language servers of a host. Clones share those that run.
#[derive(Clone, Debug)]
pub struct LanguageServers {
    servers: Arc<Vec<LanguageServer>>,
    pub(crate) wait: Duration,
    running: Arc<Mutex<BTreeMap<(PathBuf, String), Started>>>,
}

#[derive(Debug, Default)]
struct Started {
    server: Option<Arc<RunningServer>>,
    starts: u32,
    trouble: Option<String>,
}

impl LanguageServers {
    /// These servers, none of them started yet; diagnostics are waited for as long as `wait`.
    pub fn new(servers: Vec<LanguageServer>, wait: Duration) -> Self {
        Self { servers: Arc::new(servers), wait, running: Arc::default() }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    fn of(&self, path: &Path) -> Option<&LanguageServer> {
        let extension = path.extension()?.to_str()?;
        self.servers.iter().find(|server| server.extensions.iter().any(|one| one == extension))
    }

    /// The server of a file, which is started if it does not run.
    pub(crate) async fn running(&self, place: &Workplace, path: &Path) -> Option<Result<Arc<RunningServer>, String>> {
        let settings = self.of(path)?;
        let key = (place.project().to_owned(), settings.name.clone());
        let mut running = self.running.lock().await;
        let started = running.entry(key).or_default();
        if let Some(server) = started.server.as_ref().filter(|server| !server.is_closed()) {
            return Some(Ok(server.clone()));
        }
        if started.starts >= STARTS {
            return Some(Err(started.trouble.clone().unwrap_or_else(|| "it ended".into())));
        }
        started.starts += 1;
        Some(match RunningServer::start(settings, place).await {
            Ok(server) => {
                let server = Arc::new(server);
                started.server = Some(server.clone());
                Ok(server)
            }
            Err(trouble) => {
                let trouble = format!("{} could not be started: {trouble}", settings.name);
                tracing::warn!(trouble, "a language server");
                // It would fail in the same way.
                started.starts = STARTS;
                started.trouble = Some(trouble.clone());
                Err(trouble)
            }
        })
    }
}

/// The words of a command, run in the sandbox if there is one.
fn words(settings: &LanguageServer, confinement: Option<&Confinement>) -> std::io::Result<Vec<std::ffi::OsString>> {
    match confinement {
        None => Ok(settings.command.iter().map(Into::into).collect()),
        Some(confinement) => {
            let quoted: Vec<String> =
                settings.command.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            confinement.command("/bin/sh", &format!("exec {}", quoted.join(" ")))
        }
    }
}

/// What is known of the files of a change before it.
struct FileFindings {
    server: Arc<RunningServer>,
    path: PathBuf,
    found: Findings,
}

impl Workplace {
    /// Does what changes files, and adds the errors that language servers find in them afterwards and did not find before.
    pub(crate) async fn diagnosed(
        &self,
        context: &CallContext,
        paths: Vec<String>,
        work: impl Future<Output = Result<ToolOutput, ToolError>> + Send,
    ) -> Result<ToolOutput, ToolError> {
        // Results name the contents of files by it.
        self.seen().learn_key(&context.past, context.session).await;
        let Some(servers) = self.servers() else { return work.await };
        let paths: Vec<PathBuf> = paths
            .iter()
            .filter_map(|path| self.resolve(path).ok())
            // What is outside the project is not checked.
            .filter(|path| self.external(path, PathAccess::Touch).is_none() && servers.of(path).is_some())
            .collect();
        if paths.is_empty() {
            return work.await;
        }
        let mut pending: Vec<String> = Vec::new();
        let known = async {
            let mut known = Vec::new();
            for path in paths {
                match servers.running(self, &path).await {
                    Some(Ok(server)) => {
                        let found = server.checked(&path, servers.wait).await;
                        known.push(FileFindings { server, path, found: found.unwrap_or_else(|found| found) });
                    }
                    Some(Err(trouble)) => pending.push(trouble),
                    None => {}
                }
            }
            known
        };
        let known = tokio::select! {
            known = known => known,
            () = context.cancellation.cancelled() => Vec::new(),
        };
        let mut output = work.await?;
        let after = async {
            let mut errors = Vec::new();
            for FileFindings { server, path, found } in known {
                match server.checked(&path, servers.wait).await {
                    Ok(now) => errors.extend(new_errors(self, &server.name, &found, &now)),
                    Err(_) => pending.push(format!("{} did not answer in time", server.name)),
                }
            }
            errors
        };
        let errors = tokio::select! {
            errors = after => errors,
            () = context.cancellation.cancelled() => Vec::new(),
        };
        noted(&mut output, &errors, &pending);
        Ok(output)
    }
}

fn noted(output: &mut ToolOutput, errors: &[String], pending: &[String]) {
    if errors.is_empty() && pending.is_empty() {
        return;
    }
    let mut value = output.structured.as_ref().map(|value| value.value(&NoBlobs)).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("diagnostics".into(), json!({ "errors": errors, "unknown": pending }));
        output.structured = Some(Json::canonical(&value));
    }
    if !errors.is_empty() {
        let text = output.text.get_or_insert_default();
        text.push_str("\nNew errors since this change:\n");
        text.push_str(&errors.join("\n"));
    }
}
