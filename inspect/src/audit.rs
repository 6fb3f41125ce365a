//! A session as a whole: what it contains, whether it is unaltered, and how far it can be read.

use crate::SessionAt;
use annals_core::{Blobs, Seq};
use annals_projections::{Projection, Statistics, ToJson};
use annals_store::ReadError;
use annals_store::exchange::{VerifyReport, verify_session};
use serde_json::{Value, json};

/// What a session contains, and whether it is unaltered.
#[derive(Debug)]
pub struct SessionAudit {
    /// Counts and anomalies, of everything before the place that cannot be read.
    pub statistics: Statistics,
    /// Digests, chain and blobs of the whole session.
    pub report: VerifyReport,
    /// Where reading stopped; `None` for a session that can be read completely.
    pub unreadable: Option<ReadError>,
}

impl SessionAt {
    /// Verifies the session.
    pub async fn integrity(&self) -> Result<VerifyReport, ReadError> {
        let report = verify_session(self.log(), self.session, None, &mut |_| {}).await?;
        Ok(report.in_file(self.file.as_deref()))
    }

    /// Verifies the session and counts what it contains. Damage is in the answer.
    pub async fn audit(&self) -> Result<SessionAudit, ReadError> {
        let report = self.integrity().await?;
        // What cannot be read is in no saved view.
        if report.is_sound() {
            return Ok(SessionAudit { statistics: self.statistics().await?, report, unreadable: None });
        }
        let mut statistics = Statistics::default();
        let mut pages = self.log().pages(self.session, Seq::ZERO..self.until);
        let unreadable = loop {
            match pages.next_slice().await {
                Ok(Some(slice)) => slice.records().for_each(|record| statistics.apply(&record)),
                Ok(None) => break None,
                Err(error @ ReadError::Damaged { .. }) => break Some(error),
                Err(error) => return Err(error),
            }
        };
        Ok(SessionAudit { statistics, report, unreadable })
    }
}

impl SessionAudit {
    /// Whether nothing is damaged, unreadable or impossible.
    pub fn is_clean(&self) -> bool {
        self.report.is_sound() && self.unreadable.is_none() && self.statistics.anomaly_count() == 0
    }

    /// The public form, as `annals replay --json` prints it.
    pub fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let Self { statistics, report, .. } = self;
        json!({
            "session": statistics.session.to_json(None, blobs), "usage": statistics.usage.to_json(blobs),
            "epochs": statistics.epochs.marks_json(), "counts": statistics.summary(), "verified": report,
            "sound": report.is_sound(),
        })
    }
}
