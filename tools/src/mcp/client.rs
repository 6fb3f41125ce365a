//! A server as what it offers: lists, calls, resources, prompts.

use super::elicitation::Elicitor;
use super::error::McpError;
use super::message::{
    FilledPrompt, McpResult, Params, PromptPage, RemotePrompt, RemoteResource, RemoteTool, ResourceContents,
    ResourcePage, ToolPage, params,
};
use super::peer::{McpOffer, McpPeer};
use super::settings::McpServer;
use annals_runtime::prompt::UserPrompt;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// How many tools, resources or prompts a server may have.
const MOST: usize = 500;

/// "Method not found" of JSON-RPC.
const NO_METHOD: i64 = -32601;

/// A server in a directory. It is started by the first request, and again by a request after it ended.
pub(super) struct McpClient {
    settings: McpServer,
    directory: PathBuf,
    elicitor: Arc<Elicitor>,
    current: Mutex<Option<Arc<McpPeer>>>,
}

impl McpClient {
    pub(super) fn new(settings: McpServer, directory: PathBuf, user: Option<Arc<dyn UserPrompt>>) -> Self {
        let elicitor = Arc::new(Elicitor::new(settings.name.clone(), user));
        Self { settings, directory, elicitor, current: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &McpServer {
        &self.settings
    }

    pub(super) fn elicitor(&self) -> &Elicitor {
        &self.elicitor
    }

    /// What the server says of itself.
    pub(super) async fn offer(&self) -> Result<McpOffer, McpError> {
        Ok(self.connected().await?.offer().clone())
    }

    /// All tools of the server.
    pub(super) async fn tools(&self) -> Result<Vec<RemoteTool>, McpError> {
        self.all("tools/list", |page: ToolPage| (page.tools, page.next_cursor)).await
    }

    /// All resources of the server.
    pub(super) async fn resources(&self) -> Result<Vec<RemoteResource>, McpError> {
        self.all("resources/list", |page: ResourcePage| (page.resources, page.next_cursor)).await
    }

    /// The patterns of further resources.
    pub(super) async fn templates(&self) -> Result<Vec<RemoteResource>, McpError> {
        self.all("resources/templates/list", |page: ResourcePage| (page.resources, page.next_cursor)).await
    }

    /// All prompts of the server.
    pub(super) async fn prompts(&self) -> Result<Vec<RemotePrompt>, McpError> {
        self.all("prompts/list", |page: PromptPage| (page.prompts, page.next_cursor)).await
    }

    async fn all<P: DeserializeOwned, T>(
        &self,
        method: &'static str,
        parts: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, McpError> {
        let peer = self.connected().await?;
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let params = cursor.as_ref().map_or_else(Params::new, |cursor| params([("cursor", json!(cursor))]));
            let page: P = match peer.request(method, params, self.settings.start_timeout).await {
                // A server that has none need not know the request.
                Err(McpError::Refused { code: NO_METHOD, .. }) if all.is_empty() => return Ok(all),
                page => page?,
            };
            let (page, next) = parts(page);
            all.extend(page);
            if all.len() > MOST {
                return Err(McpError::Invalid { method, why: format!("there are more than {MOST}") });
            }
            match next {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// Calls a tool. A call that got no answer is not repeated.
    pub(super) async fn call(&self, name: &str, arguments: &RawValue) -> Result<McpResult, McpError> {
        let peer = self.connected().await?;
        let mut params = params([("name", json!(name))]);
        params.insert("arguments".into(), arguments.to_owned());
        peer.request("tools/call", params, self.settings.timeout).await
    }

    /// Reads a resource.
    pub(super) async fn resource(&self, uri: &str) -> Result<ResourceContents, McpError> {
        let peer = self.connected().await?;
        peer.request("resources/read", params([("uri", json!(uri))]), self.settings.timeout).await
    }

    pub(super) async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<FilledPrompt, McpError> {
        let peer = self.connected().await?;
        peer.request(
            "prompts/get",
            params([("name", json!(name)), ("arguments", arguments.into())]),
            self.settings.timeout,
        )
        .await
    }

    /// The running server; a new one if there is none, or if it has ended.
    async fn connected(&self) -> Result<Arc<McpPeer>, McpError> {
        let mut current = self.current.lock().await;
        if let Some(peer) = current.as_ref().filter(|peer| !peer.is_closed()) {
            return Ok(peer.clone());
        }
        *current = None;
        let peer = Arc::new(McpPeer::connect(&self.settings, &self.directory, &self.elicitor).await?);
        tracing::debug!(server = self.settings.name, version = peer.offer().protocol, "an MCP server answers");
        Ok(current.insert(peer).clone())
    }
}
