//! What an editor sends as a prompt, as an input.

use super::requests::{EmbeddedFile, PromptBlock};
use annals_core::event::Attachment;
use std::path::{Path, PathBuf};
use url::Url;

/// The text of a prompt and what comes with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadPrompt {
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

/// Reads the parts of a prompt. Files of the session's directory are named as its tools name them.
pub(super) fn read(blocks: Vec<PromptBlock>, directory: &Path) -> ReadPrompt {
    let mut prompt = ReadPrompt::default();
    for block in blocks {
        match block {
            PromptBlock::Text { text } => prompt.text.push_str(&text),
            PromptBlock::Image { data, mime } | PromptBlock::Audio { data, mime } => {
                let uri = format!("data:{mime};base64,{data}").into();
                prompt.attachments.push(Attachment { mime, name: None, uri });
            }
            PromptBlock::ResourceLink { name, uri } => match local(&uri) {
                Some(path) => prompt.mention(&path, directory),
                None => prompt.say(&format!("[{name}]({uri})")),
            },
            PromptBlock::Resource { resource } => prompt.embed(resource, directory),
        }
    }
    prompt
}

impl ReadPrompt {
    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Names a file, which is attached when the prompt is expanded.
    fn mention(&mut self, path: &Path, directory: &Path) {
        let name = path.strip_prefix(directory).unwrap_or(path).display().to_string();
        match name.contains(char::is_whitespace) {
            true => self.say(&format!("(the file {name})")),
            false => self.say(&format!("@{name}")),
        }
    }

    /// Attaches a content that the editor has, as it is there.
    fn embed(&mut self, resource: EmbeddedFile, directory: &Path) {
        let EmbeddedFile { uri, text, blob, mime } = resource;
        let path = local(&uri);
        let name = match &path {
            Some(path) => path.strip_prefix(directory).unwrap_or(path).display().to_string(),
            None => uri,
        };
        let (mime, data) = match (text, blob) {
            (Some(text), _) => ("text/plain".to_owned(), base64(text.as_bytes())),
            (None, Some(blob)) => (mime.unwrap_or_else(|| "application/octet-stream".into()), blob),
            (None, None) => return self.say(&name),
        };
        self.say(&name);
        let uri = format!("data:{mime};base64,{data}").into();
        self.attachments.push(Attachment { mime, name: Some(name), uri });
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The path of a file of this machine.
fn local(uri: &str) -> Option<PathBuf> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    url.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_prompt_become_its_text_and_attachments() {
        let blocks = serde_json::from_str(
            r#"[{"type": "text", "text": "see"}, {"type": "resource_link", "name": "a.rs", "uri": "file:///p/src/a.rs"},
                {"type": "resource_link", "name": "docs", "uri": "https://docs.rs"},
                {"type": "resource", "resource": {"uri": "file:///p/b.rs", "text": "fn b() {}"}},
                {"type": "image", "data": "AA==", "mimeType": "image/png"}]"#,
        );
        let prompt = read(blocks.unwrap_or_default(), Path::new("/p"));
        assert_eq!(prompt.text, "see @src/a.rs [docs](https://docs.rs) b.rs");
        let attached: Vec<_> = prompt.attachments.iter().map(|one| (one.mime.as_str(), one.name.as_deref())).collect();
        assert_eq!(attached, [("text/plain", Some("b.rs")), ("image/png", None)]);
    }
}
