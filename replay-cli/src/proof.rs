//! Rebuilding the requests of a Session from its log, and comparing digests: what nobody else can do.

use crate::error::CliError;
use crate::reader::Reader;
use annals_core::event::RequestSent;
use annals_core::{Blobs, Event, Seq, SessionId};
use annals_projections::{Projection, RequestMark, SessionView, rebuild};

/// A request, and why it is not proved, in words; `None` when it is.
pub type Proof = (RequestMark, Option<String>);

/// Rebuilds every request of a Session before `until`, in one walk through its log.
///
/// # Errors
/// When the log cannot be read. A request that is not proved is in the answer.
pub async fn prove_all(reader: &Reader, session: SessionId, until: Seq) -> Result<Vec<Proof>, CliError> {
    let mut view = SessionView::default();
    let mut proofs: Vec<Proof> = Vec::new();
    let visit = |record: &annals_core::Record<'_>| {
        let flaw = match record.event {
            Event::RequestSent(sent) => Some(flaw(&view, sent, reader.blobs())),
            _ => None,
        };
        view.apply(record);
        match (flaw, record.event) {
            (Some(flaw), _) => proofs.extend(view.requests.marks.last().cloned().map(|mark| (mark, flaw))),
            // What a fork inherits was sent by its parent.
            (None, Event::SessionForked(_)) => proofs.clear(),
            (None, _) => {}
        }
    };
    reader.each(session, Seq::ZERO, until, visit).await?;
    Ok(proofs)
}

/// Why a request is not proved by the view before it, in words.
fn flaw(view: &SessionView, sent: &RequestSent, blobs: &dyn Blobs) -> Option<String> {
    match rebuild(view, sent, blobs) {
        Ok(request) => {
            let digest = request.digest();
            (digest != sent.digest).then(|| format!("recorded {}, rebuilt {}", sent.digest.short(), digest.short()))
        }
        Err(error) => Some(error.to_string()),
    }
}
