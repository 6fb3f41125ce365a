//! The requests of a session one after another: what did not change since the one before is not lowered or hashed again.

use super::lower;
use super::{BuildError, LAST_STEP, LoweredMessage, Request, RequestHead, RequestMessages, Role, ToolChoice};
use crate::{Projection, SessionView};
use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use annals_core::event::{Purpose, RequestSent, SystemMessages};
use annals_core::{AgentName, Blobs, Digest, Digester, Record, Seq};

/// Names what a head is made of: profiles by their hashes, the epoch by its event.
type HeadKey = (Purpose, Digest, Digest, Option<Digest>, Digest, Option<Seq>);

/// Builds the requests of a session in order. Give it every record with [`RequestBuilder::apply`].
///
/// The requests are those of [`crate::rebuild`]; a request costs what is new in it.
#[derive(Debug, Default)]
pub struct RequestBuilder {
    head: Option<(HeadKey, Arc<RequestHead>)>,
    /// The messages of the last turn request.
    messages: RequestMessages,
    /// The size of these messages, see [`LoweredMessage::chars`].
    chars: u64,
    prefix: Prefix,
    /// The model profile that they were lowered for.
    model: Option<Digest>,
    /// From where on the history changed since then.
    changed: Option<Seq>,
    /// How many leading messages of the last turn request were those of the one before it.
    same: usize,
}

/// What a digest begins with: the system texts of a head and messages that the next request probably has too.
#[derive(Debug, Default)]
struct Prefix {
    head: Option<Arc<RequestHead>>,
    messages: usize,
    digester: Digester,
}

impl Prefix {
    /// Forgets what it has if only so many messages stay.
    fn keep(&mut self, messages: usize) {
        if messages < self.messages {
            *self = Self::default();
        }
    }

    /// Adds what a request has beyond it, except its last message, to which a context message may be joined.
    fn extend(&mut self, head: &Arc<RequestHead>, messages: &RequestMessages) {
        let settled = messages.len().saturating_sub(1);
        let known = self.head.as_ref().is_some_and(|known| Arc::ptr_eq(known, head));
        if !known {
            *self = Self { head: Some(head.clone()), ..Self::default() };
            head.digests(ToolChoice::None).0.iter().for_each(|system| self.digester.update(&system.0));
        }
        messages.range(self.messages..settled).for_each(|message| self.digester.update(&message.digest.0));
        self.messages = self.messages.max(settled);
    }
}

/// A request whose parts are shared with the one before it.
#[derive(Debug)]
pub struct BuiltRequest<'a> {
    /// Its purpose.
    pub purpose: Purpose,
    /// The agent of the turn.
    pub agent: AgentName,
    /// What shapes it.
    pub head: Arc<RequestHead>,
    /// Whether calls are allowed.
    pub tool_choice: ToolChoice,
    /// How many leading messages are those of the turn request that was built before this one.
    pub same: usize,
    /// The messages of the history, their size, and what the digest begins with; `None` of a request with a prompt of its own.
    history: Option<(&'a RequestMessages, u64, &'a Prefix)>,
    added: Option<Arc<LoweredMessage>>,
}

impl RequestBuilder {
    /// Applies a record to the views that requests are built from: history, epochs and profiles. The others stay as they are.
    pub fn apply(&mut self, view: &mut SessionView, record: &Record<'_>) {
        let changed = view.history.take(record);
        self.note(changed);
        view.epochs.apply(record);
        view.profiles.apply(record);
    }

    /// Applies a record to all views.
    pub fn apply_all(&mut self, view: &mut SessionView, record: &Record<'_>) {
        let changed = view.take(record);
        self.note(changed);
    }

