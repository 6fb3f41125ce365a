//! The login at a server (OAuth with PKCE): the user opens a page, and the browser comes back to a port of this machine.

use super::super::error::McpError;
use super::super::settings::McpServer;
use super::discovery::{AuthorizationServer, discover, register};
use super::token_file::TokenFile;
use super::{RegisteredClient, StoredLogin, ask};
use annals_providers::http::Exchanges;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// The longest line of the browser's request, in bytes, and how long it may take to arrive.
const LONGEST: usize = 16 * 1024;
const SENT: Duration = Duration::from_secs(10);

const DONE: &str = "<!doctype html><title>Annals</title><p>You are logged in. You can close this page.";
const REFUSED: &str = "<!doctype html><title>Annals</title><p>The login failed. The terminal says why.";

/// Logs in at a server: `show` is given the address of the page that the user opens. What the login gives is kept for connections.
///
/// # Errors
/// When the server needs no login or does not offer one, or the user does not allow it.
pub async fn log_in(server: &McpServer, show: impl FnOnce(&str) + Send) -> Result<(), McpError> {
    let failed = |why: String| McpError::Login { server: server.name.clone(), why };
    let Some(endpoint) = &server.http else { return Err(failed("it is a program, which needs no login".into())) };
    let Some(file) = TokenFile::of(server, endpoint) else {
        return Err(failed("there is no folder for tokens".into()));
    };
    let exchanges = Exchanges::new().map_err(|error| failed(error.to_string()))?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| failed(error.to_string()))?;
    let port = listener.local_addr().map_err(|error| failed(error.to_string()))?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let mut authority = discover(&exchanges, &endpoint.url).await.map_err(failed)?;
    // What was granted before is asked for again, with what a call lacked.
    if let Ok(Some(before)) = file.read() {
        for scope in before.scopes.into_iter().chain(before.lacking) {
            if !authority.scopes.contains(&scope) {
                authority.scopes.push(scope);
            }
        }
    }
    let document = endpoint.client_document.as_ref().filter(|_| authority.takes_documents);
    let client = match endpoint.client_id.as_ref().or(document) {
        Some(id) => RegisteredClient {
            client_id: id.clone(),
            client_secret: endpoint.client_secret.clone(),
            method: authority.methods.iter().find(|method| method.starts_with("client_secret_")).cloned(),
        },
        None => register(&exchanges, &authority, &redirect).await.map_err(failed)?,
    };
    let (verifier, state) = (random().map_err(failed)?, random().map_err(failed)?);
    let page = page(&authority, &client, &redirect, &endpoint.url, &verifier, &state).map_err(failed)?;
    show(&page);
    let code = timeout(PATIENCE, returned(&listener, &authority, &state)).await;
    let (code, stream) = code.map_err(|_| failed("no answer within ten minutes".into()))?.map_err(failed)?;
    let form = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
        ("resource", endpoint.url.clone()),
    ];
    let answer = ask(&exchanges, &authority.token, &client, form).await.map_err(failed);
    let mut stream = stream;
    reply(&mut stream, "200 OK", if answer.is_ok() { DONE } else { REFUSED }).await;
    let login = StoredLogin {
        scopes: authority.scopes,
        lacking: Vec::new(),
        resource: endpoint.url.clone(),
        token_endpoint: authority.token,
        client,
        access_token: String::new(),
        refresh_token: None,
        expires_at: None,
    };
    file.write(&login.with(answer?)).map_err(|error| failed(error.to_string()))
}

/// Forgets what a login at a server gave; whether there was anything.
///
/// # Errors
/// When the file cannot be removed.
pub fn log_out(server: &McpServer) -> Result<bool, McpError> {
    let file = server.http.as_ref().and_then(|endpoint| TokenFile::of(server, endpoint));
    let removed = file.map_or(Ok(false), |file| file.remove());
    removed.map_err(|error| McpError::Login { server: server.name.clone(), why: error.to_string() })
}

/// Whether there was a login at a server.
pub fn is_logged_in(server: &McpServer) -> bool {
    let file = server.http.as_ref().and_then(|endpoint| TokenFile::of(server, endpoint));
    file.is_some_and(|file| file.is_there())
}

/// 256 random bits, as text.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The page that the user opens.
fn page(
    authority: &AuthorizationServer,
    client: &RegisteredClient,
    redirect: &str,
    resource: &str,
    verifier: &str,
    state: &str,
) -> Result<String, String> {
    let mut page = Url::parse(&authority.authorize).map_err(|error| format!("{}: {error}", authority.authorize))?;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let mut query = page.query_pairs_mut();
    query.append_pair("response_type", "code").append_pair("client_id", &client.client_id);
    query.append_pair("redirect_uri", redirect).append_pair("state", state);
    query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
    query.append_pair("resource", resource);
    if !authority.scopes.is_empty() {
        query.append_pair("scope", &authority.scopes.join(" "));
    }
    drop(query);
    Ok(page.into())
}

/// Waits until the user's browser comes back; the code that it brings, and where it waits for a page.
async fn returned(
    listener: &TcpListener,
    authority: &AuthorizationServer,
    state: &str,
) -> Result<(String, BufReader<TcpStream>), String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let mut stream = BufReader::new(stream);
        let Some(path) = requested(&mut stream).await else { continue };
        let Some(query) = path.strip_prefix("/callback?") else {
            reply(&mut stream, "404 Not Found", "").await;
            continue;
        };
        let pairs: BTreeMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        // Another page may have sent the browser here: it does not know the state.
        if pairs.get("state").is_none_or(|known| known != state) {
            reply(&mut stream, "400 Bad Request", REFUSED).await;
            continue;
        }
        let issuer = pairs.get("iss");
        let is_other = issuer.is_some() && issuer != authority.issuer.as_ref();
        if is_other || (authority.names_issuer && issuer.is_none()) {
            reply(&mut stream, "400 Bad Request", REFUSED).await;
            return Err("another authorization server answered".into());
        }
        match (pairs.get("code"), pairs.get("error")) {
            (Some(code), None) => return Ok((code.clone(), stream)),
            (_, error) => {
                reply(&mut stream, "200 OK", REFUSED).await;
                let about = pairs.get("error_description").map(|about| format!(": {about}")).unwrap_or_default();
                return Err(format!("{}{about}", error.map_or("no code was given", String::as_str)));
            }
        }
    }
}

/// The path that a browser asks for.
async fn requested(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    let read = timeout(SENT, async {
        while line.len() < LONGEST {
            let available = stream.fill_buf().await.ok()?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            line.extend_from_slice(available.get(..taken)?);
            stream.consume(taken);
            if end.is_some() || taken == 0 {
                return Some(());
            }
        }
        None
    });
    read.await.ok()??;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    (words.next()? == "GET").then_some(())?;
    words.next().map(str::to_owned)
}

async fn reply(stream: &mut BufReader<TcpStream>, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A browser that is gone reads nothing.
    drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
    drop(stream.shutdown().await);
}
