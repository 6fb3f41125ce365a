//! The formats of keys that give themselves away. Most begin with a word that their issuer chose for that purpose.

mod commands;
mod programs;
mod services;

use super::pattern::{KnownExpression, SecretPattern};
use super::words::is_word_like;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The kind of a value that is secret because of its name.
pub(super) const ASSIGNED: &str = "assigned-secret";

/// The kind of a text in base64 that has secrets.
pub(super) const ENCODED: &str = "encoded-secret";

/// The kind of a private key.
pub(super) const PRIVATE_KEY: &str = "private-key";

/// What may precede a secret whose first letter begins no word otherwise: an escape of JSON, of an address, of a
/// terminal.
const BEFORE: &str = r"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,20}m)";

type Format = (&'static str, &'static [&'static str], &'static str, fn(&str) -> bool);

/// Kind, hints, expression, and whether a match counts. The more specific come first.
const FORMATS: &[Format] = &[
    ("anthropic-key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{20,}", any),
    ("openrouter-key", &["sk-or-"], r"\bsk-or-(?:v1-)?[A-Za-z0-9]{32,}\b", any),
    ("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}", any),
    ("openai-key", &["T3BlbkFJ"], r"\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b", any),
    ("api-key", &["sk-"], r"\bsk-[A-Za-z0-9]{32,}\b", mixed),
    ("aws-access-key", &["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b", drawn),
    (
        "aws-secret-key",
        &["secret"],
        r#"(?i)aws[a-z_.-]{0,20}secret[a-z_.-]{0,20}\\{0,7}["']?\s{0,4}(?:[:=]|=>)\s{0,4}\\{0,7}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        any,
    ),
    ("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b", drawn),
    ("github-token", &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", any),
    (
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-"],
        r"\bgl(?:pat|dt|rt|ptt|cbt|ft|soat|agent)-[A-Za-z0-9_-]{20,}",
        any,
    ),
    ("slack-token", &["xox"], r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", digits),
    ("slack-token", &["xapp-"], r"\bxapp-[0-9]-[A-Za-z0-9-]{20,}", any),
    (
        "slack-webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,})",
        any,
    ),
    ("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b", any),
    ("stripe-key", &["whsec_"], r"\bwhsec_[A-Za-z0-9+/=]{32,}", any),
    ("google-key", &["AIza"], r"\bAIza[A-Za-z0-9_-]{35}", any),
    ("google-token", &["ya29."], r"\bya29\.[A-Za-z0-9_-]{20,}", any),
    ("google-secret", &["GOCSPX-"], r"\bGOCSPX-[A-Za-z0-9_-]{28}", any),
    ("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b", any),
    ("npm-token", &["_authToken"], r#"_authToken\s{0,4}=\s{0,4}["']?([A-Za-z0-9+/=_.-]{16,})"#, any),
    ("pypi-token", &["pypi-AgE"], r"\bpypi-AgE[A-Za-z0-9_-]{50,}", any),
    ("crates-token", &["cio"], r"\bcio[A-Za-z0-9]{32}\b", mixed),
    ("huggingface-token", &["hf_"], r"\bhf_[A-Za-z0-9]{34,}\b", any),
    ("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}\b", any),
    ("xai-key", &["xai-"], r"\bxai-[A-Za-z0-9]{60,}\b", any),
    ("perplexity-key", &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,}\b", any),
    ("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9]{37}\b", any),
    ("sendgrid-key", &["SG."], r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", any),
    ("twilio-key", &["SK"], r"\bSK[0-9a-f]{32}\b", any),
    ("digitalocean-token", &["_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b", any),
    ("docker-token", &["dckr_"], r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}", any),
    ("telegram-token", &[":AA"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", any),
    ("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b", any),
    ("linear-key", &["lin_api_"], r"\blin_api_[A-Za-z0-9]{40}\b", any),
    ("vault-token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_-]{24,}", any),
    ("databricks-token", &["dapi"], r"\bdapi[0-9a-f]{32}\b", any),
    ("azure-key", &["AccountKey="], r"AccountKey=([A-Za-z0-9+/]{86}==)", any),
    ("age-key", &["AGE-SECRET-KEY-"], r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}\b", any),
    ("atlassian-token", &["ATATT3"], r"\bATATT3[A-Za-z0-9_=-]{100,}", any),
    ("supabase-key", &["sbp_"], r"\bsbp_[0-9a-f]{40}\b", any),
    ("newrelic-key", &["NRAK-"], r"\bNRAK-[A-Z0-9]{27}\b", any),
    // Whole, or cut off before its end. No quotes, so that it never reaches beyond a text of JSON.
    (
        "private-key",
        &["PRIVATE KEY"],
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()-]*?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{24,})",
        any,
    ),
    // Without its beginning: a page of a file, the newest part of an output.
    (
        "private-key",
        &["PRIVATE KEY"],
        r"(?:[A-Za-z0-9+/=]{40,}(?:\\n|\s)+(?:[0-9]{1,9}\t)?)+(?:[A-Za-z0-9+/=]{1,76}(?:\\n|\s)+(?:[0-9]{1,9}\t)?)?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        any,
    ),
    (
        PRIVATE_KEY,
        &["Static key V1"],
        r"-----BEGIN OpenVPN Static key V1-----(?:[0-9a-fA-F\s\\nrt]*?-----END OpenVPN Static key V1-----|[0-9a-fA-F\s\\nrt]{24,})",
        any,
    ),
    ("jwt", &["eyJ"], r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}", any),
    (
        "authorization",
        &["authorization"],
        r#"(?i:(?:\b|\\[nrt])(?:proxy-)?authorization\\{0,7}["']?\s{0,4}[:=,]?\s{0,4}\\{0,7}["'`]?(?:bearer|basic|token)\s{1,4})([A-Za-z0-9._~+/=-]{12,})"#,
        credentials,
    ),
    ("url-password", &["://"], r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@"'<>\\`]*:([^\s/@"'<>\\`]{3,})@"#, password),
    // A token in the place of the user.
    ("url-password", &["://"], r"\bhttps?://([A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@", mixed),
    ("discord-token", &[], r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}", mixed),
    ("mailgun-key", &["key-"], r"\bkey-[0-9a-f]{32}\b", mixed),
    ("doppler-token", &["dp."], r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{24,}", mixed),
    ("square-token", &["EAAA"], r"\bEAAA[A-Za-z0-9_-]{40,80}\b", mixed),
    ("square-token", &["sq0"], r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}", any),
    // A line of `.netrc`, or three of them, also with the numbers that a tool puts before lines.
    (
        "netrc-password",
        &["machine", "default"],
        r#"\b(?:machine(?:\s|\\[nrt])+[^\s\\]+|default)(?:\s|\\[nrt]|[0-9]{1,9}\t)+(?:(?:login|account)(?:\s|\\[nrt])+[^\s\\]+(?:\s|\\[nrt]|[0-9]{1,9}\t)+){0,2}password(?:\s|\\[nrt])+([^\s\\"']{4,})"#,
        password,
    ),
    // A line of `.pgpass`: host, port, database, user and password. With the port of the database any password.
    (
        "pgpass-password",
        &[":5432:", ":*:"],
        r#"(?m)(?:^|\\n|\t)[^\s:#\\/"']+:(?:5432|\*):[^\s:\\/"']+:[^\s:\\/"']+:([^\s\\"':]{4,})\r?(?:$|\\n)"#,
        password,
    ),
    (
        "pgpass-password",
        &[":"],
        r#"(?m)(?:^|\\n|\t)[^\s:#\\/"']+:(?:[1-9][0-9]{3,4}|\*):[^\s:\\/"']+:[^\s:\\/"']+:([^\s\\"':]{8,})\r?(?:$|\\n)"#,
        |text| mixed(text) && password(text),
    ),
];

/// The expressions of the formats, in their order. One that is none finds nothing; a test compiles them all.
static EXPRESSIONS: LazyLock<Vec<KnownExpression>> =
    LazyLock::new(|| all().map(|(_, _, regex, _)| KnownExpression::new(led(regex).into_owned())).collect());

/// All formats, the more specific first.
fn all() -> impl Iterator<Item = &'static Format> {
    [FORMATS, services::SERVICES, commands::COMMANDS, programs::PROGRAMS].into_iter().flatten()
}

/// The known formats.
pub(super) fn known() -> Vec<SecretPattern> {
    let formats = all().zip(EXPRESSIONS.iter());
    let formats =
        formats.map(|((kind, hints, _, counts), expression)| SecretPattern::known(kind, hints, expression, *counts));
    let functions = [
        SecretPattern::function(ASSIGNED, super::assigned::HINTS, super::assigned::spans),
        SecretPattern::function(ASSIGNED, super::assigned::HINTS, super::tables::spans),
        SecretPattern::function(ASSIGNED, &["secret"], super::manifests::spans),
    ];
    formats.chain(functions).collect()
}

/// An expression that begins at a word, which may also begin behind an escape.
fn led(regex: &str) -> Cow<'_, str> {
    let Some(rest) = regex.strip_prefix(r"\b") else { return Cow::Borrowed(regex) };
    let after = |at: usize| rest.get(at + 1..).is_some_and(|after| after.starts_with('?'));
    let escaped = |at: usize| rest.get(..at).is_some_and(|before| before.ends_with('\\'));
    let has_group = rest.match_indices('(').any(|(at, _)| !after(at) && !escaped(at));
    Cow::Owned(if has_group { format!("{BEFORE}{rest}") } else { format!("{BEFORE}({rest})") })
}

fn any(_: &str) -> bool {
    true
}

/// Of different characters, and not what the documentation of its issuer shows.
fn drawn(text: &str) -> bool {
    let different: std::collections::BTreeSet<u8> = text.bytes().collect();
    different.len() >= 8 && !text.ends_with("EXAMPLE")
}

/// Has digits: names such as `xoxb-your-token-here` have none.
fn digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Letters and digits, as drawn keys have, and not one character over and over.
fn mixed(text: &str) -> bool {
    let secret = text.trim_start_matches("sk-");
    let different: std::collections::BTreeSet<u8> = secret.bytes().collect();
    digits(secret) && secret.bytes().any(|byte| byte.is_ascii_alphabetic()) && different.len() >= 8
}

/// Credentials of a header: drawn, or in base64 a user and a password.
fn credentials(text: &str) -> bool {
    let pair = || super::encoded::decoded(text.trim_end_matches('=')).is_some_and(|pair| pair.contains(':'));
    text.len() >= 16 && mixed(text) || !is_word_like(text) || pair()
}

/// Neither a variable nor a placeholder word of documentation, and no longer than passwords are: a bound on the characters in an
/// expression would multiply it, and compiling it took longer than most commands.
fn password(text: &str) -> bool {
    let words = ["password", "passwd", "pass", "pwd", "secret", "token", "bar", "baz"];
    let blank = text.trim_matches(['x', 'X', '*', '.']).is_empty();
    let is_short = text.chars().take(201).count() <= 200;
    is_short
        && !blank
        && !text.starts_with(['$', '{', '%', '['])
        && !words.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::{EXPRESSIONS, all, known};

    #[test]
    fn every_format_is_an_expression() {
        for (expression, (kind, ..)) in EXPRESSIONS.iter().zip(all()) {
            assert!(expression.regex().is_some(), "{kind}");
        }
        // And those for what is given away by a name.
        assert_eq!(known().len(), all().count() + 3);
    }
}
