//! What shapes a request, apart from its messages.

use super::size::{head_chars, request_chars};
use super::{BuildError, SystemText, ToolChoice, lower};
use crate::SessionView;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{ModelProfile, Purpose, RequestOptions, RequestSent, ToolDefinition};
use annals_core::text::Texts;
use annals_core::{Blobs, Digest, canonical};
use serde::Serialize;

/// What shapes a request, apart from its messages: often the same for many requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// What the model is.
    pub model: ModelProfile,
    /// The agent's own text, then the Baseline System Context; empty ones are left out.
    pub system: Vec<SystemText>,
    /// What is offered, in order.
    pub tools: Vec<ToolDefinition>,
    /// Model Request Options and Generation Controls.
    pub options: RequestOptions,
    /// The digests of the parts: of the system texts, the tools, the options and the model.
    system_digests: Vec<Digest>,
    others: [Digest; 3],
    /// The sizes of the system texts and of the tools, see [`super::Request::chars`].
    sizes: (u64, u64),
}

pub(super) fn own<T: Serialize + ?Sized>(part: &T) -> String {
    // Parts hold text, booleans and text-keyed maps only: writing one cannot fail.
    canonical::own(part).unwrap_or_default()
}

pub(super) fn value<T: Serialize + ?Sized>(part: &T) -> String {
    // Not `own` of it: attachments and flattened results are serialized through a value.
    canonical::value(&serde_json::to_value(part).unwrap_or_default())
}

pub(super) fn model_json(model: &ModelProfile) -> String {
    own(&(model.model.as_str(), model.protocol.as_str(), model.encoding))
}

impl RequestHead {
    /// What the view has of what `sent` names.
    pub(super) fn of(view: &SessionView, sent: &RequestSent, blobs: &dyn Blobs) -> Result<Self, BuildError> {
        let profiles = &view.profiles;
        let missing = |what, digest: Digest| match digest.is_withheld() {
            true => BuildError::Withheld(what),
            false => BuildError::NotRecorded { what, digest },
        };
        let agent = profiles.agents.get(&sent.agent_profile).ok_or(missing("agent profile", sent.agent_profile))?;
        let model = profiles.models.get(&sent.model_profile).ok_or(missing("model profile", sent.model_profile))?;
        let mut options = profiles.options.get(&sent.options).ok_or(missing("options", sent.options))?.clone();
        let mut tools = match sent.tools {
            Some(digest) => profiles.tools.get(&digest).ok_or(missing("tool set", digest))?.clone(),
            None => Vec::new(),
        };
        // The digest covers the content, inline or in a blob.
        options.texts(&mut |text| *text = text.resolve(blobs).into_owned().into());
        tools.texts(&mut |text| *text = text.resolve(blobs).into_owned().into());
        let system = match sent.purpose {
            Purpose::Turn => lower::system(agent, view.epochs.current.as_ref(), blobs),
            Purpose::Summary => lower::system(agent, None, blobs),
            Purpose::Title | Purpose::Other => Vec::new(),
        };
        let digest = |text: String| Digest::of(text.as_bytes());
        let system_digests = system.iter().map(|system| digest(own(system.text.as_str()))).collect();
        let others = [digest(value(&tools)), digest(value(&options)), digest(model_json(model))];
        let sizes = head_chars(&system, &tools, model);
        Ok(Self { model: model.clone(), system, tools, options, system_digests, others, sizes })
    }

    /// The same without system texts.
    pub(super) fn without_system(&self) -> Self {
        let (_, tools) = self.sizes;
        let (system, system_digests) = (Vec::new(), Vec::new());
        Self { system, system_digests, sizes: (head_chars(&[], &[], &self.model).0, tools), ..self.clone() }
    }

    pub(super) fn tool_choice(&self, sent: &RequestSent) -> ToolChoice {
        if sent.last_step || self.tools.is_empty() { ToolChoice::None } else { ToolChoice::Auto }
    }

    /// The size of a request with so many messages of so many characters.
    pub(super) fn chars(&self, messages: usize, chars: u64) -> u64 {
        request_chars(messages, chars, self.sizes)
    }

    /// The digests of the parts before the messages, and of those after them.
    pub(super) fn digests(&self, tool_choice: ToolChoice) -> (&[Digest], [Digest; 4]) {
        let [tools, options, model] = self.others;
        (&self.system_digests, [tools, Digest::of(own(&tool_choice).as_bytes()), options, model])
    }
}
