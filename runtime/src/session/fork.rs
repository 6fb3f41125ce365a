//! Forks: a session that continues another one from a cut, without a copy (`docs/reference/fork.md`).

use super::{MessagePlace, SessionEditor};
use crate::outcome::{LogError, MissingItem, Refusal};
use crate::process::ProcessRecorder;
use annals_core::event::{Location, SessionForked, SessionMoved};
use annals_core::{Event, Seq, SessionId};
use annals_store::{Draft, append_rules};

impl SessionEditor {
    /// Forks before a message, or at the end. The fork begins with the messages before its cut, and with the baseline
    /// and the snapshot that held there; what was pending or open is not inherited.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such message.
    pub async fn fork(&self, before: Option<MessagePlace>) -> Result<Self, Refusal> {
        let view = self.view().await?;
        let cut = match before {
            Some(message) => message.find(&view)?,
            None => view.cut().next,
        };
        self.fork_at(cut).await
    }

    /// Forks at a Seq: the first one that is not inherited.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when the log is not that long, or nothing would be inherited.
    pub async fn fork_at(&self, cut: Seq) -> Result<Self, Refusal> {
        self.fork_into(cut, None).await
    }

    /// Forks at a Seq, with another location if one is given: the fork moves there in the batch that begins it.
    pub async fn fork_into(&self, cut: Seq, location: Option<Location>) -> Result<Self, Refusal> {
        let title = |title: Option<&str>| title.map(fork_title);
        self.fork_beginning(cut, ForkBeginning { location, title: &title, events: Vec::new() }).await
    }

    /// Forks at a Seq; what the fork begins with is in the batch of its first event.
    pub(super) async fn fork_beginning(&self, cut: Seq, beginning: ForkBeginning<'_>) -> Result<Self, Refusal> {
        let ForkBeginning { location, title, events } = beginning;
        let nothing = || Refusal::NotFound(MissingItem::EventBefore(cut));
        let view = self.view().await?;
        if cut == Seq::ZERO || cut > view.cut().next {
            return Err(nothing());
        }
        let ports = &self.state;
        // The parent is the session that wrote the events before the cut: this one, or the one that it inherits them from.
        let inherited = append_rules::fork_at(&*ports.log, self.id(), cut, ports.ids.session_key())
            .await
            .map_err(LogError::from)?;
        let at = ports.clock.now();
        let forked = SessionForked { title: title(view.session.title.as_deref()), ..inherited };
        let session: SessionId = ports.ids.session(at);
        let there = location.clone().or_else(|| view.session.location.clone());
        let moved = location.map(|location| SessionMoved { location }.into());
        let recorder = ports.process.as_deref();
        let attached = ProcessRecorder::attaching(recorder, session, there.as_ref()).await;
        let events = [forked.into()].into_iter().chain(moved).chain(attached).chain(events).collect();
        let draft = Draft { session, expected: cut, at, events, digest: None, states: Vec::new() };
        ports.log.append(draft).await.map_err(LogError::from)?;
        ProcessRecorder::recorded(recorder, session);
        Ok(Self::of(self.state.clone(), session))
    }
}

/// What a fork begins with.
pub(super) struct ForkBeginning<'a> {
    /// Where it works, if it is elsewhere.
    pub(super) location: Option<Location>,
    /// Its title, by that of its parent.
    pub(super) title: &'a (dyn Fn(Option<&str>) -> Option<String> + Sync),
    /// Its first facts.
    pub(super) events: Vec<Event>,
}

/// The title of a fork with an edited text: `Title (fork #1, prompt of event 12 edited)`.
pub(super) fn edited_title(title: Option<&str>, what: &str, event: Seq) -> String {
    let edited = format!("{what} of event {event} edited");
    let Some(title) = title else { return format!("fork, {edited}") };
    let numbered = fork_title(title);
    numbered.strip_suffix(')').map_or_else(|| numbered.clone(), |rest| format!("{rest}, {edited})"))
}

/// The title of a fork: `Title (fork #1)`, and `(fork #2)` for a fork of that (`docs/reference/fork.md`).
pub fn fork_title(title: &str) -> String {
    let numbered = title.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (fork #"));
    match numbered.and_then(|(stem, number)| Some((stem, number.parse::<u64>().ok()?))) {
        Some((stem, number)) => format!("{stem} (fork #{})", number.saturating_add(1)),
        None => format!("{title} (fork #1)"),
    }
}

#[cfg(test)]
mod tests {
    use super::{edited_title, fork_title};
    use annals_core::Seq;

    #[test]
    fn the_title_of_a_fork_counts_on() {
        assert_eq!(fork_title("Mend the clock"), "Mend the clock (fork #1)");
        assert_eq!(fork_title("Mend the clock (fork #1)"), "Mend the clock (fork #2)");
        assert_eq!(
            edited_title(Some("Mend the clock"), "prompt", Seq(12)),
            "Mend the clock (fork #1, prompt of event 12 edited)"
        );
        assert_eq!(edited_title(None, "tool result", Seq(3)), "fork, tool result of event 3 edited");
        assert_eq!(fork_title("Odd (fork #x)"), "Odd (fork #x) (fork #1)");
    }
}
