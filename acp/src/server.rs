//! The methods of the protocol.

use super::connection::{Editor, EditorMessage, RpcError};
use super::editor::{ClientCapabilities, ClientEditor};
use super::options::MODEL;
use super::requests::{
    ClientMcpServer, ListSessionsParams, LoadSessionParams, NamedValue, NewSessionParams, PromptParams, SessionParams,
    SetConfigParams, SetModeParams,
};
use super::session::{AcpSession, id_of};
use annals_host::{ApprovalMode, EditorServices, ExistingSession, HostContext, HostedSession, RunOptions, Signals};
use annals_inspect::reader::Reader;
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_tools::EditorFiles;
use annals_tools::mcp::McpServer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The version of the protocol.
const VERSION: u64 = 1;

/// How many sessions are listed at once.
const PAGE: usize = 50;

/// How long requests may take to be answered after the editor has closed its end.
const ANSWERED: Duration = Duration::from_secs(10);

struct AcpServer {
    context: HostContext,
    reader: Reader,
    options: RunOptions,
    approval: ApprovalMode,
    editor: Editor,
    capabilities: Mutex<ClientCapabilities>,
    sessions: Mutex<BTreeMap<String, Arc<AcpSession>>>,
}

/// Serves the editor at stdin and `out` until it closes stdin, or a signal ends the process.
///
/// # Errors
/// When `out` cannot be written.
pub async fn serve(
    context: HostContext,
    reader: Reader,
    options: RunOptions,
    approval: ApprovalMode,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let (sender, mut outgoing) = mpsc::unbounded_channel();
    let editor = Editor::new(sender);
    let (sessions, capabilities) = (Mutex::default(), Mutex::default());
    let server =
        Arc::new(AcpServer { context, reader, options, approval, editor: editor.clone(), capabilities, sessions });
    let (mut lines, mut signals, mut requests) = (lines_of_stdin(), Signals::listen()?, JoinSet::new());
    loop {
        tokio::select! {
            biased;
            Some(message) = outgoing.recv() => put(out, &message)?,
            Some(_) = requests.join_next() => {}
            _ = signals.next() => break,
            line = lines.recv() => match line {
                Some(line) => server.clone().take(&line, &mut requests).await,
                None => break,
            },
        }
    }
    editor.has_gone();
    let ending = async {
        server.close().await;
        while requests.join_next().await.is_some() {}
    };
    let ending = tokio::time::timeout(ANSWERED, ending);
    tokio::pin!(ending);
    loop {
        tokio::select! {
            biased;
            Some(message) = outgoing.recv() => put(out, &message)?,
            _ = &mut ending => break,
        }
    }
    while let Ok(message) = outgoing.try_recv() {
        put(out, &message)?;
    }
    Ok(())
}

