//! What a verification answers, as JSON: the report, and the members that `--requests`, `--reveal` and `--signed` add.

use crate::prove::{AgentProofs, RequestProofs};
use crate::signing::SignedStore;
use annals_core::{Seq, SessionId};
use annals_store::exchange::{RevealOutcome, RevealedText, VerifyReport};
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer of `annals verify` (`docs/reference/digest.md`).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedLog {
    /// Digests, chain and blobs.
    #[serde(flatten)]
    pub report: VerifyReport,
    /// The two copies of the log.
    pub copies: VerifiedCopies,
    /// The requests; `null` when the log is damaged, so that none was rebuilt, and absent when that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Option<ProvedRequests>>,
    /// Texts that were given later; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub revealed: Vec<ComparedText>,
    /// What was signed; absent when that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedStore>,
    /// Whether the page of a report is the one that its export gives; absent for anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<ComparedPage>,
}

/// Whether the page of a report (script, style, markup and data) is the one that the export in it gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparedPage {
    /// It is, byte for byte.
    Same,
    /// It was changed, or another build made it.
    Differs,
    /// It was not compared: this program, another version, made it, as the page says.
    MadeBy(String),
    /// It was not compared: the export in it is longer than what is read into memory for that.
    TooLarge,
}

/// What is known of the two copies of the log: a place that is damaged in one of them is read from the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedCopies {
    /// How many places are damaged in one copy alone.
    pub damaged: u64,
    /// Why the second copy was not read; `null` when it was, or when one session alone was verified.
    pub second_copy_unchecked: Option<String>,
}

/// What rebuilding the requests gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvedRequests {
    /// How many requests were rebuilt.
    pub count: u64,
    /// Session, event and flaw of each that is not proved.
    pub flaws: Vec<String>,
    /// Session, event and what is withheld of each that cannot be proved; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_provable: Vec<String>,
    /// What the hashes that agents recorded in their session files prove, by agent; absent when there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentProofs>,
    /// How many recorded bodies say what the events say; absent when none is recorded.
    #[serde(skip_serializing_if = "is_zero")]
    pub views_agree: u64,
    /// Session, event and difference of each recorded body that says otherwise; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views_differ: Vec<String>,
    /// Their bodies; absent when those were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<ProvedBodies>,
}

/// What became of the bodies of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvedBodies {
    /// How many are proved, recorded ones included.
    pub proved: u64,
    /// How many requests have no recorded body.
    pub without: u64,
    /// Session, event and reason of each body that another build encoded.
    pub not_provable: Vec<String>,
    /// How many recorded bodies had secrets, which were replaced; absent when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub recorded_redacted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A text that was given later, compared with what an export withholds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedText {
    /// The session that wrote the event.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// The RFC 6901 pointer of the text in the export form of the event.
    pub place: String,
    /// What comparing it gave.
    pub outcome: RevealOutcome,
}

impl ComparedText {
    /// A text and what comparing it gave.
    pub fn new(text: &RevealedText, outcome: RevealOutcome) -> Self {
        Self { session: text.session, seq: text.seq, place: text.place.clone(), outcome }
    }
}

impl From<&RequestProofs> for ProvedRequests {
    /// Without the bodies; see [`ProvedRequests::with_bodies`].
    fn from(proofs: &RequestProofs) -> Self {
        let RequestProofs { count, flaws, withheld, agents, agreeing, differing, .. } = proofs;
        Self {
            count: *count,
            flaws: flaws.clone(),
            not_provable: withheld.clone(),
            agents: agents.clone(),
            views_agree: *agreeing,
            views_differ: differing.clone(),
            wire: None,
        }
    }
}

impl ProvedRequests {
    /// Adds the results for the bodies.
    #[must_use]
    pub fn with_bodies(self, proofs: &RequestProofs) -> Self {
        let wire = ProvedBodies {
            proved: proofs.bodies,
            without: proofs.without_body,
            not_provable: proofs.of_another_build.clone(),
            recorded_redacted: proofs.redacted,
        };
        Self { wire: Some(wire), ..self }
    }
}
