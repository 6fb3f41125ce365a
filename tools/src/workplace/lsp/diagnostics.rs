//! What servers find in files, and what of it is new.

use super::document;
use super::protocol::LspDiagnostic;
use crate::workplace::Workplace;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many errors a result names, and how long each is, in characters.
const NAMED: usize = 20;
const SHOWN: usize = 300;

/// What a server finds, by the addresses of files.
pub(crate) type Findings = BTreeMap<String, Vec<LspDiagnostic>>;

pub(crate) fn is_error(diagnostic: &&LspDiagnostic) -> bool {
    diagnostic.severity.is_none_or(|severity| severity == 1)
}

/// The errors that are there now and were not before, one a line. An error that only moved is not new.
pub(crate) fn new_errors(place: &Workplace, server: &str, before: &Findings, now: &Findings) -> Vec<String> {
    let none = Vec::new();
    let mut new = Vec::new();
    for (uri, found) in now {
        let mut known: Vec<&LspDiagnostic> = before.get(uri).unwrap_or(&none).iter().filter(is_error).collect();
        for error in found.iter().filter(is_error) {
            match known.iter().position(|one| one.message == error.message && one.code == error.code) {
                Some(at) => drop(known.swap_remove(at)),
                None => new.push(line(place, server, uri, error)),
            }
        }
    }
    let more = new.len().saturating_sub(NAMED);
    new.truncate(NAMED);
    new.extend((more > 0).then(|| format!("... {more} more")));
    new
}

/// A finding in one line.
pub(crate) fn line(place: &Workplace, server: &str, uri: &str, found: &LspDiagnostic) -> String {
    let shown = document::path(uri).map_or_else(|| uri.to_owned(), |path| place.shown(&path));
    let (line, column) = (found.range.start.line + 1, found.range.start.character + 1);
    let message: String = found.message.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect();
    let code = match &found.code {
        Some(Value::Number(number)) => format!(" [{number}]"),
        Some(Value::String(text)) => format!(" [{text}]"),
        _ => String::new(),
    };
    format!("{shown}:{line}:{column}: {message}{code} ({server})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workplace::lsp::protocol::{LspPosition, LspRange};

    fn error(line: u32, message: &str) -> LspDiagnostic {
        LspDiagnostic {
            range: LspRange { start: LspPosition { line, character: 4 } },
            message: message.into(),
            ..LspDiagnostic::default()
        }
    }

    #[test]
    fn an_error_that_moved_is_not_new_and_a_second_one_of_its_kind_is() {
        let place = Workplace::at("/project", "/project");
        let found = |errors: Vec<LspDiagnostic>| Findings::from([("file:///project/a.py".to_owned(), errors)]);
        let before = found(vec![error(1, "x is not defined")]);
        let warning = LspDiagnostic { severity: Some(2), ..error(3, "unused") };
        let now = found(vec![error(5, "x is not defined"), error(7, "x is not defined"), warning]);
        assert_eq!(new_errors(&place, "p", &before, &now), ["a.py:8:5: x is not defined (p)"]);
        assert!(new_errors(&place, "p", &now, &before).is_empty());
    }
}
