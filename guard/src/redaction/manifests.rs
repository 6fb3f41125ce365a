//! Manifests of Kubernetes that are kept for secrets: in `kind: Secret` every value of `data` counts, under any name.

use super::contents::content;
use super::tables::lines;
use std::ops::Range;

/// The fields of a manifest whose values are secrets.
pub(super) const DATA: [&str; 2] = ["data", "stringData"];

/// The shortest value.
pub(super) const SHORTEST: usize = 4;

/// A line such as `  name: value`, also as JSON over lines has it.
struct ManifestField<'t> {
    indent: usize,
    name: &'t str,
    value: &'t str,
}

impl<'t> ManifestField<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let rest = line.trim_start();
        let rest = rest.strip_prefix("- ").map_or(rest, str::trim_start);
        let (name, value) = rest.split_once(':')?;
        let name = name.trim().trim_matches(['"', '\'']);
        let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        (!name.is_empty() && name.chars().all(legal)).then(|| Self { indent: line.len() - rest.len(), name, value })
    }
}

/// Visits the values of secrets in manifests, as YAML and as JSON over lines.
pub(super) fn spans(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let (mut is_secret, mut found, mut data): (bool, Vec<Range<usize>>, Option<usize>) = (false, Vec::new(), None);
    for (start, whole) in lines(text) {
        let (offset, line) = content(whole);
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        let begins = matches!(trimmed, "---" | "{" | "...")
            || ["- apiVersion:", "- kind:"].iter().any(|begin| trimmed.starts_with(begin));
        if begins {
            found.drain(..).filter(|_| is_secret).for_each(&mut *visit);
            (is_secret, data) = (false, None);
        }
        let field = ManifestField::of(line);
        let indent = line.len() - line.trim_start().len();
        if data.is_some_and(|data| indent <= data) {
            data = None;
        }
        match field {
            _ if data.is_some() => {
                let value = field.map_or_else(|| trimmed.trim_end_matches(['}', ',']), |field| field.value);
                let template = ["{{", "${", "<", "$("].iter().any(|begin| value.starts_with(begin));
                if value.len() >= SHORTEST && !template {
                    let at = start + offset + line.rfind(value).unwrap_or_default();
                    found.push(at..at + value.len());
                }
            }
            Some(field) if field.name == "kind" => is_secret |= field.value == "Secret",
            Some(field) if DATA.contains(&field.name) && matches!(field.value, "" | "{") => data = Some(field.indent),
            _ => {}
        }
    }
    found.drain(..).filter(|_| is_secret).for_each(visit);
}
