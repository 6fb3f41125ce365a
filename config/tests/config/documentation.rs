//! The keys as a reader finds them.

use super::*;

/// The rows of some keys, below a path, for docs/configuration.md.
fn rows(keys: &[ConfigKey], below: &str) -> String {
    let row = |key: &ConfigKey| {
        let (shape, inner) = match key.kind {
            ValueKind::Table(inner) => ("", Some((inner, format!("{below}{}.", key.name)))),
            ValueKind::Each(inner) => ("", Some((inner, format!("{below}{}.NAME.", key.name)))),
            ValueKind::Text => ("text", None),
            ValueKind::Flag => ("true, false", None),
            ValueKind::Count => ("number", None),
            ValueKind::Word(words) => {
                return format!("| `{below}{}` | {} | {} |\n", key.name, words.join(", "), key.about);
            }
            ValueKind::Price => ("dollars", None),
            ValueKind::Texts => ("list", None),
            ValueKind::Added => ("list, added to", None),
            ValueKind::Rules => ("rules, added to", None),
            ValueKind::Named => ("table of texts", None),
            ValueKind::Counts => ("table of numbers", None),
            ValueKind::Free => ("table", None),
        };
        match inner {
            Some((inner, below)) => rows(inner, &below),
            None => format!("| `{below}{}` | {shape} | {} |\n", key.name, key.about),
        }
    };
    keys.iter().map(row).collect()
}

#[test]
fn the_documentation_lists_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let text = fs::read_to_string(&path).expect("the documentation");
    let (before, rest) = text.split_once("<!-- keys -->\n").expect("the table's beginning");
    let (_, after) = rest.split_once("<!-- /keys -->").expect("the table's end");
    let table = rows(KEYS, "");
    let now =
        format!("{before}<!-- keys -->\n| Key | Value | Purpose |\n| --- | --- | --- |\n{table}<!-- /keys -->{after}");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, &now).expect("the documentation");
    }
    assert!(text == now || std::env::var_os("UPDATE_README").is_some(), "UPDATE_README=1 writes the table anew");
}
