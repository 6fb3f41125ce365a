//! Text inside the tagged blocks that a model reads.

/// A text with `&`, `<` and `>` escaped, so that it cannot end the element around it.
///
/// ```
/// assert_eq!(annals_runtime::context::escaped("a < b & c"), "a &lt; b &amp; c");
/// ```
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An element per line, indented by four spaces, inside `<name>` at two.
pub(super) fn item(name: &str, fields: &[(&str, &str)]) -> String {
    let mut lines = vec![format!("  <{name}>")];
    lines.extend(fields.iter().map(|(field, text)| format!("    <{field}>{}</{field}>", escaped(text))));
    lines.push(format!("  </{name}>"));
    lines.join("\n")
}
