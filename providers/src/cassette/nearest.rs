//! Which recorded request is most like the one that was asked, and where the two part: what a miss is explained by.

use super::folder::CassetteFolder;
use super::line::{CassetteHead, PartText};
use super::{CassetteError, CassetteKey};
use annals_core::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many characters of a text are shown before and after the place where two texts part.
const BEFORE: usize = 24;
const AFTER: usize = 72;

/// The recorded request that is most like one that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The key under which it is recorded.
    pub recorded: CassetteKey,
    /// How many requests are recorded.
    pub of: usize,
    /// The first part in which the two differ; `None` when only the attempt does.
    pub difference: Option<PartDifference>,
}

/// A part in which two requests differ, with the texts from shortly before the first difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartDifference {
    /// Its name, such as `message 3`.
    pub part: String,
    /// What was recorded; `None` when the recorded request has no such part.
    pub recorded: Option<String>,
    /// What was asked; `None` when the request has no such part.
    pub asked: Option<String>,
}

/// Finds the recorded request with the fewest differing parts; of equal ones the first by name.
pub(super) fn nearest(
    folder: &CassetteFolder,
    asked: CassetteKey,
    parts: &[PartText],
) -> Result<Option<Box<Nearest>>, CassetteError> {
    let heads = folder.heads()?;
    let digests: BTreeMap<&str, Digest> =
        parts.iter().map(|text| (text.part.part.as_str(), text.part.digest)).collect();
    let differing = |head: &CassetteHead| {
        let theirs: BTreeMap<&str, Digest> = head.parts.iter().map(|part| (part.part.as_str(), part.digest)).collect();
        let names: BTreeSet<&str> = digests.keys().chain(theirs.keys()).copied().collect();
        names.into_iter().filter(|name| digests.get(name) != theirs.get(name)).count()
    };
    let best = heads.iter().min_by_key(|head| (differing(head), head.attempt.abs_diff(asked.attempt)));
    Ok(best.map(|head| {
        let recorded = CassetteKey { request: head.request, attempt: head.attempt };
        Box::new(Nearest { recorded, of: heads.len(), difference: difference(folder, head, parts) })
    }))
}

fn difference(folder: &CassetteFolder, head: &CassetteHead, parts: &[PartText]) -> Option<PartDifference> {
    let text = |digest| folder.part_text(digest).unwrap_or_else(|| "(its text was not kept)".into());
    for PartText { part, text: asked } in parts {
        let recorded = head.parts.iter().find(|recorded| recorded.part == part.part);
        match recorded {
            Some(recorded) if recorded.digest == part.digest => {}
            Some(recorded) => {
                let (recorded, asked) = around(&text(recorded.digest), asked);
                return Some(PartDifference { part: part.part.clone(), recorded: Some(recorded), asked: Some(asked) });
            }
            None => {
                let (asked, _) = around(asked, "");
                return Some(PartDifference { part: part.part.clone(), recorded: None, asked: Some(asked) });
            }
        }
    }
    let besides = head.parts.iter().find(|recorded| parts.iter().all(|text| text.part.part != recorded.part))?;
    let (recorded, _) = around(&text(besides.digest), "");
    Some(PartDifference { part: besides.part.clone(), recorded: Some(recorded), asked: None })
}

/// Two texts from shortly before the first character in which they differ.
fn around(a: &str, b: &str) -> (String, String) {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = common.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let mut shown: String = if from > 0 { "…".into() } else { String::new() };
        let mut chars = text.chars().skip(from);
        shown.extend(chars.by_ref().take(common - from + AFTER));
        if chars.next().is_some() {
            shown.push('…');
        }
        shown
    };
    (cut(a), cut(b))
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorded, of, difference } = self;
        write!(f, "of {of} recorded the nearest is {recorded}")?;
        match difference {
            None => f.write_str(", the same request"),
            Some(difference) => write!(f, ": {difference}"),
        }
    }
}

impl fmt::Display for PartDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, recorded, asked } = self;
        match (recorded, asked) {
            (Some(recorded), Some(asked)) => {
                write!(f, "{part} differs first; recorded is {recorded}, asked was {asked}")
            }
            (Some(recorded), None) => write!(f, "it has a {part} besides: {recorded}"),
            (None, Some(asked)) => write!(f, "it has no {part}: {asked}"),
            (None, None) => write!(f, "{part} differs first"),
        }
    }
}