fn put(out: &mut (dyn Write + Send), message: &str) -> io::Result<()> {
    out.write_all(message.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A thread of its own: what blocks in a read must not keep the process from ending.
fn lines_of_stdin() -> mpsc::UnboundedReceiver<String> {
    let (read, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if !line.trim().is_empty() && read.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl AcpServer {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<AcpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a line. Requests are answered by tasks of their own.
    async fn take(self: Arc<Self>, line: &str, requests: &mut JoinSet<()>) {
        match EditorMessage::of(line) {
            EditorMessage::Answer { id, answer } => self.editor.answered(id, answer),
            EditorMessage::Broken(error) => self.editor.answer(&Value::Null, Err(error)),
            EditorMessage::Request { id, method, params } => {
                requests.spawn(async move { self.request(&id, &method, params).await });
            }
            EditorMessage::Notification { method, params } if method == "session/cancel" => {
                let named = serde_json::from_value::<SessionParams>(params).ok();
                let session = named.and_then(|named| self.sessions().get(&named.session_id).cloned());
                if let Some(session) = session {
                    session.cancel().await;
                }
            }
            EditorMessage::Notification { method, .. } => tracing::debug!(method, "a notification is not known"),
        }
    }

    async fn request(&self, id: &Value, method: &str, params: Value) {
        let mut opened = None;
        let answer = self.answer(method, params, &mut opened).await;
        self.editor.answer(id, answer);
        if let Some(session) = opened {
            session.announce();
        }
    }

    async fn answer(
        &self,
        method: &str,
        params: Value,
        opened: &mut Option<Arc<AcpSession>>,
    ) -> Result<Value, RpcError> {
        match method {
            "initialize" => {
                let offered = params.get("clientCapabilities").cloned().unwrap_or_default();
                // Capabilities that cannot be read are ignored.
                let offered = serde_json::from_value(offered).unwrap_or_default();
                *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner) = offered;
                Ok(initialized())
            }
            "authenticate" => Ok(json!({})),
            "session/new" => {
                let NewSessionParams { cwd, mcp_servers } = of(params)?;
                let session = self.open(None, cwd, mcp_servers).await?;
                let mut answer = session.selectable();
                if let Value::Object(fields) = &mut answer {
                    fields.insert("sessionId".into(), session.name().into());
                }
                *opened = Some(session);
                Ok(answer)
            }
            "session/load" | "session/resume" => {
                let LoadSessionParams { session_id, cwd, mcp_servers } = of(params)?;
                let session = self.open(Some(session_id), cwd, mcp_servers).await?;
                if method == "session/load" {
                    session.replay(&self.reader).await?;
                }
                *opened = Some(session.clone());
                Ok(session.selectable())
            }
            "session/list" => self.list(of(params)?).await,
            "session/close" => {
                let SessionParams { session_id } = of(params)?;
                let session = self.sessions().remove(&session_id);
                session.ok_or_else(|| RpcError::unknown_session(&session_id))?.close().await;
                Ok(json!({}))
            }
            "session/set_mode" => {
                let SetModeParams { session_id, mode_id } = of(params)?;
                self.session(&session_id)?.set_mode(&mode_id).await?;
                Ok(json!({}))
            }
            "session/set_config_option" => {
                let SetConfigParams { session_id, config_id, value } = of(params)?;
                let session = self.session(&session_id)?;
                match (config_id.as_str(), value.as_str()) {
                    (MODEL, Some(model)) => Ok(json!({"configOptions": session.set_model(model).await?})),
                    _ => Err(RpcError::invalid(format!("there is no option {config_id:?}"))),
                }
            }
            "session/prompt" => {
                let PromptParams { session_id, prompt } = of(params)?;
                self.session(&session_id)?.prompt(prompt).await
            }
            method => Err(RpcError::unknown_method(method)),
        }
    }

    fn session(&self, name: &str) -> Result<Arc<AcpSession>, RpcError> {
        self.sessions().get(name).cloned().ok_or_else(|| RpcError::unknown_session(name))
    }

    /// Opens a session, or a new one.
    async fn open(
        &self,
        name: Option<String>,
        cwd: PathBuf,
        servers: Vec<ClientMcpServer>,
    ) -> Result<Arc<AcpSession>, RpcError> {
        if !cwd.is_absolute() {
            return Err(RpcError::invalid(format!("cwd is not absolute: {}", cwd.display())));
        }
        let open = name.as_ref().and_then(|name| self.sessions().get(name).cloned());
        if let Some(open) = open {
            return Ok(open);
        }
        let found = match &name {
            None => None,
            Some(name) => {
                let found = ExistingSession::of(self.reader.clone(), id_of(name)?).await;
                Some(
                    found
                        .map_err(|error| RpcError { message: error.to_string(), ..RpcError::unknown_session(name) })?,
                )
            }
        };
        let mcp = servers.into_iter().map(passed_on).collect::<Result<_, _>>()?;
        let capabilities = *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = ClientEditor::new(self.editor.clone(), capabilities);
        let files = offered.has_files().then(|| Arc::new(offered.clone()) as Arc<dyn EditorFiles>);
        let editor = EditorServices { files, user: Some(Arc::new(offered.clone())) };
        let options = RunOptions { directory: Some(cwd), mcp, editor, ..self.options.clone() };
        let hosted = HostedSession::open_in(&self.context, self.reader.clone(), &options, found).await;
        let hosted = hosted.map_err(RpcError::internal)?;
        let session = AcpSession::start(hosted, name, &self.context, self.editor.clone(), self.approval).await;
        let session = session.map_err(RpcError::internal)?;
        offered.names(session.name());
        self.sessions().insert(session.name().to_owned(), session.clone());
        Ok(session)
    }

    async fn list(&self, params: ListSessionsParams) -> Result<Value, RpcError> {
        let from = match &params.cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| RpcError::invalid("the cursor is not from this server"))?,
        };
        let directories = params.cwd.map(|cwd| {
            let real = cwd.canonicalize().ok();
            [Some(cwd), real].into_iter().flatten().map(|path| path.to_string_lossy().into_owned()).collect()
        });
        let filter = SessionFilter { directories, ..SessionFilter::default() };
        let catalogue = self.reader.catalogue().await.map_err(RpcError::internal)?;
        let all = list(catalogue, &filter, SessionOrder::Updated, &self.context.pricing());
        let page = all.iter().skip(from).take(PAGE).map(|session| {
            let updated = i64::try_from(session.updated.millis()).ok();
            let updated = updated.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
            json!({
                "sessionId": session.id.to_string(),
                "cwd": session.directory,
                "title": session.title,
                "updatedAt": updated.map(|updated| updated.to_string()),
            })
        });
        let mut answer = json!({"sessions": page.collect::<Vec<_>>()});
        let next = from.saturating_add(PAGE);
        if let (true, Value::Object(fields)) = (next < all.len(), &mut answer) {
            fields.insert("nextCursor".into(), next.to_string().into());
        }
        Ok(answer)
    }

    async fn close(&self) {
        let sessions = std::mem::take(&mut *self.sessions());
        futures_util::future::join_all(sessions.values().map(|session| session.close())).await;
    }
}

fn of<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(RpcError::invalid)
}

fn initialized() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "agentInfo": {"name": "annals", "title": "Annals", "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}

/// An MCP server of the editor.
fn passed_on(server: ClientMcpServer) -> Result<McpServer, RpcError> {
    let ClientMcpServer { name, command, args, env, url, headers } = server;
    let pairs = |named: Vec<NamedValue>| named.into_iter().map(|one| (one.name, one.value)).collect();
    match (command, url) {
        (Some(command), _) => {
            Ok(McpServer { arguments: args, environment: pairs(env), ..McpServer::new(name, command) })
        }
        (None, Some(url)) => {
            let mut server = McpServer::at(name, url);
            if let Some(endpoint) = &mut server.http {
                endpoint.headers = pairs(headers);
            }
            Ok(server)
        }
        (None, None) => Err(RpcError::invalid(format!("the MCP server {name:?} has neither a command nor a URL"))),
    }
}
