//! The proof that another version of the program folds an archive to the same views and the same request bodies.

mod digests;

use super::{AskError, SessionAt};
use annals_core::{Digest, Seq, SessionId};
use annals_store::EventLog;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What an archive folds to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The number of this form.
    pub certificate: u32,
    /// The version of the program that made it.
    pub program: String,
    /// Every session, by file and then by id.
    pub sessions: Vec<Certified>,
}

/// One session of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certified {
    /// The file, as it was named.
    pub file: String,
    /// Its id.
    pub session: SessionId,
    /// The Seq that its next event would get.
    pub next: Seq,
    /// The digest of its last batch: what the archive itself says.
    pub head: Digest,
    /// The digest of each view at its end.
    pub views: BTreeMap<String, Digest>,
    /// The digest over the digests of the views after every turn: of `history`, `baseline`, `snapshot` and `usage`.
    pub turns: Digest,
    /// The digest of each request's body, in order. Reports of form 1 have none.
    #[serde(default)]
    pub bodies: Vec<Digest>,
}

/// A difference between two reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The file.
    pub file: String,
    /// The session.
    pub session: SessionId,
    /// What differs: a view, `turns`, `request 3`, `head` (the archive itself), `next`, or `session` when one has none.
    pub what: String,
    /// What the report says; `None` when it says nothing.
    pub expected: Option<String>,
    /// What was found; `None` when there is nothing.
    pub found: Option<String>,
}

/// The number of the report's form.
pub const FORM: u32 = 2;
/// The first form whose reports hold request bodies.
const WITH_BODIES: u32 = 2;

/// Certifies every session of a log.
pub async fn certify(log: &Arc<dyn EventLog>, file: &str) -> Result<Vec<Certified>, AskError> {
    let mut all = Vec::new();
    for head in log.sessions().all().await? {
        let past = SessionAt::new(Arc::clone(log), None, head.session, head.head.next);
        let (views, bodies) = digests::of_views(&past).await?;
        all.push(Certified {
            file: file.to_owned(),
            session: head.session,
            next: head.head.next,
            head: head.head.digest,
            views,
            turns: digests::of_turns(&past).await?,
            bodies,
        });
    }
    Ok(all)
}

impl Report {
    /// A report of this program.
    pub fn new(mut sessions: Vec<Certified>) -> Self {
        sessions.sort_by(|a, b| (&a.file, a.session).cmp(&(&b.file, b.session)));
        Self { certificate: FORM, program: env!("CARGO_PKG_VERSION").to_owned(), sessions }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// If the file cannot be read or is not a certificate.
    pub fn read(path: &Path) -> Result<Self, AskError> {
        let text = std::fs::read_to_string(path).map_err(|source| AskError::File { path: path.to_owned(), source })?;
        serde_json::from_str(&text).map_err(|source| AskError::NotAReport { path: path.to_owned(), source })
    }

    /// Every difference of `found` from this one, in the order of this one, then what is new.
    pub fn differences(&self, found: &Self) -> Vec<Difference> {
        let key = |it: &Certified| (it.file.clone(), it.session);
        let theirs: BTreeMap<_, &Certified> = found.sessions.iter().map(|it| (key(it), it)).collect();
        let ours: BTreeMap<_, &Certified> = self.sessions.iter().map(|it| (key(it), it)).collect();
        let found_form = found.certificate;
        let mut differences = Vec::new();
        for (key, expected) in &ours {
            match theirs.get(key) {
                Some(found) => {
                    let bodies = self.certificate.min(found_form) >= WITH_BODIES;
                    expected.differs(found, bodies, &mut differences);
                }
                None => differences.push(expected.differ("session", Some("folded"), None)),
            }
        }
        for (_, new) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            differences.push(new.differ("session", None, Some("folded")));
        }
        differences
    }
}

impl Certified {
    fn differ(&self, what: &str, expected: Option<&str>, found: Option<&str>) -> Difference {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let (expected, found) = (text(expected), text(found));
        Difference { file: self.file.clone(), session: self.session, what: what.to_owned(), expected, found }
    }

    fn differs(&self, found: &Self, bodies: bool, out: &mut Vec<Difference>) {
        let mut compare = |what: &str, a: Option<String>, b: Option<String>| {
            if a != b {
                out.push(self.differ(what, a.as_deref(), b.as_deref()));
            }
        };
        compare("next", Some(self.next.to_string()), Some(found.next.to_string()));
        compare("head", Some(self.head.to_string()), Some(found.head.to_string()));
        let names: std::collections::BTreeSet<&String> = self.views.keys().chain(found.views.keys()).collect();
        for name in names {
            let of = |views: &BTreeMap<String, Digest>| views.get(name).map(Digest::to_string);
            compare(name, of(&self.views), of(&found.views));
        }
        compare("turns", Some(self.turns.to_string()), Some(found.turns.to_string()));
        let most = if bodies { self.bodies.len().max(found.bodies.len()) } else { 0 };
        for at in 0..most {
            let of = |bodies: &[Digest]| bodies.get(at).map(Digest::to_string);
            compare(&format!("request {}", at + 1), of(&self.bodies), of(&found.bodies));
        }
    }
}
