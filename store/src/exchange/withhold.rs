//! Which texts an export withholds (`docs/reference/digest.md#withheld-and-erased-texts`).

use super::matching;
use super::rule::{Selector, WithholdRule};
use crate::log::Slice;
use annals_core::event::{ChildEvent, ContextEvent, PermissionEvent, SessionEvent, StepEvent, ToolEvent};
use annals_core::{Batch, CallId, Event, PermissionId, Seq, SessionId};
use globset::GlobMatcher;
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The rules of an export.
#[derive(Clone, Debug)]
pub enum WithholdRules {
    /// Withhold what a rule selects.
    Withhold(Vec<WithholdRule>),
    /// Withhold everything else.
    Only(Vec<WithholdRule>),
}

impl WithholdRules {
    /// The expressions of what is withheld; none where everything else is.
    pub(super) fn expressions(&self) -> Vec<&Regex> {
        match self {
            Self::Withhold(rules) => rules.iter().filter_map(WithholdRule::text).collect(),
            Self::Only(_) => Vec::new(),
        }
    }

    fn rules(&self) -> &[WithholdRule] {
        match self {
            Self::Withhold(rules) | Self::Only(rules) => rules,
        }
    }
}

/// A text of a batch: its event, its place, and the text if it is known.
pub(crate) type SelectableText = (Seq, String, Option<String>);

/// What one reading of a session found out about the rules: a call may be selected by what ended it.
#[derive(Debug)]
pub(crate) struct TextSelection<'a> {
    rules: &'a WithholdRules,
    /// The calls that each rule selects.
    calls: Vec<BTreeSet<CallId>>,
    /// Whether each rule selects anything.
    matched: Vec<bool>,
    /// The calls that permission questions are about.
    questions: BTreeMap<PermissionId, CallId>,
    /// The calls that began children.
    children: BTreeMap<SessionId, CallId>,
    /// Where the session is.
    directory: String,
}

impl<'a> TextSelection<'a> {
    pub fn new(rules: &'a WithholdRules) -> Self {
        let count = rules.rules().len();
        Self {
            rules,
            calls: vec![BTreeSet::new(); count],
            matched: vec![false; count],
            questions: BTreeMap::new(),
            children: BTreeMap::new(),
            directory: String::new(),
        }
    }

    /// Takes a batch in. `texts` gives each text of it that is known, with its place in the batch.
    pub fn take(&mut self, batch: &Batch, texts: &[SelectableText]) {
        for record in batch.records() {
            self.note(record.event);
            let own: Vec<_> = texts.iter().filter(|(seq, ..)| *seq == record.seq).collect();
            let paths = paths(record.event, &own);
            for (at, rule) in self.rules.rules().iter().enumerate() {
                let selects = match &rule.selects {
                    Selector::Tool(name) => {
                        matches!(record.event, Event::Tool(ToolEvent::Called(called)) if called.name == *name)
                    }
                    Selector::Path(glob) => paths.iter().any(|path| self.path_matches(glob, path)),
                    Selector::Text(regex) => own.iter().any(|(.., text)| matches_text(regex, text.as_deref())),
                    Selector::Seqs(seqs) => !own.is_empty() && seqs.contains(&record.seq.0),
                    Selector::Kind(kind) => !own.is_empty() && record.event.kind().name() == kind,
                };
                if !(selects && rule.reaches(batch.at)) {
                    continue;
                }
                if let Some(matched) = self.matched.get_mut(at) {
                    *matched = true;
                }
                let of_call = matches!(rule.selects, Selector::Tool(_) | Selector::Path(_));
                if let (true, Some(call), Some(calls)) = (of_call, self.call(record.event), self.calls.get_mut(at)) {
                    calls.insert(call);
                }
            }
        }
    }

    /// The first rule that selects nothing, as it was written.
    pub fn unmatched(&self) -> Option<&str> {
        let rules = self.rules.rules().iter().zip(&self.matched);
        rules.into_iter().find(|(_, matched)| !**matched).map(|(rule, _)| rule.written())
    }

