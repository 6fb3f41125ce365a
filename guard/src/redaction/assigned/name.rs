//! What a name says about its value.

use super::languages;
use crate::redaction::words::{has_word, words};

/// What a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redaction) enum Class {
    /// A password that people choose: short, of words, of digits.
    Password,
    /// A secret or a key that a program made.
    Secret,
    /// A token without more words: in parsers and in themes, a piece of a text.
    Token,
    /// `PASS`, `KEY` and `AUTH` in names of which many hold none; the value must give itself away, too.
    Perhaps,
    /// The number of a key, hexadecimal.
    Number,
}

/// Words behind the one that counts which change nothing, apart from numbers.
const SUFFIXES: &str = "STRING PROD PRODUCTION DEV DEVELOPMENT DEVEL TEST TESTING STAGING STAGE QA UAT LOCAL LIVE SANDBOX OLD NEW \
    PRIMARY SECONDARY MAIN MASTER REPLICA SLAVE BASE BASE64 B64 VALUE DATA RAW BACKUP PLAIN PLAINTEXT TEXT CONFIRM CONFIRMATION \
    ENV DEFAULT INTERNAL EXTERNAL READONLY RO RW AES256";

/// Words of names whose tokens and keys are not secret.
const PUBLIC: &str = "MAX MIN NUM NEXT PAGE CONTINUATION CANCEL CANCELLATION PUBLIC PUBLISHABLE PRIMARY FOREIGN TOTAL COUNT EOS BOS \
    PAD UNK SEP STOP START INPUT OUTPUT IS HAS USE EOF CACHE SORT PARTITION UNIQUE HOT INDEX SHORTCUT ROW OBJECT GROUP PREV \
    PREVIOUS IDEMPOTENCY LAST FIRST CURRENT PEEK EXPECTED UNEXPECTED SYNC RESUME";

/// Words before `KEY` that make it a secret one.
const KEYS: &str = "PRESHARED API ACCESS SECRET PRIVATE ENCRYPTION SIGNING CLIENT MASTER AUTH ACCOUNT SHARED SERVICE LICENSE SSH APP \
    ADMIN STORAGE SUBSCRIPTION CIPHER HMAC JWT WEBHOOK SECURITY DEPLOY WRITE READ LIVE TEST CONSUMER DEVELOPER SESSION \
    APPLICATION SERVER DECRYPTION ROOT USER FUNCTIONS MACHINE INSTANCE INTEGRATION RECOVERY BACKUP UNSEAL JOIN TOKEN PASSWORD";

/// Words before `PASS` that make it a password.
const PASSES: &str = "DEFAULT BECOME SUDO WIFI ACCOUNT SERVICE KEYSTORE TRUSTSTORE BIND LDAP VPN APP BACKUP STORE MQTT DB USER SMTP \
    IMAP MAIL EMAIL MYSQL PG POSTGRES REDIS ADMIN ROOT FTP SFTP SSH DATABASE HTTP PROXY AUTH LOGIN REMOTE LOCAL NEW OLD MASTER SA DOMAIN MAILBOX WEB API SITE REPO GIT SVN SOCKS ZIP MY MONGO RABBITMQ AMQP SQL \
    ORACLE JDBC KEY SSL TLS CERT";

/// How names of passwords end.
const PASSWORDS: &str = "PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE PASSWORT KENNWORT PASSORT REQUIREPASS PWD PSK PASSWRD MOTDEPASSE MDP \
    CONTRASENA CONTRASEÑA CONTRASENYA SENHA WACHTWOORD HASŁO HASLO LÖSENORD LOSENORD PAROLA ПАРОЛЬ ПАРОЛЯ ПАРОЛЕМ ПАРОЛ 密码 密碼 \
    口令 パスワード 비밀번호 ΚΩΔΙΚΌΣ ΣΥΝΘΗΜΑΤΙΚΌ HESLO JELSZÓ SALASANA ŞIFRE SIFRE ADGANGSKODE PASSORD סיסמה \
    ROOTPW ADMINPW USERPW DBPW LOZINKA KODEORD SANDI KHẨU รหัสผ่าน المرور السر पासवर्ड 暗証番号 パスフレーズ 암호 GESLO PAROOL CONTRASINAL";

/// How names of secrets end.
const SECRETS: &str = "SECRET TOKEN CREDENTIAL CREDENTIALS CREDS GEHEIMNIS ТОКЕН 令牌 密钥";

