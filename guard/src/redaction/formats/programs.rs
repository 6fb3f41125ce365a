//! Passwords in the words of further programs, in their settings, and in what is piped into them.

use super::commands::{beside_account, chosen};
use super::{Format, any, mixed, password};

const COMMAND: &str = "command-password";
const SETTING: &str = "setting-password";
const PIPED: &str = "piped-password";

/// Kind, hints, expression, and whether a match counts.
pub(super) const PROGRAMS: &[Format] = &[
    (
        COMMAND,
        &["-p"],
        r#"\s(?:-u|-U|--user|--username)[\s=]{1,4}["']?[^\s"'\\-][^\s"'\\]{0,100}["']?\s{1,4}(?:-p|-P|--pass)\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        account,
    ),
    (
        COMMAND,
        &["7z", "rar"],
        r#"\b(?:7z[ar]?|rar|unrar)\s[^\n;|&\\]{0,100}?\s-p["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        chosen,
    ),
    (COMMAND, &["/p:"], r#"\s/p:["']?([^\s"'\\$<%][^\s"'\\]{5,200})"#, |text| {
        chosen(text) || beside_account(text) && !text.contains('=')
    }),
    (
        COMMAND,
        &["net use", "net user"],
        r#"\bnet\s{1,4}use\s[^\n]{0,120}?\\\\[^\s]{1,100}\s{1,4}["']?([^\s"'/*][^\s"']{5,100})"#,
        chosen,
    ),
    (COMMAND, &["net user"], r#"\bnet\s{1,4}user\s{1,4}[^\s/]{1,60}\s{1,4}["']?([^\s"'/*][^\s"']{5,100})"#, chosen),
    (
        COMMAND,
        &["rabbitmqctl"],
        r#"\brabbitmqctl\s{1,4}(?:add_user|change_password)\s{1,4}\S{1,60}\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (
        COMMAND,
        &["http-basic"],
        r#"\bhttp-basic\.[^\s]{1,100}\s{1,4}[^\s]{1,100}\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (
        COMMAND,
        &["useradd", "usermod"],
        r#"\b(?:useradd|usermod)\s[^\n;|&\\]{0,100}?-p\s{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        chosen,
    ),
    (
        COMMAND,
        &["ssh-keygen"],
        r#"\bssh-keygen\s[^\n;|&\\]{0,200}?-[NP]\s{1,4}["']([^\s"'\\$][^"'\\\n]{5,200})["']"#,
        password,
    ),
    (COMMAND, &["--passphrase"], r#"--passphrase[\s=]{1,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#, password),
    (COMMAND, &["-Dsonar"], r#"-Dsonar\.(?:login|token)=([^\s"'\\$<]{16,200})"#, mixed),
    (
        COMMAND,
        &[" login", " auth"],
        r#"\b(?:vault|cargo|gh|glab|npm|flyctl|heroku|doctl)\s{1,4}(?:auth\s{1,4})?login\s{1,4}(?:--?(?:token|with-token)[\s=]{1,4})?["']?([A-Za-z0-9._-]{16,200})"#,
        mixed,
    ),
    (
        "secure-string",
        &["ConvertTo-SecureString"],
        r#"(?i)ConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?["']([^"'$\n][^"'\n]{5,200})["']"#,
        password,
    ),
    // What a command reads from its standard input.
    (
        PIPED,
        &[
            "--password-stdin",
            "chpasswd",
            "cryptsetup",
            "passphrase-fd",
            "kinit",
            "smbpasswd",
            "secret create",
            "secret put",
        ],
        r#"\b(?:echo|printf)\s{1,4}(?:-n\s{1,4}|'%s'\s{1,4})?["']?(?:[a-z_][a-z0-9_-]{0,40}:)?([^\s"'\\$<|-][^"'\\|\n]{4,200}?)["']?\s{0,4}\|[^\n]{0,60}?(?:--password-stdin|chpasswd|cryptsetup|passphrase-fd|kinit|smbpasswd|secret create|secret put)"#,
        password,
    ),
    (
        PIPED,
        &["<<<"],
        r#"\b(?:kinit|passwd|cryptsetup|sudo\s{1,4}-S|gpg|login|chpasswd|vault|su)\b[^\n|;&]{0,80}?<<<\s{0,4}["']?([^\s"'\\$<-][^\s"'\\]{5,200})"#,
        password,
    ),
    (
        PIPED,
        &["send"],
        r#"(?i)(?:password|passphrase|token|secret|key)[^\n]{0,40}\n\s{0,8}(?:exp_)?send\s{1,4}(?:--\s{1,4})?["']([^"'$\n\\]{6,200}?)\\{1,2}[rn]["']"#,
        password,
    ),
    // Settings of one word and a value.
    (
        SETTING,
        &["bindpw", "rootpw", "rootbindpw", "auth_pass"],
        r#"(?m)(?:^|\\n|\t)\s{0,8}(?:bindpw|rootpw|rootbindpw|auth_pass)\s{1,8}(?:--[a-z]+\s{1,4})?["']?([^\s"'\\{$<-][^\s"'\\{$<]{5,200})"#,
        password,
    ),
    (SETTING, &["insecure-password"], r#"\binsecure-password\s{1,4}([^\s"'<]{6,100})"#, password),
    (SETTING, &["snmp-server"], r#"\bsnmp-server\s{1,4}community\s{1,4}([^\s"'<]{6,100})"#, chosen),
    (
        SETTING,
        &["secret", "password"],
        r#"(?m)^\s{0,8}(?:enable|username\s{1,4}\S{1,60}(?:\s{1,4}privilege\s{1,4}[0-9]{1,2})?)\s{1,4}(?:secret|password)\s{1,4}[0-9]\s{1,4}(\S{6,200})"#,
        any,
    ),
    (
        SETTING,
        &["variable"],
        r#"\bvariable\s{1,4}"[^"\n]{0,60}(?:password|passwd|secret|token|api_key|passphrase)[^"\n]{0,20}"\s{0,4}\{[^{}]{0,300}?\bdefault\s{0,20}=\s{0,4}"([^"$\n]{6,200})""#,
        chosen,
    ),
    // An account with its password, as people write them down.
    (
        "told-password",
        &["login", "user", "account"],
        r#"(?i)\b(?:login|user(?:name)?|account)\s{0,2}[:=]\s{0,4}[^\s/"']{1,80}\s{1,4}/\s{1,4}([^\s"',;<>]{6,100})"#,
        beside_account,
    ),
    (
        "told-password",
        &["basic"],
        r#"(?im)\bbasic(?:_?auth)?:\s{1,4}["']?[A-Za-z0-9_.@-]{1,80}:([^\s"']{6,100})["']?$"#,
        chosen,
    ),
    // A line of `/etc/shadow` or of a file of `htpasswd`.
    (
        "password-hash",
        &[":$", ":{"],
        r#"(?m)(?:^|\\n|\t)[A-Za-z_][A-Za-z0-9_.-]{0,40}:(\$(?:apr1|1|5|6|y|2[aby]|argon2id?)\$[^\s:"'\\]{12,200}|\{S?SHA(?:256|512)?\}[A-Za-z0-9+/=]{20,200})"#,
        any,
    ),
    ("mail-password", &["AUTH PLAIN"], r#"\bAUTH PLAIN\s{1,4}([A-Za-z0-9+/=]{12,200})"#, password),
    (
        "mail-password",
        &["PASS "],
        r#"(?i)\buser\s{1,4}\S{1,80}\s[^\n]{0,40}\n?(?:[0-9]{3}[^\n]*\n)?\s{0,4}PASS\s{1,4}([^\s"'`]{6,100})"#,
        beside_account,
    ),
    (
        "cookie",
        &["curl"],
        r#"\bcurl\b[^\n]{0,200}?\s(?:-b|--cookie)\s{1,4}["']?[^"'\n]{0,80}?\b[a-z_.-]{0,20}(?:session(?:_?id|_token)?|sid|token)=([A-Za-z0-9%._~+/=-]{16,400})"#,
        mixed,
    ),
    (
        "call-password",
        &["getConnection"],
        r#"\bgetConnection\(\s{0,8}["'][^"'\n]{1,200}["'],\s{0,4}["'][^"'\n]{1,80}["'],\s{0,4}["']([^"'\s\\]{6,100})["']"#,
        chosen,
    ),
    // What follows a command as a document.
    (
        PIPED,
        &["<<"],
        r#"(?:\b(?:chpasswd|password-stdin|with-token|passwd|sudo\s{1,4}-S|kinit|cryptsetup|smbpasswd|passphrase-fd|secret\s{1,4}(?:create|set))\b|(?:>|\btee\s)\s{0,4}[^\s<>|;]{0,80}(?:password|passwd|secret|token|api_?key|credential)[^\s<>|;]{0,40})[^\n]{0,80}?<<-?\s{0,4}["'\\]?[A-Za-z_]{1,20}["']?[^\n]{0,40}\n\s{0,20}(?:[A-Za-z_][A-Za-z0-9_-]{0,40}:)?([^\s"'$<=:]{6,200})"#,
        password,
    ),
    (
        PIPED,
        &["echo", "printf"],
        r#"\b(?:echo|printf)\s{1,4}(?:-n\s{1,4}|'%s'\s{1,4})?["']?([^\s"'\\$<|-][^\s"'\\|]{5,200}?)["']?\s{0,4}(?:>|\|\s{0,4}(?:sudo\s{1,4})?tee)\s{0,4}[^\s<>|;]{0,80}(?:password|passwd|passphrase|secret|token|api_?key)[^\s<>|;/]{0,20}(?:\s|$)"#,
        password,
    ),
    (
        COMMAND,
        &["--from-literal"],
        r#"--from-literal[=\s]["']?[A-Za-z0-9_.-]{1,80}=["']?([^\s"'\\$<][^\s"'\\]{3,400})"#,
        password,
    ),
    (
        COMMAND,
        &["sqlplus", "sqlldr", "expdp", "impdp", "rman", "exp ", "imp ", "sqlcl"],
        r#"\b(?:sqlplus|sqlldr|expdp|impdp|rman|exp|imp|sqlcl)\b[^\n;|&\\]{0,80}?\s["']?(?:userid=|target\s{1,4})?["']?[A-Za-z][A-Za-z0-9_$#]{0,40}/["']?([^\s/@"'\\$<][^\s/@"'\\]{2,100})["']?(?:@|\s|$)"#,
        password,
    ),
    // A line of a file of cookies: domain, whether its parts count, path, whether it is secure, time, name and value.
    (
        "cookie",
        &["TRUE\t", "FALSE\t"],
        r"(?m)^(?:#HttpOnly_)?[^\s\t]{1,200}\t(?:TRUE|FALSE)\t/[^\t\n]{0,200}\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,200}\t([^\t\r\n]{4,4000})\r?$",
        any,
    ),
    ("azure-signature", &["sig="], r"[?&]sig=([A-Za-z0-9+/%]{24,}={0,2})", mixed),
];

/// A password behind the name of an account: no port, path or number.
fn account(text: &str) -> bool {
    (chosen(text) || beside_account(text)) && !text.contains(['/', ':', '=', '.', ','])
}
