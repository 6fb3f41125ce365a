//! What an attempt must not tell anybody: its key, its headers' values, the credentials in its address.

use super::endpoint::Endpoint;
use super::key::{Key, KeySource};
use reqwest::Url;

/// Shorter values are no secrets, and replacing them would garble every text.
const SHORTEST: usize = 6;

/// Values and what stands in their place.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// Those of an endpoint.
    pub(super) fn of(endpoint: &Endpoint, key: Option<&Key>) -> Self {
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
            secrets.add(url.password().unwrap_or_default(), "[redacted:url]");
            secrets.add(url.username(), "[redacted:url]");
            for (_, value) in url.query_pairs() {
                secrets.add(&value, "[redacted:url]");
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

/// An address as errors and traces show it: without user, password, query and fragment.
pub(super) fn without_credentials(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => shown(&url),
        Err(_) => "(not a URL)".into(),
    }
}

/// As [`without_credentials`].
pub(super) fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
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
        let told = Secrets::of(&endpoint, None)
            .replace("pass-word query-secret header-secret Bearer bearer-secret; bearer-secret".into());
        assert_eq!(
            told,
            "[redacted:url] [redacted:url] [redacted:header:x-gateway] [redacted:header:authorization]; \
             [redacted:header:authorization]"
        );
    }

    #[test]
    fn short_values_are_left_alone() {
        let endpoint = Endpoint::at("http://localhost").header("x-mode", "on");
        assert_eq!(Secrets::of(&endpoint, None).replace("condition".into()), "condition");
    }
}