    /// Notes from where on the history changed.
    fn note(&mut self, changed: Option<Seq>) {
        self.changed = match (self.changed, changed) {
            (Some(before), Some(changed)) => Some(before.min(changed)),
            (before, changed) => before.or(changed),
        };
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
        let alone = |role, text| Some(Arc::new(LoweredMessage::from(lower::text(role, text, None))));
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
        if turn {
            self.prefix.extend(&head, &self.messages);
        }
        let (same, history) =
            if turn { (self.same, Some((&self.messages, self.chars, &self.prefix))) } else { (0, None) };
        let (purpose, agent, tool_choice) = (sent.purpose, sent.agent.clone(), head.tool_choice(sent));
        let mut built = BuiltRequest { purpose, agent, head, tool_choice, same, history, added };
        // As in `rebuild`: the digest of a summary request decides whether it has the text of its agent.
        if purpose == Purpose::Summary && !built.head.system.is_empty() && built.digest() != sent.digest {
            let whole = built.head.clone();
            built.head = Arc::new(whole.without_system());
            if built.digest() != sent.digest {
                built.head = whole;
            }
        }
        Ok(built)
    }

    fn head(
        &mut self,
        view: &SessionView,
        sent: &RequestSent,
        blobs: &dyn Blobs,
    ) -> Result<Arc<RequestHead>, BuildError> {
        let epoch = view.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
        let key = (sent.purpose, sent.agent_profile, sent.model_profile, sent.tools, sent.options, epoch);
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
        let mut kept = self.messages.len();
        let last = |kept: usize| self.messages.get(kept.checked_sub(1)?);
        while last(kept).is_some_and(|message| message.from >= Some(from)) {
            kept -= 1;
        }
        // A system message may have been joined to the message before it.
        if head.model.system_messages == SystemMessages::Wrapped
            && let Some(last) = last(kept).filter(|last| last.role == Role::User)
        {
            kept -= 1;
            from = last.from.unwrap_or(from);
            // What comes before the kept messages is not in their order.
            if view.history.compaction().is_some_and(|compaction| from <= compaction.seq) {
                from = Seq::ZERO;
                kept = 0;
            }
        }
        self.chars -= self.messages.range(kept..self.messages.len()).map(|message| message.chars).sum::<u64>();
        self.messages.truncate(kept);
        self.prefix.keep(kept);
        self.same = kept;
        for message in lower::messages(view.history.selected_from(from), &head.model, blobs) {
            self.chars += message.chars;
            self.messages.push(Arc::new(message));
        }
    }
}

impl BuiltRequest<'_> {
    /// Its messages, oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<LoweredMessage>> {
        self.history.iter().flat_map(|(messages, ..)| messages.iter()).chain(&self.added)
    }

    /// The request digest, as [`Request::digest`] gives it.
    pub fn digest(&self) -> Digest {
        let (system, after) = self.head.digests(self.tool_choice);
        let mut digester = match self.history {
            Some((.., prefix)) => prefix.digester.clone(),
            None => {
                let mut digester = Digester::default();
                system.iter().for_each(|system| digester.update(&system.0));
                digester
            }
        };
        let rest =
            self.history.iter().flat_map(|(messages, _, prefix)| messages.range(prefix.messages..messages.len()));
        rest.chain(&self.added).for_each(|message| digester.update(&message.digest.0));
        after.iter().for_each(|part| digester.update(&part.0));
        digester.digest()
    }

    /// The size of the request in characters, as [`Request::chars`] gives it.
    pub fn chars(&self) -> u64 {
        let (count, chars) = self.history.map_or((0, 0), |(messages, chars, _)| (messages.len(), chars));
        let (added, more) = self.added.as_ref().map_or((0, 0), |added| (1, added.chars));
        self.head.chars(count + added, chars + more)
    }

    /// All of it. Its messages are shared with this one.
    pub fn request(&self) -> Request {
        let head = &*self.head;
        let mut messages = self.history.map_or_else(RequestMessages::new, |(messages, ..)| messages.clone());
        messages.extend(self.added.clone());
        Request {
            purpose: self.purpose,
            agent: self.agent.clone(),
            model: head.model.clone(),
            system: head.system.clone(),
            messages,
            tools: head.tools.clone(),
            tool_choice: self.tool_choice,
            options: head.options.clone(),
        }
    }
}
