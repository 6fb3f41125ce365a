//! What an import reads: the sources that changed since they were imported.

use super::changed::is_part_of;
use super::codex::RolloutLibrary;
use super::discover::{Homes, ListedSession, Selection, list};
use super::recognise::{ImportSource, RecogniseError, SourceForm, recognise};
use super::report::SessionReport;
use super::state::{FileStamps, ImportState, PlannedSource, SessionPosition};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

/// What an import reads, and what it need not read.
#[derive(Debug, Default)]
pub struct ImportPlan {
    /// The sources to import, oldest session first.
    pub sources: Vec<PlannedSource>,
    /// The selected sessions of files that did not change, as an import without anything new reports them. They have no title.
    pub known: Vec<SessionReport>,
    /// What could not be recognised or listed.
    pub errors: Vec<RecogniseError>,
}

impl ImportPlan {
    /// Of the selected sessions below `homes`, and of files that were named.
    /// `again`: also what did not change, if reading it again has something to report, such as damage.
    pub fn of(homes: &Homes, named: &[PathBuf], selection: &Selection, state: &mut ImportState, again: bool) -> Self {
        let (mut files, errors) = homes.files();
        files.extend(named.iter().cloned());
        let mut plan = Self { errors, ..Self::default() };
        let (mut unchanged, mut found) = (Vec::new(), Vec::new());
        for path in files {
            let Some(stamps) = FileStamps::of(&path) else { continue };
            if let Some(form) = state.unchanged(&path, &stamps, again) {
                unchanged.extend(form.map(|form| (path, form)));
                continue;
            }
            match recognise(&path) {
                Ok(source) => found.push((source, stamps)),
                Err(error) if error.is_foreign() => state.note(&path, stamps, None, true),
                Err(error) => plan.errors.push(error),
            }
        }
        with_first_parts(&mut found, &mut unchanged, state);
        let mut listed = Vec::new();
        for (source, stamps) in found {
            match list(&source) {
                Ok(sessions) => listed.push((source, stamps, sessions)),
                Err(error) => plan.errors.push(error),
            }
        }
        // OpenCode moved stored sessions to its database, and left the files.
        let is_database = |form: SourceForm| form == SourceForm::OpenCodeDatabase;
        let there = unchanged.iter().filter(|(_, form)| is_database(*form)).flat_map(|(path, _)| state.positions(path));
        let mut in_database: HashSet<String> = there.map(|it| it.foreign.clone()).collect();
        let databases = listed.iter().filter(|(source, ..)| is_database(source.form));
        in_database.extend(databases.flat_map(|(.., sessions)| sessions).map(|it| it.foreign.clone()));
        for (source, stamps, sessions) in listed {
            let is_moved = source.form == SourceForm::OpenCodeStorage;
            if is_moved && sessions.iter().all(|it| in_database.contains(&it.foreign)) {
                state.note(&source.path, stamps, Some(source.form), true);
                continue;
            }
            let is_named = sessions.is_empty() && *selection == Selection::default() && named.contains(&source.path);
            let listed = sessions.len();
            let chosen: Vec<ListedSession> = sessions.into_iter().filter(|it| selection.takes(it)).collect();
            if is_named || !chosen.is_empty() {
                let position =
                    |it: ListedSession| SessionPosition { foreign: it.foreign, updated: it.updated, rows: it.rows };
                let created = chosen.iter().map(|it| it.created).min().unwrap_or_default();
                let is_whole = chosen.len() == listed;
                let positions = chosen.into_iter().map(position).collect();
                let source = ImportSource { only: None, ..source };
                let planned = PlannedSource { source, stamps: Some(stamps), positions, created, is_whole };
                plan.add(planned, selection, state, again);
            }
        }
        plan.known.extend(unchanged.iter().flat_map(|(path, _)| state.reports(path, selection)));
        plan.sources.sort_by_key(|it| it.created);
        plan
    }

    /// Adds a source with its selected sessions; of a database, those that changed.
    fn add(&mut self, planned: PlannedSource, selection: &Selection, state: &mut ImportState, again: bool) {
        let PlannedSource { mut source, stamps, positions, created, is_whole } = planned;
        if source.form == SourceForm::OpenCodeDatabase {
            let reads_all = again && !state.is_complete(&source.path);
            let before = if reads_all { &[] } else { state.positions(&source.path) };
            let changed = positions.iter().filter(|it| !before.contains(it)).map(|it| it.foreign.clone());
            let only: BTreeSet<String> = changed.collect();
            let is_read = |session: &SessionReport| only.iter().any(|it| is_part_of(&session.foreign, it));
            self.known.extend(state.reports(&source.path, selection).into_iter().filter(|it| !is_read(it)));
            if only.is_empty() {
                return state.has_not_changed(&source.path, stamps);
            }
            source.only = Some(only);
        }
        self.sources.push(PlannedSource { source, stamps, positions, created, is_whole });
    }
}

/// A later part of a thread of Codex is read with the first one: that one is read again when there is a new part.
fn with_first_parts(
    found: &mut Vec<(ImportSource, FileStamps)>,
    unchanged: &mut Vec<(PathBuf, SourceForm)>,
    state: &mut ImportState,
) {
    let is_rollout = |form: SourceForm| form == SourceForm::CodexRollout;
    if !found.iter().any(|(source, _)| is_rollout(source.form)) {
        return;
    }
    let known = unchanged.iter().filter(|(_, form)| is_rollout(*form)).map(|(path, _)| path.as_path());
    let new = found.iter().filter(|(source, _)| is_rollout(source.form)).map(|(source, _)| source.path.as_path());
    let library = RolloutLibrary::of(known.chain(new));
    let is_part = |source: &ImportSource| is_rollout(source.form) && library.is_read_with_another(&source.path);
    let parts: Vec<(ImportSource, FileStamps)> = found.extract_if(.., |(source, _)| is_part(source)).collect();
    for (part, stamps) in parts {
        let first = library.read_with(&part.path).filter(|first| unchanged.iter().any(|(path, _)| path == first));
        if let Some((first, of_first)) = first.and_then(|first| Some((first, FileStamps::of(first)?))) {
            unchanged.retain(|(path, _)| path != first);
            state.forget(first);
            found.push((ImportSource { path: first.to_owned(), ..part.clone() }, of_first));
        }
        state.note(&part.path, stamps, Some(part.form), true);
    }
    for (source, _) in found.iter_mut().filter(|(source, _)| is_rollout(source.form)) {
        source.library = Some(library.clone());
    }
}
