//! A language server that runs: its documents, and what it published about them.

use super::connection::LspConnection;
use super::diagnostics::Findings;
use super::protocol::{LspDiagnostic, PublishedDiagnostics};
use super::{LanguageServer, document, words};
use crate::workplace::Workplace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(30);

/// How long nothing is published before what there is counts as all: some servers publish in several steps.
const QUIET: Duration = Duration::from_millis(400);

/// The largest file that is checked, in bytes.
const LARGEST: u64 = 2 * 1024 * 1024;

pub(crate) struct RunningServer {
    pub(crate) name: String,
    connection: LspConnection,
    published: Arc<Published>,
    /// The versions of the documents that it was given, and their texts.
    documents: tokio::sync::Mutex<BTreeMap<PathBuf, (i32, String)>>,
}

impl std::fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningServer").field("name", &self.name).finish_non_exhaustive()
    }
}

struct Published {
    found: Mutex<BTreeMap<String, Publication>>,
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Publication {
    diagnostics: Vec<LspDiagnostic>,
    version: Option<i32>,
    count: u64,
}

impl Published {
    fn found(&self) -> MutexGuard<'_, BTreeMap<String, Publication>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, method: &str, params: Value) {
        if method != "textDocument/publishDiagnostics" {
            return;
        }
        let Ok(params) = serde_json::from_value::<PublishedDiagnostics>(params) else { return };
        {
            let mut found = self.found();
            // Servers spell addresses in their own ways.
            let uri = document::path(&params.uri).map_or(params.uri, |path| document::uri(&path));
            let publication = found.entry(uri).or_default();
            publication.diagnostics = params.diagnostics;
            publication.version = params.version;
            publication.count += 1;
        }
        self.count.send_modify(|count| *count += 1);
    }

    fn all(&self) -> Findings {
        self.found().iter().map(|(uri, one)| (uri.clone(), one.diagnostics.clone())).collect()
    }
}

impl RunningServer {
    /// Starts a server for a project.
    pub(crate) async fn start(settings: &LanguageServer, place: &Workplace) -> Result<Self, String> {
        let words = words(settings, place.confinement()).map_err(|error| error.to_string())?;
        let (program, arguments) = words.split_first().ok_or("no program is configured")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(place.project());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            if !place.shows(&variable.to_string_lossy()) {
                command.env_remove(variable);
            }
        }
        command.envs(place.git_settings());
        let published = Arc::new(Published { found: Mutex::default(), count: watch::Sender::new(0) });
        let taking = published.clone();
        let announced = Box::new(move |method: &str, params: Value| taking.take(method, params));
        let connection = LspConnection::start(&mut command, announced).map_err(|error| error.to_string())?;
        let root = document::uri(place.project());
        let asked = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": "annals", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": root,
            "rootPath": place.project(),
            "workspaceFolders": [{ "uri": root, "name": "project" }],
            "capabilities": {
                "general": { "positionEncodings": ["utf-16"] },
                "textDocument": {
                    "synchronization": { "didSave": true },
                    "publishDiagnostics": { "versionSupport": true, "relatedInformation": false },
                    "hover": { "contentFormat": ["markdown", "plaintext"] },
                },
                "workspace": { "workspaceFolders": true, "configuration": true },
                "window": { "workDoneProgress": true },
            },
        });
        connection.request("initialize", asked, START).await?;
        connection.notify("initialized", json!({}));
        connection.notify("workspace/didChangeConfiguration", json!({ "settings": {} }));
        Ok(Self { name: settings.name.clone(), connection, published, documents: tokio::sync::Mutex::default() })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// What the server finds in everything now that a file is as it is on the disk.
    ///
    /// # Errors
    /// What it found earlier, if it does not answer within `wait`.
    pub(crate) async fn checked(&self, path: &Path, wait: Duration) -> Result<Findings, Findings> {
        let until = Instant::now() + wait;
        let uri = document::uri(path);
        let mut news = self.published.count.subscribe();
        let count = self.published.found().get(&uri).map_or(0, |one| one.count);
        let Some(version) = self.shown(path, &uri).await else { return Ok(self.published.all()) };
        // Unchanged: what is published is about this.
        let is_there = |published: &Published| {
            published.found().get(&uri).is_some_and(|one| match (version, one.version) {
                (Shown::Unchanged, _) => one.count > 0,
                (Shown::As(version), Some(of)) => of >= version,
                (Shown::As(_), None) => one.count > count,
            })
        };
        while !is_there(&self.published) {
            if self.is_closed() || timeout_at(until, news.changed()).await.is_err() {
                return Err(self.published.all());
            }
        }
        if version != Shown::Unchanged {
            // More may follow.
            while Instant::now() < until {
                let quiet = (Instant::now() + QUIET).min(until);
                match timeout_at(quiet, news.changed()).await {
                    Ok(Ok(())) => {}
                    _ => break,
                }
            }
        }
        Ok(self.published.all())
    }

    /// Gives the server a file as it is on the disk; `None` if that cannot be read as text.
    async fn shown(&self, path: &Path, uri: &str) -> Option<Shown> {
        let mut documents = self.documents.lock().await;
        let text = match tokio::fs::metadata(path).await {
            Ok(found) if found.len() <= LARGEST => tokio::fs::read_to_string(path).await.ok(),
            _ => None,
        };
        let Some(text) = text else {
            if documents.remove(path).is_some() {
                self.connection.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
            }
            return None;
        };
        match documents.get_mut(path) {
            Some((_, known)) if *known == text => Some(Shown::Unchanged),
            Some((version, known)) => {
                *version += 1;
                known.clone_from(&text);
                let version = *version;
                let document = json!({ "uri": uri, "version": version });
                let changes = json!([{ "text": text }]);
                self.connection
                    .notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
                self.connection.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
                Some(Shown::As(version))
            }
            None => {
                let document =
                    json!({ "uri": uri, "languageId": document::language(path), "version": 1, "text": text });
                documents.insert(path.to_owned(), (1, text));
                self.connection.notify("textDocument/didOpen", json!({ "textDocument": document }));
                Some(Shown::As(1))
            }
        }
    }

    /// What a name at a place of a file is.
    pub(crate) async fn hover(&self, path: &Path, line: u32, character: u32, wait: Duration) -> Result<Value, String> {
        let uri = document::uri(path);
        if self.shown(path, &uri).await.is_none() {
            return Err("the file cannot be read as text".into());
        }
        let at = json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
        self.connection.request("textDocument/hover", at, wait).await
    }
}

/// How a server was given a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// As before.
    Unchanged,
    /// As this version.
    As(i32),
}
