//! Names and values.

use super::Seeded;

pub const HEX: &str = "0123456789abcdef";
pub const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
pub const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const WORDS: [&str; 24] = [
    "river", "Copper", "lantern", "Falcon", "meadow", "Orbit", "pepper", "Quartz", "saddle", "Timber", "violet",
    "Walnut", "anchor", "Bramble", "cinder", "Dragon", "ember", "Glacier", "harbor", "Island", "jungle", "Kettle",
    "maple", "Nectar",
];

/// Words of a name, without a style.
pub fn name(seeded: &mut Seeded, of: &[&str]) -> Vec<String> {
    let before = [
        "", "", "db", "stripe", "mail", "admin", "internal", "billing", "prod", "github", "app", "my", "search",
        "upstream", "legacy", "s3",
    ];
    let noun = seeded.one(of);
    let words = [seeded.one(&before), noun].join(" ");
    words.split_whitespace().map(str::to_owned).collect()
}

/// What a name of a password ends with.
pub const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "password", "pwd"];

/// What a name of a key that a program made ends with.
pub const KEYS: [&str; 16] = [
    "secret",
    "token",
    "api key",
    "apikey",
    "access key",
    "client secret",
    "auth token",
    "signing key",
    "encryption key",
    "webhook secret",
    "session secret",
    "access token",
    "refresh token",
    "credential",
    "private key",
    "secret key",
];

/// A name in one of the styles that people write.
pub fn styled(words: &[String], style: &str) -> String {
    let capital = |word: &String| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    match style {
        "snake" => words.join("_"),
        "screaming" => words.join("_").to_uppercase(),
        "kebab" => words.join("-"),
        "dotted" => words.join("."),
        "pascal" => words.iter().map(capital).collect(),
        _ => words.iter().enumerate().map(|(at, word)| if at == 0 { word.clone() } else { capital(word) }).collect(),
    }
}

/// What people choose.
pub fn password(seeded: &mut Seeded) -> String {
    match seeded.below(6) {
        0 => format!("{}{}{}", seeded.one(&WORDS), seeded.below(9000) + 1000, seeded.one(&["!", "#", "?", "%"])),
        1 => format!(
            "{}-{}-{}",
            seeded.one(&WORDS).to_lowercase(),
            seeded.one(&WORDS).to_lowercase(),
            seeded.one(&WORDS).to_lowercase()
        ),
        2 => format!("{}{}", seeded.text(ALNUM, 9), seeded.below(90) + 10),
        3 => format!("{}{}{}", seeded.text(ALNUM, 5), seeded.one(&["!", "^", "*", "+"]), seeded.text(ALNUM, 6)),
        4 => format!("{}{}{}", seeded.one(&WORDS), seeded.one(&["_", ".", "-"]), seeded.below(9000) + 1000),
        _ => format!("{}{}", seeded.text(LOWER, 11), seeded.below(90) + 10),
    }
}

/// What a program makes.
pub fn key(seeded: &mut Seeded) -> String {
    match seeded.below(8) {
        0 => seeded.text(HEX, 32),
        1 => seeded.text(HEX, 40),
        2 => seeded.text(HEX, 64),
        3 => format!("{}=", seeded.text(BASE64, 43)),
        4 => format!("{}==", seeded.text(BASE64, 86)),
        5 => seeded.text(BASE64_URL, 43),
        6 => seeded.text(ALNUM, 24),
        _ => uuid(seeded),
    }
}

pub fn uuid(seeded: &mut Seeded) -> String {
    [8, 4, 4, 4, 12].map(|length| seeded.text(HEX, length)).join("-")
}

/// A key that its issuer marked, with the name of the form.
pub fn issued(seeded: &mut Seeded) -> (&'static str, String) {
    let mut text = |alphabet: &str, length| seeded.text(alphabet, length);
    let all: Vec<(&'static str, String)> = vec![
        ("aws", format!("AKIA{}", text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))),
        ("github", format!("ghp_{}", text(ALNUM, 36))),
        ("github", format!("github_pat_{}_{}", text(ALNUM, 22), text(ALNUM, 59))),
        ("gitlab", format!("glpat-{}", text(BASE64_URL, 20))),
        ("slack", format!("xoxb-{}-{}-{}", text("123456789", 12), text("123456789", 13), text(ALNUM, 24))),
        (
            "slack",
            format!("https://hooks.slack.com/services/T{}/B{}/{}", text(UPPER, 10), text(UPPER, 10), text(ALNUM, 24)),
        ),
        ("stripe", format!("sk_live_{}", text(ALNUM, 24))),
        ("stripe", format!("whsec_{}", text(ALNUM, 32))),
        ("openai", format!("sk-proj-{}T3BlbkFJ{}", text(ALNUM, 40), text(ALNUM, 40))),
        ("anthropic", format!("sk-ant-api03-{}-{}AA", text(BASE64_URL, 86), text(ALNUM, 6))),
        ("google", format!("AIza{}", text(BASE64_URL, 35))),
        ("google", format!("GOCSPX-{}", text(BASE64_URL, 28))),
        ("google", format!("ya29.{}", text(BASE64_URL, 120))),
        ("npm", format!("npm_{}", text(ALNUM, 36))),
        ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", text(BASE64_URL, 120))),
        ("huggingface", format!("hf_{}", text(ALNUM, 34))),
        ("docker", format!("dckr_pat_{}", text(BASE64_URL, 27))),
        ("sendgrid", format!("SG.{}.{}", text(BASE64_URL, 22), text(BASE64_URL, 43))),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", text(BASE64_URL, 60), text(BASE64_URL, 43))),
        ("digitalocean", format!("dop_v1_{}", text(HEX, 64))),
        ("vault", format!("hvs.{}", text(BASE64_URL, 90))),
        ("telegram", format!("{}:AA{}", text("123456789", 10), text(BASE64_URL, 33))),
        ("azure ad", format!("{}8Q~{}", text(ALNUM, 3), text(BASE64_URL, 34))),
        ("age", format!("AGE-SECRET-KEY-1{}", text(UPPER, 58))),
    ];
    let at = seeded.below(all.len());
    all.into_iter().nth(at).unwrap_or_default()
}
