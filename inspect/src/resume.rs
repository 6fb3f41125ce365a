//! The command that continues a session: that of the agent which recorded it, or ours.

use annals_core::SessionId;
use annals_core::event::Origin;

/// The agent's own command for an imported session; `None` for a sub-agent, and for an agent that has none.
pub fn command(origin: &Origin) -> Option<String> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    // Part of a shell command: anything else could be more than a word of it.
    if origin.id.is_empty() || origin.id.starts_with('-') || !origin.id.chars().all(is_id) {
        return None;
    }
    let id = &origin.id;
    match origin.agent.as_str() {
        "claude-code" => Some(format!("claude --resume {id}")),
        "codex" => Some(format!("codex resume {id}")),
        program @ ("opencode" | "kilo") => Some(format!("{program} -s {id}")),
        _ => None,
    }
}

/// The command of this program that continues a session of its own.
pub fn own(session: SessionId) -> String {
    format!("annals chat -s {session}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(agent: &str, id: &str) -> Origin {
        let (agent, id) = (agent.into(), id.into());
        Origin { agent, version: None, id, form: String::new(), importer: 1 }
    }

    #[test]
    fn an_id_that_is_no_single_word_of_a_shell_gives_no_command() {
        assert_eq!(command(&origin("claude-code", "4ba0-9f")).as_deref(), Some("claude --resume 4ba0-9f"));
        assert_eq!(command(&origin("codex", "0199")).as_deref(), Some("codex resume 0199"));
        assert_eq!(command(&origin("opencode", "ses_1")).as_deref(), Some("opencode -s ses_1"));
        assert_eq!(command(&origin("kilo", "ses_1")).as_deref(), Some("kilo -s ses_1"));
        for id in ["", "a b", "$(touch x)", "a/b", "--help", "a;b"] {
            assert_eq!(command(&origin("codex", id)), None, "{id:?}");
        }
    }
}