    /// The rules that select something, as indices.
    pub fn matched(&self) -> Vec<usize> {
        self.matched.iter().enumerate().filter(|(_, matched)| **matched).map(|(at, _)| at).collect()
    }

    /// Whether a rule selects each of these texts of a batch.
    pub fn selected(&self, batch: &Batch, texts: &[SelectableText]) -> Vec<bool> {
        let mut selected = Vec::with_capacity(texts.len());
        let mut event: Option<(Seq, bool)> = None;
        for (seq, place, text) in texts {
            let whole = match event {
                Some((known, whole)) if known == *seq => whole,
                _ => self.selects_event(batch, *seq, texts),
            };
            event = Some((*seq, whole));
            let called = usize::try_from(seq.0 - batch.first.0).ok().and_then(|at| batch.events.get(at));
            let name_of_tool = matches!(called, Some(Event::Tool(ToolEvent::Called(_)))) && place == "/name";
            let mut reaching = self.rules.rules().iter().filter(|rule| rule.reaches(batch.at));
            let by_text = reaching.any(|rule| match &rule.selects {
                Selector::Text(regex) => matches_text(regex, text.as_deref()),
                // A rule of calls leaves it visible which tool was called.
                Selector::Seqs(seqs) => name_of_tool && seqs.contains(&seq.0),
                Selector::Kind(kind) => name_of_tool && kind == "tool.called",
                Selector::Tool(_) | Selector::Path(_) => false,
            });
            let keeps_name = name_of_tool && matches!(self.rules, WithholdRules::Withhold(_));
            selected.push(by_text || (whole && !keeps_name));
        }
        self.add_answers(batch, texts, &mut selected);
        selected
    }

    /// The body of a recorded answer may hold a text of its events in fragments, which no expression finds: it goes with them.
    fn add_answers(&self, batch: &Batch, texts: &[SelectableText], selected: &mut [bool]) {
        let event = |seq: Seq| usize::try_from(seq.0 - batch.first.0).ok().and_then(|at| batch.events.get(at));
        let is_answer = |seq: Seq| matches!(event(seq), Some(Event::Step(StepEvent::AnswerRecorded(_))));
        let withholds = matches!(self.rules, WithholdRules::Withhold(_)) && selected.contains(&true);
        for ((seq, place, _), selected) in texts.iter().zip(selected).filter(|_| withholds) {
            *selected |= place == "/body" && is_answer(*seq);
        }
    }

    fn selects_event(&self, batch: &Batch, seq: Seq, texts: &[SelectableText]) -> bool {
        let at = usize::try_from(seq.0 - batch.first.0).unwrap_or(usize::MAX);
        let Some(event) = batch.events.get(at) else { return false };
        let own: Vec<_> = texts.iter().filter(|(of, ..)| *of == seq).collect();
        let (call, paths) = (self.call(event), paths(event, &own));
        self.rules.rules().iter().zip(&self.calls).any(|(rule, calls)| {
            let of_call = call.as_ref().is_some_and(|call| calls.contains(call));
            rule.reaches(batch.at)
                && match &rule.selects {
                    Selector::Tool(_) => of_call,
                    Selector::Path(glob) => of_call || paths.iter().any(|path| self.path_matches(glob, path)),
                    Selector::Seqs(seqs) => seqs.contains(&seq.0),
                    Selector::Kind(kind) => event.kind().name() == kind,
                    Selector::Text(_) => false,
                }
        })
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Session(SessionEvent::Created(created)) => self.directory = created.location.directory.clone(),
            Event::Permission(PermissionEvent::Asked(asked)) => {
                self.questions.extend(asked.call.clone().map(|call| (asked.permission.clone(), call)));
            }
            Event::Child(ChildEvent::Started(started)) => {
                self.children.extend(started.call.clone().map(|call| (started.child, call)));
            }
            _ => {}
        }
    }

    /// The call that an event belongs to.
    fn call(&self, event: &Event) -> Option<CallId> {
        match event {
            Event::Tool(ToolEvent::Called(called)) => Some(called.call.clone()),
            Event::Tool(ToolEvent::Progressed(progressed)) => Some(progressed.call.clone()),
            Event::Tool(ToolEvent::Settled(settled)) => Some(settled.call.clone()),
            Event::Permission(PermissionEvent::Asked(asked)) => asked.call.clone(),
            Event::Permission(PermissionEvent::Replied(replied)) => self.questions.get(&replied.permission).cloned(),
            Event::Context(ContextEvent::InstructionDiscovered(found)) => found.call.clone(),
            Event::Child(ChildEvent::Settled(settled)) => self.children.get(&settled.child).cloned(),
            _ => None,
        }
    }

    /// A path matches as it is recorded, and relative to the directory of the session.
    fn path_matches(&self, glob: &GlobMatcher, path: &str) -> bool {
        let matches = |path: &str| {
            let relative = Path::new(path).strip_prefix(&self.directory).ok();
            glob.is_match(path) || relative.is_some_and(|relative| glob.is_match(relative))
        };
        matches(path) || (!path.is_ascii() && matching::text_forms(path).iter().any(|form| matches(form)))
    }
}

