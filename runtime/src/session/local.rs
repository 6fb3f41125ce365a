//! Where local facts about an imported session go: to a fork of it. So its own log holds what its source holds and nothing
//! else, and a later import continues it.

use super::{Session, SessionEditor, fork_title};
use crate::outcome::{LogError, Refusal};
use crate::process::ProcessRecorder;
use annals_core::event::{RevertStaged, SessionForked};
use annals_core::{Digest, Event, Seq, SessionId, Time};
use annals_store::{Draft, EventLog, ReadError, append_rules};

/// The session that takes local facts: see [`SessionEditor::local`].
#[derive(Clone)]
pub struct Local<S = Session> {
    /// The session itself, or a fork of it if it is imported.
    pub session: S,
    /// The imported session that it is a fork of.
    pub fork_of: Option<SessionId>,
    /// Whether the fork was made by this call.
    pub made: bool,
}

impl SessionEditor {
    /// The session that takes local facts: this one, or, if it is imported, a fork at its present end. The fork is made by the
    /// first call and found again by later ones, until an import extends the imported session. A staged revert of the
    /// imported session is staged in the fork, too, for the messages alone.
    ///
    /// **Invariant**: a [`Session`] appends nothing to an imported session ([`LogError::Imported`]).
    pub async fn local(&self) -> Result<Local<Self>, Refusal> {
        let view = self.view().await?;
        if view.session.origin.is_none() {
            return Ok(Local { session: self.clone(), fork_of: None, made: false });
        }
        let fork_of = Some(self.id());
        let log = &*self.state.log;
        if let Some(found) = local_fork(log, self.id()).await.map_err(LogError::from)? {
            return Ok(Local { session: Self::of(self.state.clone(), found), fork_of, made: false });
        }
        let (ports, cut) = (&self.state, view.cut().next);
        let key = ports.ids.session_key();
        let inherited = append_rules::fork_at(&*ports.log, self.id(), cut, key).await.map_err(LogError::from)?;
        let forked = SessionForked { title: view.session.title.as_deref().map(fork_title), ..inherited };
        let mut events: Vec<Event> = vec![forked.into()];
        if let Some(staged) = &view.session.revert {
            let first_removed = staged.first_removed;
            events.push(RevertStaged { first_removed, original: None, diff: None, files: Vec::new() }.into());
        }
        let at = ports.clock.now().max(view.session.updated);
        let SessionId(random) = ports.ids.session(at);
        let session = Mark::of(self.id(), cut, view.session.updated).id(random);
        let (recorder, location) = (ports.process.as_deref(), view.session.location.as_ref());
        events.extend(ProcessRecorder::attaching(recorder, session, location).await);
        ports
            .log
            .append(Draft { session, expected: cut, at, events, digest: None, states: Vec::new() })
            .await
            .map_err(LogError::from)?;
        ProcessRecorder::recorded(recorder, session);
        Ok(Local { session: Self::of(self.state.clone(), session), fork_of, made: true })
    }
}

/// The fork that [`SessionEditor::local`] made at the present end of an imported session; `None` without one.
///
/// # Errors
/// When there is no such session, or the log cannot be read.
pub async fn local_fork(log: &dyn EventLog, imported: SessionId) -> Result<Option<SessionId>, ReadError> {
    let head = log.head(imported).await?.ok_or(ReadError::NoSession(imported))?;
    let mark = Mark::of(imported, head.next, head.at);
    let heads = log.sessions().all().await?;
    let marked = heads.iter().filter(|head| mark.is_of(head.session));
    // Two processes may have made one each at the same time.
    Ok(marked.max_by_key(|head| (head.head.at, head.session)).map(|head| head.session))
}

/// The first bytes of the id of a local fork: the time of the imported session's last event, and a hash of its id and its end.
/// So the fork is found without a list of forks. The last four bytes are random: two stores make different forks.
struct Mark([u8; MARK]);

/// Bytes of a [`Mark`].
const MARK: usize = 12;

impl Mark {
    fn of(imported: SessionId, cut: Seq, updated: Time) -> Self {
        let hash = Digest::of(format!("annals\0local\0{imported}\0{cut}").as_bytes());
        let bits = hash.0.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let SessionId(id) = SessionId::from_parts(updated.millis(), bits);
        let mut mark = [0; MARK];
        mark.iter_mut().zip(id).for_each(|(to, from)| *to = from);
        Self(mark)
    }

    /// The id of a fork that ends in the last bytes of `random`.
    fn id(&self, mut random: [u8; 16]) -> SessionId {
        random.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        SessionId(random)
    }

    fn is_of(&self, SessionId(id): SessionId) -> bool {
        id.starts_with(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MARK, Mark};
    use annals_core::{Seq, SessionId, Time};

    #[test]
    fn the_id_of_a_local_fork_is_known_by_session_and_end() {
        let imported = SessionId::from_parts(5, 7);
        let mark = Mark::of(imported, Seq(3), Time(9));
        let fork = mark.id([0xAB; 16]);
        assert!(mark.is_of(fork) && fork.millis() == 9);
        assert!(fork.0[MARK..].iter().all(|byte| *byte == 0xAB), "the rest is random");
        assert!(!Mark::of(imported, Seq(4), Time(9)).is_of(fork));
        assert!(!Mark::of(SessionId::from_parts(5, 8), Seq(3), Time(9)).is_of(fork));
    }
}
