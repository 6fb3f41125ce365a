//! Questions of servers to the user while a call runs (elicitation): a form of single values, or a page to open.

use annals_core::{CallId, SessionId};
use annals_runtime::prompt::{UserPrompt, UserQuestion};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many values a form may ask for.
const MOST: usize = 20;

/// How often a value is asked for again that does not fit.
const TRIES: usize = 3;

/// What is never asked for: the protocol forbids servers to ask for secrets in a form.
const SECRETS: [&str; 6] = ["password", "passwd", "secret", "token", "api_key", "apikey"];

/// Asks the user for a server.
#[derive(Default)]
pub(super) struct Elicitor {
    server: String,
    user: Option<Arc<dyn UserPrompt>>,
    /// The calls that run: a question belongs to the newest.
    calls: Mutex<Vec<(SessionId, CallId)>>,
    /// Whether the server said that its tools are others now.
    has_other_tools: AtomicBool,
}

impl fmt::Debug for Elicitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elicitor").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A call that runs, until it is dropped.
pub(super) struct AskingCall<'a> {
    elicitor: &'a Elicitor,
    call: (SessionId, CallId),
}

impl Drop for AskingCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.elicitor.calls();
        if let Some(at) = calls.iter().rposition(|call| *call == self.call) {
            calls.remove(at);
        }
    }
}

impl Elicitor {
    pub(super) fn new(server: String, user: Option<Arc<dyn UserPrompt>>) -> Self {
        Self { server, user, calls: Mutex::default(), has_other_tools: AtomicBool::default() }
    }

    /// Hears a notification of the server.
    pub(super) fn hears(&self, method: &str) {
        if method == "notifications/tools/list_changed" {
            self.has_other_tools.store(true, Ordering::Relaxed);
        }
        tracing::debug!(server = self.server, method, "a notification of an MCP server");
    }

    /// Whether the server has said since the last time that its tools are others.
    pub(super) fn has_other_tools(&self) -> bool {
        self.has_other_tools.swap(false, Ordering::Relaxed)
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(SessionId, CallId)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server learns of this client.
    pub(super) fn capabilities(&self) -> Value {
        if self.user.is_some() { json!({"elicitation": {"form": {}, "url": {}}}) } else { json!({}) }
    }

    /// A call runs: questions belong to it.
    pub(super) fn during(&self, session: SessionId, call: CallId) -> AskingCall<'_> {
        self.calls().push((session, call.clone()));
        AskingCall { elicitor: self, call: (session, call) }
    }

    /// Answers a request for something that only the user knows.
    pub(super) async fn answer(&self, params: &Value) -> Value {
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let asked = match params.get("url").and_then(Value::as_str) {
            Some(url) => self.page(message, url).await,
            None => self.form(message, params.get("requestedSchema").unwrap_or(&Value::Null)).await,
        };
        match asked {
            Ok(content) => content,
            Err(action) => json!({"action": action}),
        }
    }

    async fn page(&self, message: &str, url: &str) -> Result<Value, &'static str> {
        let question = format!("{} asks: {message}\nTo continue, open this page: {url}", self.server);
        let answer = self.ask(question, vec!["Done".into(), "No".into()], false).await?;
        if answer == "Done" { Ok(json!({"action": "accept"})) } else { Err("decline") }
    }

    async fn form(&self, message: &str, schema: &Value) -> Result<Value, &'static str> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let is_secret = |name: &String| SECRETS.iter().any(|secret| name.to_lowercase().contains(secret));
        if properties.len() > MOST || properties.keys().any(is_secret) {
            return Err("decline");
        }
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut content = Map::new();
        if properties.is_empty() {
            let question = format!("{} asks: {message}", self.server);
            let answer = self.ask(question, vec!["Yes".into(), "No".into()], false).await?;
            return if answer == "Yes" { Ok(json!({"action": "accept", "content": {}})) } else { Err("decline") };
        }
        for (name, property) in properties {
            let is_required = required.contains(&name.as_str());
            if let Some(value) = self.value(message, name, property, is_required).await? {
                content.insert(name.clone(), value);
            }
        }
        Ok(json!({"action": "accept", "content": content}))
    }

    /// Asks for one value; `None` for one that may be left out and is.
    async fn value(
        &self,
        message: &str,
        name: &str,
        property: &Value,
        required: bool,
    ) -> Result<Option<Value>, &'static str> {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let title = text("title").unwrap_or(name);
        let about = text("description").map(|about| format!(" ({about})")).unwrap_or_default();
        let rest = match (property.get("default"), required) {
            (Some(default), _) => format!(" [{}]", shown(default)),
            (None, true) => String::new(),
            (None, false) => " [may be left empty]".into(),
        };
        let choices = choices(property);
        let options: Vec<String> = choices.iter().map(|(_, shown)| shown.clone()).collect();
        let multiple = property.get("type").is_some_and(|kind| kind == "array");
        for _ in 0..TRIES {
            let question = format!("{} asks: {message}\n{title}{about}{rest}", self.server);
            let answer = self.ask(question, options.clone(), multiple).await?;
            if answer.trim().is_empty() {
                match property.get("default") {
                    Some(default) => return Ok(Some(default.clone())),
                    None if !required => return Ok(None),
                    None => continue,
                }
            }
            if let Some(value) = fitting(property, &choices, answer.trim()) {
                return Ok(Some(value));
            }
        }
        Err("cancel")
    }

    async fn ask(&self, question: String, options: Vec<String>, multiple: bool) -> Result<String, &'static str> {
        let call = self.calls().last().cloned();
        let (Some(user), Some((session, call))) = (&self.user, call) else { return Err("decline") };
        user.ask(UserQuestion { session, call, question, options, multiple }).await.ok_or("cancel")
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values that a property may have, each as it is shown; none if it is free.
fn choices(property: &Value) -> Vec<(Value, String)> {
    if property.get("type").is_some_and(|kind| kind == "boolean") {
        return vec![(true.into(), "yes".into()), (false.into(), "no".into())];
    }
    let of = property.get("items").unwrap_or(property);
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| of.get(*key)?.as_array());
    if let Some(titled) = titled {
        let one = |choice: &Value| {
            let value = choice.get("const")?;
            let title = choice.get("title").and_then(Value::as_str);
            Some((value.clone(), title.map_or_else(|| shown(value), str::to_owned)))
        };
        return titled.iter().filter_map(one).collect();
    }
    let names = of.get("enumNames").and_then(Value::as_array);
    let values = of.get("enum").and_then(Value::as_array).into_iter().flatten().enumerate();
    let name = |at: usize| names.and_then(|names| names.get(at)?.as_str());
    values.map(|(at, value)| (value.clone(), name(at).map_or_else(|| shown(value), str::to_owned))).collect()
}

