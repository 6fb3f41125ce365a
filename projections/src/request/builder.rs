//! The requests of a session one after another: what did not change since the one before is not lowered or hashed again.

use super::lower::{self, Lowered};
use super::{BuildError, LAST_STEP, Request, RequestHead, RequestMessage, Role, ToolChoice, message_json};
use crate::{Projection, SessionView};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{Purpose, RequestSent, SystemMessages};
use annals_core::{AgentName, Blobs, Digest, Record, Seq};

/// A message as it is sent, with its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoweredMessage {
    /// The message.
    pub message: RequestMessage,
    /// Its canonical JSON.
    pub json: String,
    /// The digest of that: its part of the digest of a request.
    pub digest: Digest,
    /// The message of the history that it begins with; `None` for what is sent with one request alone.
    from: Option<Seq>,
}

impl LoweredMessage {
    fn new(message: RequestMessage, from: Option<Seq>) -> Self {
        let json = message_json(&message);
        Self { digest: Digest::of(json.as_bytes()), message, json, from }
    }
}

/// Names what a head is made of: profiles by their hashes, the epoch by its event.
type HeadKey = (bool, Digest, Digest, Option<Digest>, Digest, Option<Seq>);

/// Builds the requests of a session in order. Give it every record with [`RequestBuilder::apply`].
///
/// The requests are those of [`crate::rebuild`]; a request costs what is new in it.
#[derive(Debug, Default)]
pub struct RequestBuilder {
    head: Option<(HeadKey, Arc<RequestHead>)>,
    /// The messages of the last turn request.
    messages: Vec<Arc<LoweredMessage>>,
    /// The model profile that they were lowered for.
    model: Option<Digest>,
    /// From where on the history changed since then.
    changed: Option<Seq>,
    /// How many leading messages of the last turn request were those of the one before it.
    same: usize,
}

/// A request whose parts are shared with the one before it.
#[derive(Debug)]
pub struct BuiltRequest<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// The agent of the turn.
    pub agent: AgentName,
    /// What shapes it.
    pub head: Arc<RequestHead>,
    /// Whether calls are allowed.
    pub tool_choice: ToolChoice,
    /// How many leading messages are those of the turn request that was built before this one.
    pub same: usize,
    history: &'a [Arc<LoweredMessage>],
    added: Option<Arc<LoweredMessage>>,
}

impl RequestBuilder {
    /// Applies a record to the views that requests are built from: history, epochs and profiles. The others stay as they are.
    pub fn apply(&mut self, view: &mut SessionView, record: &Record<'_>) {
        if let Some(changed) = view.history.take(record) {
            self.changed = Some(self.changed.map_or(changed, |before| before.min(changed)));
        }
        view.epochs.apply(record);
        view.profiles.apply(record);
    }

    /// Forgets what it keeps: the view is replaced by another one.
    pub fn reset(&mut self) {
        self.changed = Some(Seq::ZERO);
    }

    /// The request that `sent` announces, from the view at the cut before it.
    ///
    /// # Errors
    /// As [`crate::rebuild`].
    pub fn build(
        &mut self,
        view: &SessionView,
        sent: &RequestSent,
        blobs: &dyn Blobs,
    ) -> Result<BuiltRequest<'_>, BuildError> {
        let head = self.head(view, sent, blobs)?;
        let alone = |role, text| Some(Arc::new(LoweredMessage::new(lower::text(role, text, None), None)));
        let (turn, added) = match (sent.purpose, &sent.prompt) {
            (Purpose::Turn, _) if sent.last_step => (true, alone(Role::Assistant, LAST_STEP.to_owned())),
            (Purpose::Turn, _) => (true, None),
            (Purpose::Summary | Purpose::Title | Purpose::Other, Some(prompt)) => {
                (false, alone(Role::User, prompt.resolve(blobs).into_owned()))
            }
            (purpose, None) => return Err(BuildError::NoPrompt(purpose)),
        };
        if turn {
            self.lower(view, &head, sent.model_profile, blobs);
        }
        let (same, history) = if turn { (self.same, self.messages.as_slice()) } else { (0, [].as_slice()) };
        let (purpose, agent, tool_choice) = (sent.purpose, sent.agent.clone(), head.tool_choice(sent));
        Ok(BuiltRequest { purpose, agent, head, tool_choice, same, history, added })
    }

    fn head(
        &mut self,
        view: &SessionView,
        sent: &RequestSent,
        blobs: &dyn Blobs,
    ) -> Result<Arc<RequestHead>, BuildError> {
        let epoch = view.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
        let turn = sent.purpose == Purpose::Turn;
        let key = (turn, sent.agent_profile, sent.model_profile, sent.tools, sent.options, epoch);
        match &self.head {
            Some((known, head)) if *known == key => Ok(head.clone()),
            _ => {
                let head = Arc::new(RequestHead::of(view, sent, blobs)?);
                self.head = Some((key, head.clone()));
                Ok(head)
            }
        }
    }

    /// Lowers what changed in the history.
    fn lower(&mut self, view: &SessionView, head: &RequestHead, model: Digest, blobs: &dyn Blobs) {
        if self.model.replace(model) != Some(model) {
            self.reset();
        }
        self.same = self.messages.len();
        let Some(mut from) = self.changed.take() else { return };
        while self.messages.pop_if(|message| message.from >= Some(from)).is_some() {}
        // A system message may have been joined to the message before it.
        if head.model.system_messages == SystemMessages::Wrapped
            && let Some(last) = self.messages.pop_if(|last| last.message.role == Role::User)
        {
            from = last.from.unwrap_or(from);
            // What comes before the kept messages is not in their order.
            if view.history.compaction().is_some_and(|compaction| from <= compaction.seq) {
                from = Seq::ZERO;
                self.messages.clear();
            }
        }
        self.same = self.messages.len();
        let lowered = lower::messages(view.history.selected_from(from), &head.model, blobs);
        let kept = |Lowered { from, message }| Arc::new(LoweredMessage::new(message, Some(from)));
        self.messages.extend(lowered.into_iter().map(kept));
    }
}

impl BuiltRequest<'_> {
    /// Its messages, oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<LoweredMessage>> {
        self.history.iter().chain(&self.added)
    }

    /// The request digest, as [`Request::digest`] gives it.
    pub fn digest(&self) -> Digest {
        let (before, after) = self.head.digests(self.tool_choice);
        let messages = self.messages().map(|message| &message.digest);
        Digest::of_all(before.iter().chain(messages).chain(&after))
    }

    /// All of it.
    pub fn request(&self) -> Request {
        let head = &*self.head;
        Request {
            purpose: self.purpose,
            agent: self.agent.clone(),
            model: head.model.clone(),
            system: head.system.clone(),
            messages: self.messages().map(|message| message.message.clone()).collect(),
            tools: head.tools.clone(),
            tool_choice: self.tool_choice,
            options: head.options.clone(),
        }
    }
}
