//! Names as providers take them. A log may hold others: an imported agent's, another provider's, a model's invention.

use annals_core::Digest;
use std::borrow::Cow;

/// The longest id and name that all protocols take.
const LONGEST: usize = 64;

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The id of a call: itself if providers take it, otherwise `call_` and the first 32 digits of its BLAKE3.
pub(super) fn call(id: &str) -> Cow<'_, str> {
    if is_plain(id) {
        return Cow::Borrowed(id);
    }
    let digest = Digest::of(id.as_bytes()).to_string();
    Cow::Owned(format!("call_{}", digest.get(..32).unwrap_or(&digest)))
}

/// The name of a tool in a call: itself if providers take it, otherwise with `_` for what they do not take, cut to 64.
pub(super) fn tool(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let named: String = name.chars().take(LONGEST).map(plain).collect();
    Cow::Owned(if named.is_empty() { "_".into() } else { named })
}

#[cfg(test)]
mod tests {
    use super::{call, tool};

    #[test]
    fn a_name_that_providers_take_stays_as_it_is() {
        assert_eq!(call("toolu_01-A"), "toolu_01-A");
        assert_eq!(tool("mcp_list-all"), "mcp_list-all");
    }

    #[test]
    fn another_name_is_replaced_the_same_way_every_time() {
        let replaced = call("functions.bash:0");
        assert_eq!(replaced, call("functions.bash:0"));
        assert!(replaced.starts_with("call_") && replaced.len() == 37, "{replaced}");
        assert_ne!(replaced, call("functions.bash:1"));
        assert_eq!(call(&"x".repeat(65)).len(), 37);
        assert_eq!(tool("read file/ä"), "read_file__");
        assert_eq!(tool(""), "_");
        assert_eq!(tool(&"ä".repeat(80)).len(), 64);
    }
}
