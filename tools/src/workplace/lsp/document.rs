//! Files as servers name them.

use std::path::{Path, PathBuf};

/// The address of a file.
pub(crate) fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The file of an address; `None` for other addresses.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = uri.strip_prefix("file://")?.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

/// The language of a file by its extension.
pub(crate) fn language(path: &Path) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "py" | "pyi" => "python",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "h" => "c",
        "cc" | "cxx" | "hpp" | "hh" | "hxx" => "cpp",
        "rs" => "rust",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_file_again() {
        let file = Path::new("/tmp/a b/ü%#.py");
        assert_eq!(uri(file), "file:///tmp/a%20b/%C3%BC%25%23.py");
        assert_eq!(path(&uri(file)).as_deref(), Some(file));
        assert_eq!(path("untitled:1"), None);
    }
}