/// What a name says that its value is; `None` if nothing.
pub(in crate::redaction) fn class(name: &str) -> Option<Class> {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [.., "PRIVATE", "KEY", "ID"] = words.as_slice() {
        return Some(Class::Number);
    }
    if let [.., "MOT", "DE", "PASSE"] | [.., "PALAVRA", "PASSE"] | [.., "PAROLA", "D'ORDINE" | "CHIAVE"] =
        words.as_slice()
    {
        return Some(Class::Password);
    }
    // The name of a library.
    if words.first().is_some_and(|first| first.starts_with("LIBSECRET")) {
        return None;
    }
    let is_number = |word: &str| word.trim_start_matches('V').bytes().all(|byte| byte.is_ascii_digit());
    let behind = words.iter().rev().take_while(|word| has_word(SUFFIXES, word) || is_number(word)).count();
    // `password_for_backups`, `TOKEN_FOR_CI`.
    let aim = words.iter().position(|word| *word == "FOR").filter(|at| *at > 0);
    let (last, before) = words.get(..aim.unwrap_or(words.len() - behind))?.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let prior = before.last().copied().unwrap_or_default();
    let ends = |ends: &str| ends.split_ascii_whitespace().any(|end| last.ends_with(end));
    if ends(PASSWORDS) || languages::is_password(last) {
        return Some(Class::Password);
    }
    // `next_token`, `cache_key`; a secret or a password is none of these.
    let is_public = |word: &&str| {
        has_word(PUBLIC, word)
            && (*word != "NEXT" || before.len() == 1)
            && (!matches!(*word, "INPUT" | "OUTPUT") || last == "TOKEN")
    };
    if !(last == "SECRET" && prior != "PUBLIC") && last != "PASS" && before.iter().rev().take(2).any(is_public) {
        return None;
    }
    let variable = !name.chars().any(char::is_lowercase);
    // `dbpass`, `smtpPass`.
    match (last, last.strip_suffix("PASS"), last.strip_suffix("KEY")) {
        _ if last == "TOKEN" && before.is_empty() && !variable => Some(Class::Token),
        _ if ends(SECRETS) => Some(Class::Secret),
        (_, Some(""), _) if has_word(PASSES, prior) => Some(Class::Password),
        (_, Some(joined), _) if has_word(PASSES, joined) => Some(Class::Password),
        (_, Some(""), _) if before.is_empty() && !matches!(name, "pass" | "Pass") => None,
        (_, _, Some("")) if has_word(KEYS, prior) => Some(Class::Secret),
        (_, _, Some(joined)) if has_word(KEYS, joined) => Some(Class::Secret),
        // The key of a publisher that images name: public.
        (_, _, Some("")) if prior == "GPG" => None,
        // Names of variables: `RAILS_KEY`, but not `keyName.key`.
        (_, _, Some("")) if !before.is_empty() && variable => Some(Class::Perhaps),
        ("PW", ..) if !before.is_empty() => Some(Class::Password),
        ("PASS" | "PAT" | "SALT" | "AUTHORIZATION", ..) => Some(Class::Perhaps),
        ("AUTH", ..) if before.is_empty() || variable => Some(Class::Perhaps),
        _ if languages::is_key(name) => Some(Class::Secret),
        _ => of_a_variable(&words, variable),
    }
}

/// Whether a word, in capitals, is one for password in some language.
pub(super) fn is_password_word(word: &str) -> bool {
    has_word(PASSWORDS, word) || languages::is_password(word)
}

/// `PASSWORD_POSTGRES`, `TOKEN_GITHUB`: whose it is follows.
fn of_a_variable(words: &[&str], variable: bool) -> Option<Class> {
    let [first, .., last] = words else { return None };
    let about = "FILE PATH DIR FOLDER NAME NAMES URL URI HOST PORT TYPE KIND LENGTH LEN SIZE MINIMUM MAXIMUM RESET HASH HASHERS HASHED \
        HASHER ALGORITHM POLICY TIMEOUT EXPIRY EXPIRES TTL ENABLED REQUIRED LIMIT COUNT ID IDS REGEX PATTERN FIELD HEADER PREFIX \
        SUFFIX COMMAND CMD ENDPOINT ISSUER AUDIENCE SCOPE REF ARN VERSION STORE PROVIDER MANAGER ROTATION DAYS HOURS SECONDS";
    let own = |word: &&str| has_word("PASSWORD PASSWD PASSPHRASE TOKEN", word);
    (variable
        && own(first)
        && !words.iter().any(|word| has_word(about, word) || has_word(PUBLIC, word))
        && first != last)
        .then_some(Class::Perhaps)
}
