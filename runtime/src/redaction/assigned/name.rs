//! What a name says about its value.

use crate::redaction::environment::words;

/// What a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A password that people choose: short, of words, of digits.
    Password,
    /// A secret, a token or a key that a program made.
    Secret,
    /// `PASS` and `KEY` in names of which many hold none; the value must give itself away, too.
    Perhaps,
    /// The number of a key, hexadecimal.
    Number,
}

/// Words behind the one that counts which change nothing.
const SUFFIXES: [&str; 23] = [
    "STRING",
    "PROD",
    "PRODUCTION",
    "DEV",
    "DEVELOPMENT",
    "TEST",
    "STAGING",
    "STAGE",
    "LOCAL",
    "LIVE",
    "OLD",
    "NEW",
    "PRIMARY",
    "SECONDARY",
    "BASE",
    "BASE64",
    "B64",
    "VALUE",
    "DATA",
    "RAW",
    "BACKUP",
    "PLAIN",
    "PLAINTEXT",
];

/// Words of names whose tokens and keys are no secrets.
const PUBLIC: [&str; 40] = [
    "MAX",
    "MIN",
    "NUM",
    "NEXT",
    "PAGE",
    "CONTINUATION",
    "CANCEL",
    "CANCELLATION",
    "PUBLIC",
    "PUBLISHABLE",
    "PRIMARY",
    "FOREIGN",
    "TOTAL",
    "COUNT",
    "EOS",
    "BOS",
    "PAD",
    "UNK",
    "SEP",
    "STOP",
    "START",
    "INPUT",
    "OUTPUT",
    "IS",
    "HAS",
    "USE",
    "EOF",
    "CACHE",
    "SORT",
    "PARTITION",
    "UNIQUE",
    "HOT",
    "INDEX",
    "SHORTCUT",
    "ROW",
    "OBJECT",
    "GROUP",
    "PREV",
    "PREVIOUS",
    "IDEMPOTENCY",
];

/// Words before `KEY` that make it a secret one.
const KEYS: [&str; 37] = [
    "PRESHARED",
    "API",
    "ACCESS",
    "SECRET",
    "PRIVATE",
    "ENCRYPTION",
    "SIGNING",
    "CLIENT",
    "MASTER",
    "AUTH",
    "ACCOUNT",
    "SHARED",
    "SERVICE",
    "LICENSE",
    "SSH",
    "APP",
    "ADMIN",
    "STORAGE",
    "SUBSCRIPTION",
    "CIPHER",
    "HMAC",
    "JWT",
    "WEBHOOK",
    "SECURITY",
    "DEPLOY",
    "WRITE",
    "READ",
    "LIVE",
    "TEST",
    "CONSUMER",
    "DEVELOPER",
    "SESSION",
    "APPLICATION",
    "SERVER",
    "DECRYPTION",
    "ROOT",
    "USER",
];

/// Words before `PASS` that make it a password.
const PASSES: [&str; 34] = [
    "DEFAULT", "BECOME", "SUDO", "WIFI", "ACCOUNT", "SERVICE", "KEYSTORE", "BIND", "LDAP", "VPN", "APP", "BACKUP",
    "STORE", "MQTT", "DB", "USER", "SMTP", "MAIL", "EMAIL", "MYSQL", "PG", "POSTGRES", "REDIS", "ADMIN", "ROOT", "FTP",
    "SSH", "DATABASE", "HTTP", "PROXY", "AUTH", "LOGIN", "MONGO", "RABBITMQ",
];

/// What a name says that its value is; `None` if nothing.
pub(super) fn class(name: &str) -> Option<Class> {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [.., "PRIVATE", "KEY", "ID"] = words.as_slice() {
        return Some(Class::Number);
    }
    let changes_nothing = |word: &&str| SUFFIXES.contains(word) || word.bytes().all(|byte| byte.is_ascii_digit());
    let behind = words.iter().rev().take_while(|word| changes_nothing(word)).count();
    let (last, before) = words.get(..words.len() - behind)?.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let prior = before.last().copied().unwrap_or_default();
    let ends = |ends: &[&str]| ends.iter().any(|end| last.ends_with(end));
    if ends(&[
        "PASSWORD",
        "PASSWORDS",
        "PASSWD",
        "PASSPHRASE",
        "PASSWORT",
        "KENNWORT",
        "CONTRASENA",
        "REQUIREPASS",
        "PWD",
        "PSK",
    ]) {
        return Some(Class::Password);
    }
    let public = before.iter().any(|word| PUBLIC.contains(word));
    if public {
        return None;
    }
    // `dbpass`, `smtpPass`.
    if last.strip_suffix("PASS").is_some_and(|before| PASSES.contains(&before)) {
        return Some(Class::Password);
    }
    let keys =
        ["APIKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "ACCOUNTKEY", "ENCRYPTIONKEY", "AUTHKEY", "MASTERKEY"];
    match last {
        "PW" if !before.is_empty() => Some(Class::Password),
        "PASS" if PASSES.contains(&prior) => Some(Class::Password),
        "PASS" if before.is_empty() && name != "pass" => None,
        "KEY" if KEYS.contains(&prior) => Some(Class::Secret),
        "PASS" | "SALT" => Some(Class::Perhaps),
        // The key of a publisher that images name: public.
        "KEY" if prior == "GPG" => None,
        // Names of variables: `RAILS_KEY`, but not `keyName.key`.
        "KEY" if !before.is_empty() && name.chars().all(|c| !c.is_lowercase()) => Some(Class::Perhaps),
        "AUTH" if before.is_empty() => Some(Class::Perhaps),
        "AUTHORIZATION" => Some(Class::Perhaps),
        "CREDENTIAL" | "CREDENTIALS" | "CREDS" | "PAT" => Some(Class::Secret),
        _ if ends(&["SECRET", "TOKEN"]) || ends(&keys) => Some(Class::Secret),
        _ => None,
    }
}
