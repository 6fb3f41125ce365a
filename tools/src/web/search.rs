//! The tool `websearch`: a command of the configuration, or a service.

use crate::program::ExternalProgram;
use crate::typed::{TypedTool, Worked};
use annals_core::Json;
use annals_providers::http::{PageRequest, page};
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// How many results are given without another number, and at most.
const USUAL: u64 = 8;
const MOST: u64 = 20;

/// The most bytes of an answer, and how long it may take.
const LARGEST: usize = 2 * 1024 * 1024;
const LIMIT: Duration = Duration::from_secs(30);

/// How much of each result is shown, in characters.
const SHOWN: usize = 400;

/// Who searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebSearch {
    /// A program: it is given `{"query": ..., "count": ...}` and prints text.
    Program(ExternalProgram),
    /// A service.
    Service {
        /// Which.
        provider: SearchProvider,
        /// Its address.
        url: String,
        /// The environment variable with its key.
        key_env: Option<String>,
    },
}

/// A kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchProvider {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// A server of SearXNG that answers in JSON.
    Searxng,
}

impl SearchProvider {
    /// The provider of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "brave" => Some(Self::Brave),
            "tavily" => Some(Self::Tavily),
            "searxng" => Some(Self::Searxng),
            _ => None,
        }
    }

    /// The usual address; SearXNG has none.
    pub const fn url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Tavily => Some("https://api.tavily.com/search"),
            Self::Searxng => None,
        }
    }

    /// The usual variable of the key.
    pub const fn key_env(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Searxng => None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    query: String,
    /// How many results; 8 without it, at most 20.
    #[schemars(range(min = 1, max = 20))]
    count: Option<u64>,
}

/// Searches the web.
pub(crate) struct SearchTool {
    pub(crate) search: WebSearch,
    pub(crate) directory: PathBuf,
}

impl TypedTool for SearchTool {
    type Input = Input;
    const NAME: &str = "websearch";
    const ABOUT: &str = "Searches the web; gives titles, addresses and extracts. Read a page with `webfetch`.";

    fn check(&self, input: &Input) -> Result<(), String> {
        match input.query.trim().is_empty() {
            true => Err("the query is empty".into()),
            false => Ok(()),
        }
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: vec![input.query.clone()] }]
    }

    async fn run(&self, input: Input, _: CallContext) -> Worked {
        let count = input.count.unwrap_or(USUAL).clamp(1, MOST);
        match &self.search {
            WebSearch::Program(program) => {
                let given = json!({ "query": input.query, "count": count }).to_string();
                let output = program.run(&self.directory, &given).await.map_err(|error| error.to_string())?;
                match output.exit {
                    Some(0) => Ok(ToolOutput::text(output.stdout)),
                    _ => Err(format!("The search failed: {}", output.stderr.trim()).into()),
                }
            }
            WebSearch::Service { provider, url, key_env } => {
                let key = key_env
                    .as_ref()
                    .map(|name| std::env::var(name).map_err(|_| format!("The search needs a key: {name} is not set.")));
                let key = key.transpose()?;
                let request = request(*provider, url, key.as_deref(), &input.query, count)?;
                let answer = page(request).await.map_err(|error| format!("The search failed: {error}"))?;
                let body = String::from_utf8_lossy(&answer.body);
                if answer.status != 200 {
                    let begin: String = body.chars().take(SHOWN).collect();
                    return Err(format!("The search failed with status {}: {begin}", answer.status).into());
                }
                let value = serde_json::from_str(&body).map_err(|error| format!("The search's answer: {error}"))?;
                Ok(tool_output(&value, usize::try_from(count).unwrap_or(usize::MAX)))
            }
        }
    }
}

fn request(
    provider: SearchProvider,
    url: &str,
    key: Option<&str>,
    query: &str,
    count: u64,
) -> Result<PageRequest, String> {
    let mut url: Url = url.parse().map_err(|error| format!("the address of the search: {error}"))?;
    let mut headers = vec![("Accept".to_owned(), "application/json".to_owned())];
    let mut json = None;
    match provider {
        SearchProvider::Brave => {
            url.query_pairs_mut().append_pair("q", query).append_pair("count", &count.to_string());
            headers.extend(key.map(|key| ("X-Subscription-Token".to_owned(), key.to_owned())));
        }
        SearchProvider::Tavily => {
            json = Some(json!({ "query": query, "max_results": count }).to_string());
            headers.extend(key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))));
        }
        SearchProvider::Searxng => {
            url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
            headers.extend(key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))));
        }
    }
    Ok(PageRequest { url: url.into(), headers, json, largest: LARGEST, limit: LIMIT, ..PageRequest::default() })
}

/// The results, wherever the service puts them.
fn tool_output(answer: &Value, count: usize) -> ToolOutput {
    let results = answer.get("results").or_else(|| answer.get("web")?.get("results")).and_then(Value::as_array);
    let text = |one: &Value, names: &[&str]| {
        let text = names.iter().find_map(|name| one.get(*name)?.as_str()).unwrap_or_default();
        let text: Vec<&str> = text.split_whitespace().collect();
        text.join(" ").chars().take(SHOWN).collect::<String>()
    };
    let found: Vec<(String, String, String)> = results
        .into_iter()
        .flatten()
        .take(count)
        .map(|one| (text(one, &["title"]), text(one, &["url"]), text(one, &["description", "content", "snippet"])))
        .collect();
    if found.is_empty() {
        return ToolOutput::text("Nothing was found.");
    }
    let urls: Vec<&str> = found.iter().map(|(_, url, _)| url.as_str()).collect();
    let structured = Json::canonical(&json!({ "urls": urls }));
    let lines: Vec<String> = found
        .iter()
        .enumerate()
        .map(|(at, (title, url, extract))| format!("{}. {title}\n   {url}\n   {extract}", at + 1))
        .collect();
    ToolOutput { structured: Some(structured), ..ToolOutput::text(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_each_service_are_read() {
        let one = json!({ "title": "A", "url": "https://a", "description": "about\n a", "content": "about a" });
        for answer in [json!({ "web": { "results": [one] } }), json!({ "results": [one] })] {
            let output = tool_output(&answer, 8);
            assert_eq!(output.text.as_deref(), Some("1. A\n   https://a\n   about a"));
        }
        assert_eq!(tool_output(&json!({}), 8).text.as_deref(), Some("Nothing was found."));
    }
}
