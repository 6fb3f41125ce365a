//! Passwords where commands, statements and calls take them without a name next to them, and in sentences.

use super::{Format, mixed, password};
use crate::redaction::assigned::{Class, ValuePlace, is_secret};

/// The kind of a password among the words of a command.
const COMMAND: &str = "command-password";

/// The kind of a password among the arguments of a call.
const CALL: &str = "call-password";

/// Kind, hints, expression, and whether a match counts.
pub(super) const COMMANDS: &[Format] = &[
    // The short options by which commands take passwords.
    (
        COMMAND,
        &["mysql", "mariadb"],
        r#"\b(?:mysql|mariadb)[a-z-]{0,12}\b[^\n;|&"'\\]{0,200}?\s-p["']?([^\s"'\\$<][^\s"'\\]{3,200})"#,
        password,
    ),
    (COMMAND, &["sshpass"], r#"\bsshpass\s{1,4}-p\s{0,4}["']?([^\s"'\\$<][^\s"'\\]{3,200})"#, password),
    (
        COMMAND,
        &["curl", "wget"],
        r#"\b(?:curl|wget)\b[^\n;|&\\]{0,300}?\s(?:-u|--user|--proxy-user)[\s=]{1,4}["']?[^\s:"'\\]{1,100}:([^\s"'\\$<][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["redis-cli"],
        r#"\bredis-cli\b[^\n;|\\]{0,200}?\s-a\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["mongo"],
        r#"\bmongo(?:sh|dump|restore|export|import)?\b[^\n;|\\]{0,200}?\s-p\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &[" login"],
        r#"\b(?:docker|podman|skopeo|helm|oras|buildah|crane|az|cf|oc)\b[^\n;|&\\]{0,30}?\blogin\b[^\n;|&\\]{0,200}?\s-p\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (COMMAND, &["twine"], r#"\btwine\b[^\n;|&\\]{0,200}?\s-p\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#, password),
    (
        COMMAND,
        &["htpasswd"],
        r#"\bhtpasswd\s[^\n;|&\\]{0,40}?-[a-zA-Z]{0,4}b[a-zA-Z]{0,4}\s[^\n;|&\\]{0,100}?\s["']?([^\s"'\\$<-][^\s"'\\]{5,200})(?:["']|\s|$)"#,
        last_word,
    ),
    (COMMAND, &["pass:"], r#"\s-(?:pass|passin|passout|p)\s{1,4}["']?pass:([^\s"'\\$<][^\s"'\\]{3,200})"#, password),
    (
        COMMAND,
        &["openssl"],
        r#"\bopenssl\s{1,4}enc\b[^\n;|&\\]{0,200}?\s-k\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (
        COMMAND,
        &["ldap"],
        r#"\bldap(?:search|add|modify|delete|passwd|whoami)\b[^\n;|\\]{0,200}?\s-w\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["sudo"],
        r#"\becho\s{1,4}["']?([^\s"'\\$<-][^\s"'\\|]{3,200})["']?\s{0,4}\|\s{0,4}sudo\s[^\n]{0,20}-[a-zA-Z]{0,3}S"#,
        password,
    ),
    (
        COMMAND,
        &["http"],
        r#"\bhttps?\s{1,4}(?:-a|--auth)[\s=]{1,4}["']?[^\s:"'\\]{1,100}:([^\s"'\\$<][^\s"'\\]{3,200})"#,
        password,
    ),
    (COMMAND, &["sqlcmd"], r#"\bsqlcmd\b[^\n;|\\]{0,200}?\s-P\s{0,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#, password),
    (
        COMMAND,
        &["-storepass", "-keypass"],
        r#"\s-(?:storepass|keypass)\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (
        COMMAND,
        &["zip "],
        r#"\b(?:zip|unzip)\b[^\n;|\\]{0,100}?\s-P\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["smb"],
        r#"\bsmb(?:client|map|get)\b[^\n;|\\]{0,200}?\s-U\s{0,4}["']?[^\s%"'\\]{1,100}%([^\s"'\\$<][^\s"'\\]{3,200})"#,
        password,
    ),
    (COMMAND, &["rclone"], r#"\brclone\s{1,4}obscure\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#, password),
    (COMMAND, &["encrypt_string"], r#"\bencrypt_string\s{1,4}["']([^\s"'\\$<-][^"'\\\n]{3,200})["']"#, password),
    (
        COMMAND,
        &["-pw "],
        r#"\b(?:pscp|plink|psftp|pageant)\b[^\n;|\\]{0,100}?\s-pw\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["lftp"],
        r#"\blftp\b[^\n;|\\]{0,100}?\s-u\s{1,4}["']?[^\s,"'\\]{1,100},([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    (
        COMMAND,
        &["password-command"],
        r#"--password-command[\s=]{1,4}["']echo\s{1,4}([^\s"'\\$<-][^\s"'\\]{3,200})"#,
        password,
    ),
    // Settings of one word and a value.
    (
        "setting-password",
        &["requirepass", "masterauth"],
        r#"(?m)(?:^|\\n|\t)\s{0,8}(?:requirepass|masterauth)\s{1,8}["']?([^\s"'\\]{6,200})"#,
        password,
    ),
    // Statements.
    (
        "sql-password",
        &["identified"],
        r#"\b(?:(?i:identified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?by\s{1,4}(?:password\s{1,4})?\\{0,7}')|IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,60}\s{1,4})?BY\s{1,4}\\{0,7}")([^'"\\\n]{6,200})"#,
        password,
    ),
    (
        "sql-password",
        &["set password"],
        r#"(?i)\bset password for\s[^=\n]{1,100}=\s{0,4}(?:password\()?\\{0,7}['"]([^'"\\\n]{6,200})"#,
        password,
    ),
    // Calls that take a name and a password.
    (
        CALL,
        &["BasicAuth", "basic_auth", "NetworkCredential", "login", "getConnection", "PasswordAuthentication"],
        r#"(?i)\b(?:set_?basic_?auth|(?:http_?)?basic_?auth|NetworkCredential|login|getConnection|PasswordAuthentication)\(\s{0,8}(?:[a-z_.]{1,40},\s{0,4})?\\{0,7}["'][^"'\n]{1,80}["'],\s{0,4}(?:Some\()?\\{0,7}["']([^"'\s\\]{8,100})\\{0,7}["']"#,
        |text| chosen(text) || beside_account(text),
    ),
    (CALL, &["auth"], r#"\bauth\s{0,2}=\s{0,2}\(["'][^"'\n]{1,80}["'],\s{0,4}["']([^"'\s\\]{8,100})["']\)"#, chosen),
    (
        CALL,
        &["PDO("],
        r#"\bPDO\(["'][^"'\n]{1,200}["'],\s{0,4}["'][^"'\n]{1,80}["'],\s{0,4}["']([^"'\s\\]{6,100})["']"#,
        password,
    ),
    (
        CALL,
        &["jwt."],
        r#"\bjwt\.(?:sign|verify|encode|decode)\([^"'\n]{1,80},\s{0,4}["']([^"'\s\\]{8,200})["']"#,
        chosen,
    ),
    (CALL, &["bearer_auth", "bearerAuth"], r#"\bbearer_?[aA]uth\(\\{0,7}["']([^"'\s\\]{16,400})\\{0,7}["']"#, mixed),
    // Addresses that are not those of a protocol.
    ("url-password", &["@tcp("], r#"\b[A-Za-z0-9_.-]{1,60}:([^\s:@"'\\]{4,100})@tcp\("#, password),
    ("url-password", &[":thin:"], r#":thin:[A-Za-z0-9_.-]{1,60}/([^\s/"'\\]{4,100}?)@"#, password),
    // Sentences of people and of programs.
    (
        "told-password",
        &["password", "passphrase", "api key", "token"],
        r#"(?i)\b(?:password|passphrase|api key|access token|token)\s{1,4}(?:is|was)(?:\s{1,4}now)?:?\s{1,4}["'`]?([^\s"'`,;<>(){}\[\]]{8,200})"#,
        in_a_sentence,
    ),
    (
        "told-password",
        &["password"],
        r#"(?i)\b(?:temporary|root|initial|generated|admin|default|one-time) password\b[^:\n"]{0,60}:\s{1,4}["'`]?([^\s"'`,;<>(){}\[\]]{8,200})"#,
        in_a_sentence,
    ),
    (
        "told-password",
        &["password"],
        r#"(?i)\b(?:user|login|username)\s[^\n"]{1,40}\s(?:and|with) password\s{1,4}["'`]?([^\s"'`,;<>(){}\[\]]{8,200})"#,
        in_a_sentence,
    ),
    (
        "told-password",
        &["token"],
        r#"(?i)\b(?:using|with|the|new|got) (?:api )?token:?\s{1,4}["'`]([^\s"'`]{20,400})["'`]"#,
        in_a_sentence,
    ),
    // Sessions of browsers.
    (
        "cookie",
        &["cookie"],
        r#"(?i)cookie[^\n]{0,80}?\b(?:[a-z_.-]{0,20}session(?:_?id|_token)?|sid|connect\.sid|phpsessid|jsessionid|auth_?token|remember_token)=([A-Za-z0-9%._~+/=-]{16,400})"#,
        mixed,
    ),
];

/// A password that a person chose: letters with digits or other characters, and no path or name of a variable.
pub(super) fn chosen(text: &str) -> bool {
    let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    password(text) && letters && digits && !text.contains("://") && !text.starts_with(['/', '.', '@'])
}

/// A password in a sentence, whose full stop may follow it.
pub(super) fn in_a_sentence(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let special = text.trim_end_matches('.').bytes().any(|byte| b"!@#$%^&*".contains(&byte));
    let time = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:T.Z+".contains(&byte));
    chosen(text) && !time && (special || digits >= 2 && text.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// A password behind the name of an account.
pub(super) fn beside_account(text: &str) -> bool {
    password(text) && is_secret("password", Class::Password, text, ValuePlace::Sentence)
}

/// The word behind a name and a file: neither an option nor a file.
fn last_word(text: &str) -> bool {
    chosen(text)
}