fn matches_text(regex: &Regex, text: Option<&str>) -> bool {
    text.is_some_and(|text| matching::matches(regex, text))
}

/// The members of a tool's input that hold paths.
const PATH_MEMBERS: &[&str] =
    &["path", "paths", "file", "files", "filePath", "file_path", "notebook_path", "directory"];

/// The paths that an event records: those of files that it names, and those in the input of a call.
fn paths(event: &Event, texts: &[&SelectableText]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, place, text) in texts.iter().copied() {
        let Some(text) = text else { continue };
        let last = place.rsplit('/').next().unwrap_or_default();
        if place == "/input" && matches!(event, Event::Tool(ToolEvent::Called(_))) {
            if let Ok(input) = serde_json::from_str::<Value>(text) {
                paths_in(&input, false, &mut found);
            }
        } else if last == "path" || ["/paths/", "/changed/", "/resources/"].iter().any(|list| place.starts_with(list)) {
            found.push(text.clone());
        } else if place.starts_with("/attachments/") && (last == "name" || last == "uri") {
            found.push(text.strip_prefix("file://").unwrap_or(text).to_owned());
        } else if (place.starts_with("/entries/") || place.starts_with("/set/"))
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            paths_in(&value, false, &mut found);
        }
    }
    found
}

fn paths_in(value: &Value, is_path: bool, found: &mut Vec<String>) {
    match value {
        Value::String(path) if is_path => found.push(path.clone()),
        Value::Array(items) => items.iter().for_each(|item| paths_in(item, is_path, found)),
        Value::Object(members) => {
            for (name, member) in members {
                paths_in(member, PATH_MEMBERS.contains(&name.as_str()), found);
            }
        }
        _ => {}
    }
}

/// Decides about the texts of a session, batch after batch, in order.
#[derive(Debug)]
pub(crate) struct Withholding<'a> {
    /// `None`: only hashes are decided about.
    selection: Option<TextSelection<'a>>,
    /// Whether a text was withheld so far.
    any: bool,
    /// Whether a text of a recorded profile was.
    of_profile: bool,
    /// Texts so far.
    pub texts: u64,
    /// How many of them are withheld.
    pub withheld: u64,
}

impl<'a> Withholding<'a> {
    pub fn new(selection: TextSelection<'a>) -> Self {
        Self { selection: Some(selection), any: false, of_profile: false, texts: 0, withheld: 0 }
    }

    /// Decides about hashes alone: of a log that continues from withheld texts, of which some may be of a recorded profile.
    pub fn of_hashes(of_profile: bool) -> Self {
        Self { selection: None, any: true, of_profile, texts: 0, withheld: 0 }
    }

    /// Whether a text of a recorded profile was withheld so far.
    pub fn of_profile(&self) -> bool {
        self.of_profile
    }

