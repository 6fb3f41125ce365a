//! Messages of a rollout: the author of each piece of content.

use super::super::foreign::JsonObject;
use annals_core::event::Attachment;

/// The author of a piece of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// The user's words.
    Input,
    /// Context that Codex sends to the model, with its name, such as `agents_md.instructions`.
    Context(String),
    /// Text that Codex writes in the user's name.
    Synthetic,
    /// The model's words.
    Answer,
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePiece {
    /// Its author.
    pub kind: PieceKind,
    /// Its text.
    pub text: String,
    /// Its image.
    pub attachment: Option<Attachment>,
}

/// Prefixes of context in versions that do not name its kind.
const STARTS: [(&str, &str); 7] = [
    ("# AGENTS.md instructions", "agents_md.instructions"),
    ("<user_instructions>", "agents_md.instructions"),
    ("<environment_context>", "environments.environment_context"),
    ("<permissions instructions>", "permissions.instructions"),
    ("<skills_instructions>", "host_skills.instructions"),
    ("<collaboration_mode>", "collaboration_mode.instructions"),
    ("<personality_spec>", "personality.instructions"),
];

/// Prefixes of texts that Codex writes in the user's name.
const SYNTHETIC: [&str; 4] = ["<turn_aborted>", "<user_shell_command>", "<subagent_notification>", "<skill>"];

/// The pieces of a message.
pub fn items(payload: &JsonObject<'_>) -> Vec<MessagePiece> {
    let role = payload.text("role").unwrap_or_default();
    let passed = payload.object("internal_chat_message_metadata_passthrough");
    let kinds = passed.as_ref().map(|passed| passed.texts("content_item_kinds")).unwrap_or_default();
    passed.iter().for_each(JsonObject::skip_all);
    let mut found = Vec::new();
    for (at, item) in payload.objects("content").into_iter().enumerate() {
        item.skip(&["annotations", "logprobs", "detail"]);
        let form = item.text("type").unwrap_or_default();
        let text = item.text("text").unwrap_or_default();
        let attachment = item.text("image_url").map(|uri| Attachment {
            mime: mime(&uri).unwrap_or_else(|| "image/*".into()),
            name: None,
            uri: uri.into(),
        });
        if is_image_tag(&text) {
            continue;
        }
        if text.is_empty() && attachment.is_none() && !form.contains("text") {
            item.skip_all();
            item.note(&form);
            continue;
        }
        let kind = kind(&role, kinds.get(at).map(String::as_str), &text);
        found.push(MessagePiece { kind, text, attachment });
    }
    found
}

/// Whether a text is a tag that Codex puts around an image: the image itself is an attachment.
fn is_image_tag(text: &str) -> bool {
    let tag = text.trim();
    tag == "</image>"
        || tag == "<image>"
        || tag.starts_with("<image name=") && tag.ends_with('>') && !tag.contains('\n')
}

fn kind(role: &str, named: Option<&str>, text: &str) -> PieceKind {
    let begins = |start: &&str| text.trim_start().starts_with(start);
    let context = STARTS.iter().find(|(start, _)| begins(start)).map(|(_, name)| (*name).to_owned());
    match (role, named) {
        ("assistant", _) => PieceKind::Answer,
        (_, Some(named)) if named.starts_with("user.") => PieceKind::Input,
        _ if SYNTHETIC.iter().any(begins) => PieceKind::Synthetic,
        (_, Some(named)) if named != "unknown" => PieceKind::Context(named.to_owned()),
        ("user", _) => context.map_or(PieceKind::Input, PieceKind::Context),
        _ => PieceKind::Context(context.unwrap_or_else(|| format!("{role}.instructions"))),
    }
}

fn mime(uri: &str) -> Option<String> {
    Some(uri.strip_prefix("data:")?.split([';', ',']).next()?.to_owned())
}
