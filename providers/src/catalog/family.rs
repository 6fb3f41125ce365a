//! The agent system text that suits a model: families of models are used to different ones.

/// Models that get the same system text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Claude.
    Anthropic,
    /// GPT-5 and its successors, and models named for coding.
    Codex,
    /// Other models of OpenAI.
    Gpt,
    /// Gemini.
    Gemini,
    /// All others, small local ones included.
    Other,
}

impl ModelFamily {
    /// The family of a model, by the name that its provider knows it by.
    ///
    /// ```
    /// use annals_providers::catalog::ModelFamily;
    /// assert_eq!(ModelFamily::of("anthropic/claude-sonnet-5"), ModelFamily::Anthropic);
    /// assert_eq!(ModelFamily::of("gpt-oss-20b"), ModelFamily::Other);
    /// ```
    pub fn of(id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let name = id.rsplit('/').next().unwrap_or(&id);
        // `o` and a digit, as in `o3` and `o4-mini`: not any name that begins with an `o`.
        let reasoner =
            name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        if name.contains("claude") {
            Self::Anthropic
        } else if name.contains("gpt-oss") {
            Self::Other
        } else if name.contains("gpt-5") || name.contains("codex") {
            Self::Codex
        } else if name.contains("gpt-") || reasoner {
            Self::Gpt
        } else if name.contains("gemini") {
            Self::Gemini
        } else {
            Self::Other
        }
    }

    /// The system text for this family when an agent has no text of its own.
    pub fn system_text(self) -> &'static str {
        let text = match self {
            Self::Anthropic => include_str!("texts/anthropic.txt"),
            Self::Codex => include_str!("texts/codex.txt"),
            Self::Gpt => include_str!("texts/gpt.txt"),
            Self::Gemini => include_str!("texts/gemini.txt"),
            Self::Other => include_str!("texts/other.txt"),
        };
        text.trim_end()
    }
}

/// The system text for a model when an agent has no text of its own, by the provider's name of the model.
pub fn system_text(id: &str) -> &'static str {
    ModelFamily::of(id).system_text()
}
