//! Who gives tokens for a server: the server names its authorization server (RFC 9728), which names its endpoints (RFC 8414,
//! OpenID Connect Discovery).

use super::{LIMIT, RegisteredClient, is_safe, posted};
use annals_providers::http::{ExchangeMethod, Exchanges};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// Where tokens are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: Option<String>,
    pub(super) authorize: String,
    pub(super) token: String,
    pub(super) register: Option<String>,
    /// What is asked for; empty for what the server gives unasked.
    pub(super) scopes: Vec<String>,
    /// How a client with a secret names itself there.
    pub(super) methods: Vec<String>,
    /// Whether the answer names its issuer (RFC 9207).
    pub(super) names_issuer: bool,
    /// Whether the address of a document is taken as the id of a client.
    pub(super) takes_documents: bool,
}

#[derive(Default, Deserialize)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Deserialize)]
struct ServerMetadata {
    issuer: Option<String>,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

/// Finds the authorization server of a server.
///
/// # Errors
/// Why there is none that can be used.
pub(super) async fn discover(exchanges: &Exchanges, url: &str) -> Result<AuthorizationServer, String> {
    let server = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
    let challenge = challenge(exchanges, url).await?;
    let named = parameter(&challenge, "resource_metadata");
    let metadata = match named {
        Some(named) => resource(exchanges, &named).await,
        None => match resource(exchanges, &well_known(&server, "oauth-protected-resource", true)).await {
            Some(metadata) => Some(metadata),
            None => resource(exchanges, &well_known(&server, "oauth-protected-resource", false)).await,
        },
    };
    let metadata = metadata.unwrap_or_default();
    if let Some(resource) = &metadata.resource
        && !covers(resource, &server)
    {
        return Err(format!("the server says that it is {resource}, which {url} does not belong to"));
    }
    let issuer = metadata.authorization_servers.first().cloned();
    let found = match &issuer {
        Some(issuer) => {
            let parsed = Url::parse(issuer).map_err(|error| format!("{issuer}: {error}"))?;
            let found = authorization(exchanges, &parsed).await;
            found.ok_or_else(|| format!("{issuer} does not say where tokens are asked for"))?
        }
        // Servers of 2025-03-26 give tokens themselves.
        None => {
            let mut root = server.clone();
            root.set_path("/");
            root.set_query(None);
            match authorization(exchanges, &root).await {
                Some(found) => found,
                None => usual(&root),
            }
        }
    };
    if let (Some(issuer), Some(stated)) = (&issuer, &found.issuer)
        && issuer.trim_end_matches('/') != stated.trim_end_matches('/')
    {
        return Err(format!("{issuer} calls itself {stated}"));
    }
    let pkce = &found.code_challenge_methods_supported;
    if found.issuer.is_some() && !pkce.iter().any(|method| method == "S256") {
        return Err("the authorization server does not protect codes (PKCE with S256)".into());
    }
    for endpoint in
        [&found.authorization_endpoint, &found.token_endpoint].into_iter().chain(&found.registration_endpoint)
    {
        if !is_safe(endpoint) {
            return Err(format!("{endpoint} is not encrypted"));
        }
    }
    let scopes = match parameter(&challenge, "scope") {
        Some(scopes) => scopes.split_whitespace().map(str::to_owned).collect(),
        None => metadata.scopes_supported,
    };
    Ok(AuthorizationServer {
        issuer: found.issuer,
        authorize: found.authorization_endpoint,
        token: found.token_endpoint,
        register: found.registration_endpoint,
        scopes,
        methods: found.token_endpoint_auth_methods_supported,
        names_issuer: found.authorization_response_iss_parameter_supported,
        takes_documents: found.client_id_metadata_document_supported,
    })
}

/// Registers this program (RFC 7591).
pub(super) async fn register(
    exchanges: &Exchanges,
    server: &AuthorizationServer,
    redirect: &str,
) -> Result<RegisteredClient, String> {
    let Some(endpoint) = &server.register else {
        return Err(
            "the authorization server does not register clients by itself; write the id that it gave you into \
                    `oauth_client_id` of the server"
                .into(),
        );
    };
    let offered = |method: &&str| server.methods.is_empty() || server.methods.iter().any(|known| known == method);
    let method = ["none", "client_secret_post", "client_secret_basic"].into_iter().find(offered).unwrap_or("none");
    let wanted = json!({
        "client_name": "Annals",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
        "token_endpoint_auth_method": method,
    });
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    let body = posted(exchanges, endpoint, headers, wanted.to_string()).await?;
    let answer: Value = serde_json::from_str(&body).map_err(|error| format!("{endpoint}: {error}"))?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let refused = || format!("{endpoint} does not register this program: {}", text("error").unwrap_or_default());
    Ok(RegisteredClient {
        client_id: text("client_id").ok_or_else(refused)?,
        client_secret: text("client_secret"),
        method: Some(text("token_endpoint_auth_method").unwrap_or_else(|| method.to_owned())),
    })
}

/// What a server says to a request without a token.
async fn challenge(exchanges: &Exchanges, url: &str) -> Result<String, String> {
    let headers = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "annals", "version": "0"}}});
    let sent = exchanges.send(ExchangeMethod::Post, url, &headers, Some(initialize.to_string()));
    let answer = tokio::time::timeout(LIMIT, sent).await.map_err(|_| format!("{url} does not answer"))?;
    let answer = answer.map_err(|error| format!("{url}: {error}"))?;
    Ok(answer.header("www-authenticate").unwrap_or_default().to_owned())
}