/// What was typed as a value of a property, if it is one.
fn fitting(property: &Value, choices: &[(Value, String)], typed: &str) -> Option<Value> {
    let chosen = |typed: &str| {
        let is = |(value, name): &&(Value, String)| name.eq_ignore_ascii_case(typed) || shown(value) == typed;
        choices.iter().find(is).map(|(value, _)| value.clone())
    };
    let kind = property.get("type").and_then(Value::as_str).unwrap_or("string");
    let number = |name: &str| property.get(name).and_then(Value::as_f64);
    match kind {
        "array" => typed.split(',').map(|one| chosen(one.trim())).collect::<Option<Vec<Value>>>().map(Value::Array),
        _ if !choices.is_empty() => chosen(typed),
        "integer" | "number" => {
            let value: f64 = typed.parse().ok().filter(|value: &f64| value.is_finite())?;
            let fits = number("minimum").is_none_or(|least| value >= least)
                && number("maximum").is_none_or(|most| value <= most);
            let value = match kind {
                "integer" => Value::from(typed.parse::<i64>().ok()?),
                _ => json!(value),
            };
            fits.then_some(value)
        }
        _ => {
            let length = u64::try_from(typed.chars().count()).unwrap_or(u64::MAX);
            let limit = |name: &str| property.get(name).and_then(Value::as_u64);
            let fits = limit("minLength").is_none_or(|least| length >= least)
                && limit("maxLength").is_none_or(|most| length <= most);
            fits.then(|| typed.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_runtime::Boxed;

    struct Answers(Mutex<Vec<&'static str>>);

    impl UserPrompt for Answers {
        fn ask(&self, _: UserQuestion) -> Boxed<'_, Option<String>> {
            let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            Box::pin(async move { answer.map(str::to_owned) })
        }
    }

    async fn answered(schema: Value, mut answers: Vec<&'static str>) -> Value {
        answers.reverse();
        let user: Arc<dyn UserPrompt> = Arc::new(Answers(Mutex::new(answers)));
        let elicitor = Elicitor::new("test".into(), Some(user));
        let params = json!({"message": "who?", "requestedSchema": schema});
        assert_eq!(elicitor.answer(&params).await, json!({"action": "decline"}), "no call runs");
        let _call = elicitor.during(SessionId::from_parts(1, 1), "c".into());
        elicitor.answer(&params).await
    }

    #[tokio::test]
    async fn a_form_is_asked_value_by_value() {
        let schema = json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer", "minimum": 3}, "b": {"type": "boolean"}, "c": {"type": "string"},
            "d": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}, "e": {"type": "string", "default": "x"},
            "f": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]}}}});
        let answer = answered(schema, vec!["two", "2", "5", "YES", "", "red", "", "p, q"]).await;
        let content = json!({"a": 5, "b": true, "d": "r", "e": "x", "f": ["p", "q"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
    }

    #[tokio::test]
    async fn a_form_that_asks_for_a_secret_is_declined_and_one_without_answers_cancelled() {
        let schema = json!({"type": "object", "properties": {"github_token": {"type": "string"}}});
        assert_eq!(answered(schema, vec!["x"]).await, json!({"action": "decline"}));
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        assert_eq!(answered(schema, vec![]).await, json!({"action": "cancel"}));
    }
}
