//! What is read of the messages of language servers (LSP 3.17). Everything else in them is ignored.

use serde::Deserialize;
use serde_json::Value;

/// Parameters of `textDocument/publishDiagnostics`.
#[derive(Deserialize)]
pub(crate) struct PublishedDiagnostics {
    pub(crate) uri: String,
    /// The version of the document that they are about.
    pub(crate) version: Option<i32>,
    pub(crate) diagnostics: Vec<LspDiagnostic>,
}

/// A finding in a file.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct LspDiagnostic {
    pub(crate) range: LspRange,
    /// 1 is an error, 2 a warning, 3 information, 4 a hint. Without one, an error.
    pub(crate) severity: Option<u32>,
    /// A number or a text.
    pub(crate) code: Option<Value>,
    pub(crate) message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct LspRange {
    pub(crate) start: LspPosition,
}

/// A place in a file. Both numbers count from 0, characters in UTF-16.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct LspPosition {
    pub(crate) line: u32,
    pub(crate) character: u32,
}

/// Answer to `textDocument/hover`.
#[derive(Deserialize)]
pub(crate) struct Hover {
    contents: HoverContents,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HoverContents {
    One(MarkedText),
    All(Vec<MarkedText>),
}

/// A text, or one with its language or kind.
#[derive(Deserialize)]
#[serde(untagged)]
enum MarkedText {
    Plain(String),
    Marked { value: String },
}

impl Hover {
    /// All texts, with an empty line between them.
    pub(crate) fn text(self) -> String {
        let text = |one| match one {
            MarkedText::Plain(text) | MarkedText::Marked { value: text } => text,
        };
        match self.contents {
            HoverContents::One(one) => text(one),
            HoverContents::All(all) => all.into_iter().map(text).collect::<Vec<_>>().join("\n\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_form_of_a_hover_gives_its_text() -> Result<(), serde_json::Error> {
        for (contents, expected) in [
            (json!("a"), "a"),
            (json!({ "language": "rust", "value": "fn a()" }), "fn a()"),
            (json!({ "kind": "markdown", "value": "**a**" }), "**a**"),
            (json!(["a", { "language": "rust", "value": "b" }]), "a\n\nb"),
            (json!([]), ""),
        ] {
            let hover: Hover = serde_json::from_value(json!({ "contents": contents, "range": null }))?;
            assert_eq!(hover.text(), expected);
        }
        assert!(serde_json::from_value::<Hover>(json!({ "contents": 1 })).is_err());
        assert!(serde_json::from_value::<Option<Hover>>(json!(null))?.is_none());
        Ok(())
    }

    #[test]
    fn a_finding_needs_no_more_than_its_place_and_its_message() -> Result<(), serde_json::Error> {
        let place = json!({ "start": { "line": 1, "character": 2 }, "end": { "line": 1, "character": 3 } });
        let params = json!({ "uri": "file:///a", "version": null, "diagnostics": [
            { "range": place, "message": "m" },
            { "range": place, "message": "m", "severity": null, "code": null, "tags": [1], "source": "s" },
            { "range": place, "message": "m", "severity": 2, "code": 7, "codeDescription": { "href": "x" } },
        ] });
        let found: PublishedDiagnostics = serde_json::from_value(params)?;
        let codes: Vec<_> = found.diagnostics.iter().map(|one| (one.severity, one.code.clone())).collect();
        assert_eq!(codes, [(None, None), (None, None), (Some(2), Some(json!(7)))]);
        Ok(())
    }
}