    /// As [`Withholding::decide`]; of what is withheld, whether it is a hash. What says that texts were erased is not.
    pub fn decide_kinds(&mut self, slice: &Slice, texts: &[SelectableText]) -> Vec<Option<bool>> {
        let (decided, batch) = (self.decide(slice, texts), &slice.batch);
        let kind = |(withheld, (seq, place, _)): (bool, &SelectableText)| {
            let at = usize::try_from(seq.0 - batch.first.0).unwrap_or(usize::MAX);
            let of_erasure = matches!(batch.events.get(at), Some(Event::Erasure(_)));
            (withheld && !of_erasure).then(|| Hash::at(batch, *seq, place).is_some())
        };
        decided.into_iter().zip(texts).map(kind).collect()
    }

    /// Whether each of these texts of a batch is withheld. A hash is, when a text that was withheld may have gone into it.
    pub fn decide(&mut self, slice: &Slice, texts: &[SelectableText]) -> Vec<bool> {
        let batch = &slice.batch;
        let rules = self.selection.as_ref().map(|selection| selection.rules);
        let mut decided = match &self.selection {
            Some(selection) => selection.selected(batch, texts),
            None => vec![false; texts.len()],
        };
        if let Some(WithholdRules::Only(_)) = rules {
            // What a fork did not inherit and is in a batch with the cut inside is not selected.
            for (decided, (seq, ..)) in decided.iter_mut().zip(texts) {
                *decided = !*decided || *seq >= slice.until;
            }
        }
        let hashes: Vec<Option<Hash>> = texts.iter().map(|(seq, place, _)| Hash::at(batch, *seq, place)).collect();
        for ((decided, hash), (seq, _, text)) in decided.iter_mut().zip(&hashes).zip(texts) {
            *decided |= text.is_none();
            if *decided && hash.is_none() {
                self.any = true;
                let at = usize::try_from(seq.0 - batch.first.0).unwrap_or(usize::MAX);
                self.of_profile |= matches!(batch.events.get(at), Some(Event::Profile(_)));
            }
        }
        let withholds = match rules {
            Some(WithholdRules::Withhold(rules)) => !rules.is_empty(),
            Some(WithholdRules::Only(_)) | None => true,
        };
        let of_process = |(decided, (_, place, _)): (&bool, &SelectableText)| *decided && place.starts_with(PROCESS);
        let processes = decided.iter().zip(texts).filter(|it| of_process(*it)).map(|(_, (seq, ..))| *seq);
        let processes: BTreeSet<Seq> = processes.collect();
        for ((decided, hash), (seq, ..)) in decided.iter_mut().zip(&hashes).zip(texts) {
            *decided |= match hash {
                None => false,
                Some(Hash::Commit) => processes.contains(seq),
                Some(Hash::Request) => self.any,
                Some(Hash::Profile) => self.of_profile,
                // Files may hold a text before the log does.
                Some(Hash::Files) => withholds,
            };
        }
        self.texts += decided.len() as u64;
        self.withheld += decided.iter().filter(|withheld| **withheld).count() as u64;
        decided
    }
}

/// A text that is the hash of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    /// Of a request: everything that the model reads.
    Request,
    /// Of an agent, a model, tools or options.
    Profile,
    /// Of a tree of files.
    Files,
    /// Of a commit that a process started from: no text of a session goes into it, but who looks it up finds repository and branch.
    Commit,
}

/// The pointers of all texts of a process begin with it.
const PROCESS: &str = "/process/";

impl Hash {
    fn at(batch: &Batch, seq: Seq, place: &str) -> Option<Self> {
        let at = usize::try_from(seq.0 - batch.first.0).unwrap_or(usize::MAX);
        let kind = batch.events.get(at).map(|event| event.kind().name());
        match (kind == Some("request.sent"), place) {
            (false, "/redacted") if kind == Some("request.recorded") => Some(Self::Request),
            (true, "/digest" | "/wire") => Some(Self::Request),
            (true, "/agent_profile" | "/model_profile" | "/tools" | "/options") => Some(Self::Profile),
            (_, "/process/git/commit") => Some(Self::Commit),
            (false, "/files" | "/tree" | "/from" | "/to" | "/original") => Some(Self::Files),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
