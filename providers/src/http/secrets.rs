//! What an attempt must not reveal: its key, its headers' values, the credentials in its address. Gateways take keys
//! also as a segment of a path or in a query.

use super::endpoint::Endpoint;
use super::key::{ApiKey, KeySource};
use reqwest::Url;

/// The words that addresses of APIs are made of. Any other segment of a path may be a key, and is not shown.
const PLAIN: [&str; 25] = [
    "anthropic",
    "api",
    "chat",
    "completions",
    "compatible-mode",
    "deployments",
    "engines",
    "gateway",
    "inference",
    "llm",
    "messages",
    "models",
    "openai",
    "openapi",
    "paas",
    "proxy",
    "responses",
    "router",
    "serving-endpoints",
    "v1",
    "v1beta",
    "v2",
    "v3",
    "v4",
    "zen",
];

/// Shorter values are not taken as secrets: replacing them would garble every text.
const SHORTEST: usize = 6;

/// The same of a segment of a path, which may also be a model's name.
const SHORTEST_SEGMENT: usize = 8;

const URL: &str = "[redacted:url]";

/// Secret values and their replacements.
#[derive(Clone, Default)]
pub(super) struct EndpointSecrets(Vec<(String, String)>);

impl EndpointSecrets {
    /// Those of an endpoint.
    pub(super) fn of(endpoint: &Endpoint, key: Option<&ApiKey>) -> Self {
        let mut secrets = Self::default();
        if let Some(key) = key {
            let place = match &endpoint.key {
                Some(KeySource::Env(name)) => format!("[redacted:env:{name}]"),
                _ => "[redacted:key]".into(),
            };
            secrets.add(key.expose(), &place);
        }
        for (name, value) in &endpoint.headers {
            let place = format!("[redacted:header:{name}]");
            secrets.add(value, &place);
            // `Bearer KEY`, as some write it.
            if let Some((_, value)) = value.split_once(' ') {
                secrets.add(value, &place);
            }
        }
        if let Ok(url) = Url::parse(&endpoint.base_url) {
            let query = url
                .query()
                .unwrap_or_default()
                .split('&')
                .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
            let login = [url.username(), url.password().unwrap_or_default()];
            for value in query.chain(login).chain(segments(&url).filter(|segment| segment.len() >= SHORTEST_SEGMENT)) {
                secrets.add(value, URL);
                secrets.add(&decoded(value), URL);
            }
        }
        // A secret that holds another one goes first.
        secrets.0.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        secrets
    }

    fn add(&mut self, value: &str, place: &str) {
        if value.len() >= SHORTEST && !self.0.iter().any(|(known, _)| known == value) {
            self.0.push((value.into(), place.into()));
        }
    }

    /// The text with placeholders.
    pub(super) fn replace(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (value, place)| match text.contains(value) {
            true => text.replace(value, place),
            false => text,
        })
    }
}

/// The segments of a path that are not plain words.
fn segments(url: &Url) -> impl Iterator<Item = &str> {
    url.path().split('/').filter(|segment| !segment.is_empty() && !PLAIN.contains(segment))
}

/// Decodes percent signs.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, part.get(2..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An address as errors and traces show it: without user, password, query and fragment, and with `…` for every segment of
/// its path that may be a key.
pub(super) fn without_credentials(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => shown(&url),
        Err(_) => "(not a URL)".into(),
    }
}

/// As [`without_credentials`].
pub(super) fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let plain =
        |segment: &str| if segment.is_empty() || PLAIN.contains(&segment) { segment.to_owned() } else { "…".into() };
    let path: Vec<String> = url.path().split('/').map(plain).collect();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_shows_no_key_header_or_credentials() {
        let endpoint = Endpoint::at("https://user:pass-word@host:8443/v1?api-key=query-secret")
            .header("x-gateway", "header-secret")
            .header("authorization", "Bearer bearer-secret")
            .key(KeySource::Env("SOME_KEY".into()));
        let shown = format!("{endpoint:?}");
        for secret in ["pass-word", "user", "query-secret", "header-secret", "bearer-secret"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("https://host:8443/v1") && shown.contains("x-gateway") && shown.contains("SOME_KEY"));
        let redacted = EndpointSecrets::of(&endpoint, None)
            .replace("pass-word query-secret header-secret Bearer bearer-secret; bearer-secret".into());
        assert_eq!(
            redacted,
            "[redacted:url] [redacted:url] [redacted:header:x-gateway] [redacted:header:authorization]; \
             [redacted:header:authorization]"
        );
    }

    #[test]
    fn a_key_in_the_path_or_the_query_of_an_address_is_told_in_no_form() {
        let base = "https://host/gateway/k3y-of%2Fmine/v1?api-key=query%2Bsecret&mode=on";
        let endpoint = Endpoint::at(base);
        assert_eq!(without_credentials(base), "https://host/gateway/…/v1");
        let redacted = EndpointSecrets::of(&endpoint, None)
            .replace("k3y-of%2Fmine k3y-of/mine query%2Bsecret query+secret gateway mode on".into());
        let placeholder = "[redacted:url]";
        assert_eq!(redacted, format!("{placeholder} {placeholder} {placeholder} {placeholder} gateway mode on"));
    }

    #[test]
    fn short_values_are_left_alone() {
        let endpoint = Endpoint::at("http://localhost").header("x-mode", "on");
        assert_eq!(EndpointSecrets::of(&endpoint, None).replace("condition".into()), "condition");
    }
}
