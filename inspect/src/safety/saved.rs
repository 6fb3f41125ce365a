//! What was allowed in one session, resumed from a saved fold.

use super::fold::SafetyScope;
use super::{CallFold, SafetyCounts, SafetySummary};
use crate::SessionAt;
use annals_core::{Blobs, Record, SessionId};
use annals_store::ReadError;
use annals_store::cache::FoldVersion;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of directories in which a session may have worked for its fold to be resumed.
const DIRECTORIES: usize = 64;

/// The calls of a session that have not ended, and what was counted of the others.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SavedSafety {
    calls: CallFold,
    counts: SafetyCounts,
    /// The folders of projects that calls were judged by. They are not in the log, so that they may be others by now.
    projects: BTreeMap<String, PathBuf>,
}

impl SavedSafety {
    pub(crate) const VERSION: FoldVersion<'static> = FoldVersion { name: "safety", version: 2 };

    /// Counts a record, and notes the folders that it was judged by.
    pub(crate) fn count(
        &mut self,
        record: &Record<'_>,
        session: SessionId,
        blobs: &dyn Blobs,
        root: &dyn Fn(&str) -> PathBuf,
    ) {
        let asked = RefCell::new(Vec::new());
        let noted = |directory: &str| {
            let project = root(directory);
            asked.borrow_mut().push((directory.to_owned(), project.clone()));
            project
        };
        let scope = SafetyScope { session, inherited: false, blobs, root: &noted };
        self.counts.apply(&mut self.calls, record, &scope);
        self.projects.extend(asked.into_inner());
    }

    pub(crate) fn is_current(&self, root: &dyn Fn(&str) -> PathBuf) -> bool {
        self.projects.len() <= DIRECTORIES
            && self.projects.iter().all(|(directory, project)| root(directory) == *project)
    }
}

impl SessionAt {
    /// What was allowed in this session up to here, in numbers, without what a fork inherits; resumed from a saved fold where the store keeps views.
    /// `root` gives the folder of the project that a directory belongs to.
    pub async fn safety(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<SafetySummary, ReadError> {
        let apply = |saved: &mut SavedSafety, record: &Record<'_>| self.count_safety(saved, record, root);
        let is_current = |saved: &SavedSafety| saved.is_current(root);
        let mut saved = self.saved_fold_if(SavedSafety::VERSION, is_current, apply).await?;
        saved.counts.session_ended(saved.calls, &self.safety_scope(root));
        Ok(saved.counts.end().summary())
    }

    pub(crate) fn count_safety(&self, saved: &mut SavedSafety, record: &Record<'_>, root: &dyn Fn(&str) -> PathBuf) {
        saved.count(record, self.session, self.blobs(), root);
    }

    fn safety_scope<'a>(&'a self, root: &'a dyn Fn(&str) -> PathBuf) -> SafetyScope<'a> {
        SafetyScope { session: self.session, inherited: false, blobs: self.blobs(), root }
    }
}
