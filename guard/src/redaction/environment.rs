//! Environment variables that hold secrets, and the forms in which their values turn up.

use super::SHORTEST;
use super::words::{has_word, words};
use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// Words that make a name that of a secret.
const SECRET: &str = "KEY KEYS APIKEY TOKEN TOKENS SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE PASS CREDENTIAL CREDENTIALS \
    CREDS AUTH PAT COOKIE";

/// Last words of names that say something about a secret and do not hold it.
const ABOUT: &str = "FILE PATH DIR SOCK SOCKET ID NAME TYPE URL URI HOST PORT USER USERNAME TIMEOUT LENGTH SIZE COUNT LIMIT \
    ALGORITHM METHOD ENABLED VERSION REGION";

/// Whether a variable is called like one that holds a secret: `OPENAI_API_KEY`, `DB_PASSWORD`, but not `SSH_AUTH_SOCK`.
///
/// ```
/// use annals_guard::redaction::is_secret_name;
/// assert!(is_secret_name("GITHUB_TOKEN") && is_secret_name("dbPassword") && is_secret_name("PGPASSWORD"));
/// assert!(!is_secret_name("KEYBOARD_LAYOUT") && !is_secret_name("AWS_ACCESS_KEY_FILE") && !is_secret_name("PWD"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let is_secret = |word: &String| {
        has_word(SECRET, word) || ["PASSWORD", "APIKEY", "TOKEN", "SECRET"].iter().any(|end| word.ends_with(end))
    };
    let about = words.last().is_some_and(|last| has_word(ABOUT, last));
    !about && words.iter().any(is_secret)
}

/// Whether a variable's value is a secret: by its name, and unless the value is plainly none (a number, a path).
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    value.len() >= SHORTEST && !is_number(value) && !is_path(value) && is_secret_name(name)
}

/// Whether a value is a number, a version or a date.
pub(super) fn is_number(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ','))
}

/// Whether a value is plainly the path of a file.
pub(super) fn is_path(value: &str) -> bool {
    value.starts_with('/') && !value.contains(['+', '=']) && value.matches('/').count() >= 2
        || ["~/", "./", "../"].iter().any(|begin| value.starts_with(begin))
}

/// A value as it is, as a JSON text holds it, as an address does, and as simple means turn it: reversed, in hexadecimal and
/// in base64.
pub(super) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned(), value.chars().rev().collect()];
    let quoted = Value::from(value).to_string();
    forms.extend(quoted.get(1..quoted.len().saturating_sub(1)).map(str::to_owned));
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    forms.push(encoded);
    forms.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    forms.extend((0..3).flat_map(|before| in_base64(value, before)));
    forms.retain(|form| form.len() >= SHORTEST);
    forms.sort();
    forms.dedup();
    forms
}

/// What base64 writes of a value that so many bytes precede: only what does not depend on its neighbours.
fn in_base64(value: &str, before: usize) -> [String; 2] {
    let bytes = [vec![0; before], value.as_bytes().to_vec()].concat();
    let from = (before * 8).div_ceil(6);
    let until = bytes.len() * 8 / 6;
    let part = |engine: &GeneralPurpose| engine.encode(&bytes).get(from..until).unwrap_or_default().to_owned();
    [part(&STANDARD), part(&URL_SAFE)]
}
