//! Words for passwords and keys in many languages.

use crate::redaction::words::has_word;

/// Words of which every name of a secret contains one, in lower case.
pub(in crate::redaction) const HINTS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "credential",
    "creds",
    "auth",
    "_pat",
    "psk",
    "kennwort",
    "contrase",
    "salt",
    "_pw",
    "rootpw",
    "adminpw",
    "userpw",
    "dbpw",
    "mdp",
    "mot de passe",
    "senha",
    "wachtwoord",
    "hasło",
    "haslo",
    "lösenord",
    "losenord",
    "parola",
    "heslo",
    "jelszó",
    "salasana",
    "şifre",
    "Şifre",
    "ŞİFRE",
    "HASŁO",
    "LÖSENORD",
    "SCHLÜSSEL",
    "CLÉ ",
    "КЛЮЧ",
    "sifre",
    "adgangskode",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "пароля",
    "паролем",
    "парол",
    "Парол",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "κωδικός",
    "Κωδικός",
    "συνθηματικό",
    "סיסמה",
    "geheimnis",
    "токен",
    "Токен",
    "令牌",
    "密钥",
    "lozinka",
    "kodeord",
    "kata sandi",
    "mật khẩu",
    "รหัสผ่าน",
    "كلمة المرور",
    "كلمة السر",
    "पासवर्ड",
    "schlüssel",
    "schluessel",
    "clé ",
    "clave",
    "chiave",
    "chave",
    "klucz",
    "ключ",
    "Ключ",
    "sleutel",
    "nyckel",
    "暗証番号",
    "パスフレーズ",
    "암호",
    "geslo",
    "parool",
    "contrasinal",
];

/// How words for password begin to which languages add endings.
const STEMS: &str = "KENNWORT PASSWORT WACHTWOORD HASŁ LÖSENORD LOSENORD ПАРОЛ HESL JELSZ SALASANA ŞIFRE ADGANGSKODE PASSORD LOZINK \
    CONTRASEÑA PAROLĂ GESL";

/// Words for key, in small letters.
const KEYS: &str = "токен токена schlüssel schluessel clé clés clave claves chiave chave llave klucz klucza ключ ключа sleutel nyckel nøgle nøkkel";

/// Words that make such a key a secret one, in small letters.
const SECRET_KINDS: &str = "api geheimer geheime geheimen privater privaten privé privée secrète secreta secreto segreta privada \
    privata acceso acesso accesso accès access tajny tajnego prywatny dostępu секретный секретного приватный закрытый доступа hemlig \
    hemmelig geheim wlan wifi";

/// Words between a key and its kind: `clave de acceso`.
const LINKS: [&str; 8] = ["de ", "d'", "di ", "del ", "do ", "da ", "dla ", "d’"];

/// Whether a word is one for password with an ending.
pub(super) fn is_password(word: &str) -> bool {
    let ended = |stem: &str| word.strip_prefix(stem).is_some_and(|ending| ending.chars().count() <= 4);
    STEMS.split_ascii_whitespace().any(ended)
}

/// Whether a name of several words is that of a secret key: `API-Schlüssel`, `clé secrète`.
pub(super) fn is_key(name: &str) -> bool {
    let small = name.to_lowercase();
    let words = || small.split([' ', '-', '_', '\'']);
    let joined = ["geheimschlüssel", "zugriffsschlüssel", "zugangsschlüssel", "wlan-schlüssel", "netzwerkschlüssel"];
    joined.iter().any(|end| small.ends_with(end))
        || words().any(|word| has_word(KEYS, word)) && words().any(|word| has_word(SECRET_KINDS, word))
}

/// How many bytes before and behind a word belong to the name of a secret key of which it is a part; `None` of any other word.
pub(super) fn key_around(before: &str, word: &str, rest: &str) -> Option<(usize, usize)> {
    let small = word.to_lowercase();
    let wanted = match (has_word(KEYS, &small), has_word(SECRET_KINDS, &small)) {
        (true, _) => SECRET_KINDS,
        (_, true) => KEYS,
        _ => return None,
    };
    let letters = |text: &mut dyn Iterator<Item = char>| {
        text.take(24).take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum::<usize>()
    };
    if let Some(left) = before.strip_suffix(' ') {
        let length = letters(&mut left.chars().rev());
        let word = left.get(left.len() - length..).unwrap_or_default();
        if has_word(wanted, &word.to_lowercase()) {
            return Some((length + 1, 0));
        }
    }
    let right = rest.strip_prefix(' ')?;
    let link = LINKS.iter().find(|link| right.starts_with(**link)).map_or(0, |link| link.len());
    let length = letters(&mut right.get(link..)?.chars());
    has_word(wanted, &right.get(link..link + length)?.to_lowercase()).then_some((0, 1 + link + length))
}
