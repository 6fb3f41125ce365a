//! The exact bodies of requests in a report: each as what it does not share with the one before it, which is little where a
//! conversation grows.

use super::REQUESTS;
use crate::SessionAt;
use crate::prove::{Wire, prove_each};
use annals_core::{Digest, Seq};
use annals_projections::IndexedRequest;
use annals_store::ReadError;
use serde::Serialize;
use std::collections::BTreeSet;

/// How many bytes of bodies a report has at most: the newest.
const BYTES: usize = 24 << 20;

/// The body of a request, after the one that precedes it in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReportBody {
    /// The event of the request.
    seq: Seq,
    /// `proved`: encoded again, with the recorded digest; `recorded`: put together from recorded pieces; `redacted`: the same, with
    /// secrets replaced.
    proof: &'static str,
    /// The digest of the bytes.
    digest: Digest,
    /// How many bytes it begins with that the body before it begins with.
    start: usize,
    /// How many bytes it ends with that the body before it ends with.
    end: usize,
    /// What is between them.
    text: String,
}

/// The bodies of the newest requests.
#[derive(Debug, Default)]
pub(super) struct ReportBodies {
    bodies: Vec<ReportBody>,
    last: String,
    bytes: usize,
}

impl ReportBodies {
    /// The bodies of the newest of these requests, as far as they are recorded and nothing of them is withheld.
    pub(super) async fn of(past: &SessionAt, steps: &[IndexedRequest]) -> Result<Vec<ReportBody>, ReadError> {
        let recorded = steps.iter().rev().filter(|step| step.recorded).take(REQUESTS);
        let wanted: BTreeSet<Seq> = recorded.map(|step| step.seq).collect();
        let mut all = Self::default();
        if !wanted.is_empty() {
            prove_each(past, true, |seq, wire| {
                if wanted.contains(&seq) {
                    all.take(seq, wire);
                }
            })
            .await?;
        }
        Ok(all.bodies)
    }

    fn take(&mut self, seq: Seq, wire: &Wire) {
        let (body, proof) = match wire {
            Wire::Proved(body) => (body, "proved"),
            Wire::Recorded(body) => (body, "recorded"),
            Wire::Redacted(body) => (body, "redacted"),
            Wire::Agent(body, proof) => (body, proof.name()),
            Wire::NotRecorded | Wire::OfAnotherBuild(_) | Wire::Differs(..) => return,
        };
        // All protocols send JSON.
        if let Ok(text) = std::str::from_utf8(&body.bytes) {
            self.push(seq, proof, body.digest, text);
        }
    }

    fn push(&mut self, seq: Seq, proof: &'static str, digest: Digest, text: &str) {
        let (start, end) = shared(&self.last, text);
        let between = text.get(start..text.len() - end).unwrap_or_default();
        if self.bytes + between.len() > BYTES && !self.bodies.is_empty() {
            (self.bodies, self.last, self.bytes) = (Vec::new(), String::new(), 0);
            return self.push(seq, proof, digest, text);
        }
        self.bytes += between.len();
        self.bodies.push(ReportBody { seq, proof, digest, start, end, text: between.to_owned() });
        text.clone_into(&mut self.last);
    }
}

/// How many bytes two texts share at their start and at their end, in whole characters of the second.
fn shared(before: &str, text: &str) -> (usize, usize) {
    let same = before.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=same).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let rest = before.len().min(text.len()) - start;
    let same = before.bytes().rev().zip(text.bytes().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let end = (text.len() - same..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    (start, text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_put_together_from_what_each_adds() {
        let texts = ["{\"m\":[1]}", "{\"m\":[1,\"é\"]}", "{\"m\":[1,\"è\"]}", "{\"m\":[1,\"è\"]}", "", "aa", "aaa"];
        let mut all = ReportBodies::default();
        for (seq, text) in texts.into_iter().enumerate() {
            all.push(Seq(seq as u64), "proved", Digest::of(text.as_bytes()), text);
        }
        let mut last = String::new();
        for (body, text) in all.bodies.iter().zip(texts) {
            let end = last.split_off(last.len() - body.end);
            last.truncate(body.start);
            last = format!("{last}{}{end}", body.text);
            assert_eq!((last.as_str(), body.digest), (text, Digest::of(text.as_bytes())));
        }
        assert_eq!(all.bodies[1].text, ",\"é\"");
        assert_eq!(all.bodies[3].text, "");
    }
}