/// A parameter of a challenge: `Bearer resource_metadata="...", scope="a b"`.
pub(super) fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some(at) = rest.find(name) {
        let before = rest.get(..at).and_then(|before| before.chars().next_back());
        let after = rest.get(at + name.len()..)?;
        if before.is_none_or(|c| c == ' ' || c == ',')
            && let Some(value) = after.trim_start().strip_prefix('=')
        {
            let value = value.trim_start();
            return match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().map(str::to_owned),
                None => value.split([',', ' ']).next().map(str::to_owned),
            };
        }
        rest = after;
    }
    None
}

/// Whether an address belongs to a resource: the same origin, and a path below its own.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && below
}

fn well_known(url: &Url, name: &str, with_path: bool) -> String {
    let path = url.path().trim_end_matches('/');
    let path = if with_path { path } else { "" };
    format!("{}/.well-known/{name}{path}", url.origin().ascii_serialization())
}

async fn resource(exchanges: &Exchanges, url: &str) -> Option<ResourceMetadata> {
    serde_json::from_str(&fetched(exchanges, url).await?).ok()
}

/// What an authorization server says of itself, at the places where it may.
async fn authorization(exchanges: &Exchanges, issuer: &Url) -> Option<ServerMetadata> {
    let path = issuer.path().trim_end_matches('/');
    let mut places =
        vec![well_known(issuer, "oauth-authorization-server", true), well_known(issuer, "openid-configuration", true)];
    if !path.is_empty() {
        let origin = issuer.origin().ascii_serialization();
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let found = fetched(exchanges, &place).await.and_then(|body| serde_json::from_str(&body).ok());
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The endpoints of 2025-03-26 where nothing is said.
fn usual(root: &Url) -> ServerMetadata {
    let at = |path: &str| format!("{}{path}", root.origin().ascii_serialization());
    ServerMetadata {
        issuer: None,
        authorization_endpoint: at("/authorize"),
        token_endpoint: at("/token"),
        registration_endpoint: Some(at("/register")),
        code_challenge_methods_supported: Vec::new(),
        token_endpoint_auth_methods_supported: Vec::new(),
        authorization_response_iss_parameter_supported: false,
        client_id_metadata_document_supported: false,
    }
}

async fn fetched(exchanges: &Exchanges, url: &str) -> Option<String> {
    let headers = [("Accept".to_owned(), "application/json".to_owned())];
    let asked = async {
        let answer = exchanges.send(ExchangeMethod::Get, url, &headers, None).await.ok()?;
        if answer.status() != 200 {
            return None;
        }
        answer.text().await.ok()
    };
    tokio::time::timeout(LIMIT, asked).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge_are_read() {
        let challenge = r#"Bearer error="invalid_token", resource_metadata="https://a/x", scope="a b""#;
        assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a/x"));
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter("Bearer my_scope=x", "scope"), None);
        assert_eq!(parameter("Bearer scope=x, y=z", "scope").as_deref(), Some("x"));
    }

    #[test]
    fn a_resource_covers_what_is_below_it() -> Result<(), url::ParseError> {
        let server = Url::parse("https://a.example/mcp/v1")?;
        assert!(covers("https://a.example", &server) && covers("https://a.example/mcp/", &server));
        assert!(!covers("https://a.example/mc", &server) && !covers("https://b.example/mcp/v1", &server));
        Ok(())
    }
}
