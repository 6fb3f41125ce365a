//! OAuth 2.1 for servers at an address: what a login gives, kept in a file that only the user can read, one for each address.

mod discovery;
mod login;
mod token_file;

pub use login::{is_logged_in, log_in, log_out};

use super::error::McpError;
use super::settings::{McpEndpoint, McpServer};
use annals_providers::http::{ExchangeMethod, Exchanges};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use token_file::TokenFile;
use url::Url;
use url::form_urlencoded::Serializer;

/// How long before its end a token is refreshed.
const EARLY: u64 = 60;

/// How long a request for a token may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What is known of a login at one address.
#[derive(Clone, Serialize, Deserialize)]
struct StoredLogin {
    /// The server's address, for which the token is meant.
    resource: String,
    token_endpoint: String,
    client: RegisteredClient,
    access_token: String,
    refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    expires_at: Option<u64>,
    /// What was asked for.
    #[serde(default)]
    scopes: Vec<String>,
    /// What a call needed besides; the next login asks for it.
    #[serde(default)]
    lacking: Vec<String>,
}

/// What the authorization server knows this program by.
#[derive(Clone, Serialize, Deserialize)]
struct RegisteredClient {
    client_id: String,
    client_secret: Option<String>,
    /// `none`, `client_secret_post` or `client_secret_basic`.
    method: Option<String>,
}

/// An answer of a token endpoint.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
    error: Option<String>,
    error_description: Option<String>,
}

/// The tokens for one server.
pub(super) struct Tokens {
    server: String,
    exchanges: Exchanges,
    file: Option<TokenFile>,
}

impl Tokens {
    pub(super) fn of(server: &McpServer, endpoint: &McpEndpoint, exchanges: Exchanges) -> Self {
        Self { server: server.name.clone(), exchanges, file: TokenFile::of(server, endpoint) }
    }

    fn failed(&self, why: impl ToString) -> McpError {
        McpError::Login { server: self.server.clone(), why: why.to_string() }
    }

    /// A token that holds; `None` without a login.
    pub(super) async fn access(&self) -> Result<Option<String>, McpError> {
        let Some(file) = &self.file else { return Ok(None) };
        let Some(login) = file.read().map_err(|error| self.failed(error))? else { return Ok(None) };
        let ends = login.expires_at.is_some_and(|end| end <= now() + EARLY);
        match ends && login.refresh_token.is_some() {
            true => Ok(Some(self.renewed(&login.access_token).await?.access_token)),
            false => Ok(Some(login.access_token)),
        }
    }

    /// Notes what the token lacks for a call, as the server's challenge says: the next login asks for it.
    pub(super) async fn lacks(&self, challenge: &str) -> Result<(), McpError> {
        let scopes = discovery::parameter(challenge, "scope").unwrap_or_default();
        let Some(file) = self.file.as_ref().filter(|_| !scopes.is_empty()) else { return Ok(()) };
        let _locked = file.locked().await.map_err(|error| self.failed(error))?;
        let Some(mut login) = file.read().map_err(|error| self.failed(error))? else { return Ok(()) };
        let lacking: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
        if login.lacking != lacking {
            login.lacking = lacking;
            file.write(&login).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Renews a token that the server refused; whether there was one to renew.
    pub(super) async fn refresh(&self) -> Result<bool, McpError> {
        let Some(file) = &self.file else { return Ok(false) };
        match file.read().map_err(|error| self.failed(error))? {
            Some(login) if login.refresh_token.is_some() => {
                // A refusal means that another login is needed, as without this one.
                Ok(self.renewed(&login.access_token).await.is_ok())
            }
            _ => Ok(false),
        }
    }

    /// The login with another token than `old`. Processes that need one at the same time ask once.
    async fn renewed(&self, old: &str) -> Result<StoredLogin, McpError> {
        let Some(file) = self.file.clone() else { return Err(self.failed("there is no login")) };
        let _locked = file.locked().await.map_err(|error| self.failed(error))?;
        let login = file.read().map_err(|error| self.failed(error))?.ok_or_else(|| self.failed("it was removed"))?;
        if login.access_token != old {
            return Ok(login);
        }
        let refresh = login.refresh_token.clone().ok_or_else(|| self.failed("it has ended"))?;
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh),
            ("resource", login.resource.clone()),
        ];
        let answer = ask(&self.exchanges, &login.token_endpoint, &login.client, form).await;
        let login = login.with(answer.map_err(|why| self.failed(why))?);
        file.write(&login).map_err(|error| self.failed(error))?;
        Ok(login)
    }
}

impl StoredLogin {
    fn with(self, answer: TokenAnswer) -> Self {
        Self {
            access_token: answer.access_token.unwrap_or_default(),
            refresh_token: answer.refresh_token.or(self.refresh_token),
            expires_at: answer.expires_in.map(|seconds| now().saturating_add(seconds)),
            ..self
        }
    }
}

/// Asks a token endpoint; the error says why there is none.
async fn ask(
    exchanges: &Exchanges,
    endpoint: &str,
    client: &RegisteredClient,
    mut form: Vec<(&str, String)>,
) -> Result<TokenAnswer, String> {
    let mut headers = vec![
        ("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
        ("Accept".to_owned(), "application/json".to_owned()),
    ];
    match (client.method.as_deref(), &client.client_secret) {
        (Some("client_secret_basic"), Some(secret)) => {
            let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = STANDARD.encode(format!("{}:{}", encoded(&client.client_id), encoded(secret)));
            headers.push(("Authorization".to_owned(), format!("Basic {pair}")));
        }
        (_, secret) => {
            form.push(("client_id", client.client_id.clone()));
            form.extend(secret.clone().map(|secret| ("client_secret", secret)));
        }
    }
    let form = Serializer::new(String::new()).extend_pairs(form).finish();
    let body = posted(exchanges, endpoint, headers, form).await?;
    let answer: TokenAnswer =
        serde_json::from_str(&body).map_err(|error| format!("{endpoint} gives no token: {error}"))?;
    match (&answer.access_token, &answer.error) {
        (Some(_), None) => Ok(answer),
        (_, error) => {
            let about = answer.error_description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
            Err(format!("{endpoint} gives no token ({}{about})", error.as_deref().unwrap_or("without a reason")))
        }
    }
}

/// The body of an answer with any status.
async fn posted(
    exchanges: &Exchanges,
    endpoint: &str,
    headers: Vec<(String, String)>,
    body: String,
) -> Result<String, String> {
    let asked = async {
        let answer = exchanges.send(ExchangeMethod::Post, endpoint, &headers, Some(body)).await?;
        answer.text().await
    };
    let answer = tokio::time::timeout(LIMIT, asked).await.map_err(|_| format!("{endpoint} does not answer"))?;
    answer.map_err(|error| format!("{endpoint}: {error}"))
}

/// Whether something secret may be sent to an address: it is encrypted, or stays on this machine.
fn is_safe(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let loopback =
        host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
