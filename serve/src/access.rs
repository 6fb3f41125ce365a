//! Who may ask: requests that name this server, come from its own page or from no page, and carry the token.

use crate::problem::ApiProblem;
use crate::token::ServerToken;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;

/// What the page may load: its own two files, and answers of this server.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Who may ask.
pub struct AccessRules {
    token: ServerToken,
    hosts: Vec<String>,
}

impl AccessRules {
    /// AccessRules by a token, under the address and these further names.
    pub fn new(token: ServerToken, address: SocketAddr, names: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")));
        }
        for name in names {
            hosts.extend([name.to_ascii_lowercase(), format!("{}:{port}", name.to_ascii_lowercase())]);
        }
        Self { token, hosts }
    }

    fn refusal(&self, headers: &HeaderMap, path: &str) -> Option<ApiProblem> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        // A page elsewhere may have a name that leads here.
        let host = text(header::HOST).unwrap_or_default().to_ascii_lowercase();
        if !self.hosts.contains(&host) {
            let detail = format!("this server is not {host:?}; annals serve --host NAME allows another name");
            return Some(ApiProblem::new(StatusCode::FORBIDDEN, "foreign host", detail));
        }
        let own = |origin: &str| {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            host.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
        };
        if headers.contains_key(header::ORIGIN) && !text(header::ORIGIN).is_some_and(own) {
            return Some(ApiProblem::new(
                StatusCode::FORBIDDEN,
                "foreign origin",
                "another page may not ask this server",
            ));
        }
        let needs_token = path == "/openapi.json" || path.starts_with("/v1/") || path == "/v1";
        let given = text(header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        if needs_token && !given.is_some_and(|given| self.token.is(given)) {
            let detail = "send the token of the link that annals serve printed, as Authorization: Bearer TOKEN";
            return Some(ApiProblem::new(StatusCode::UNAUTHORIZED, "no token", detail));
        }
        None
    }
}

/// Answers what may be asked; every answer says what a browser may do with it.
pub async fn check(State(access): State<Arc<AccessRules>>, request: Request, next: Next) -> Response {
    let refusal = access.refusal(request.headers(), request.uri().path());
    let mut response = match refusal {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
