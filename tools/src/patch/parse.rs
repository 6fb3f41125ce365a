//! The text of a patch: `*** Begin Patch`, sections of files, `*** End Patch`.

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FilePatch {
    /// Makes a file.
    Add {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
    /// Changes a file, and perhaps moves it.
    Update {
        path: String,
        moved_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// One place of a file that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Lines somewhere above it (`@@ line`), in their order.
    pub(crate) anchors: Vec<String>,
    /// The lines as they are, and as they are to be.
    pub(crate) old: Vec<String>,
    pub(crate) new: Vec<String>,
    /// Whether the old lines are the last of the file.
    pub(crate) at_end: bool,
}

impl FilePatch {
    /// The paths that it names.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            Self::Add { path, .. } | Self::Delete { path } => vec![path],
            Self::Update { path, moved_to, .. } => {
                [Some(path), moved_to.as_ref()].into_iter().flatten().map(String::as_str).collect()
            }
        }
    }
}

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";

/// The files of a patch.
///
/// # Errors
/// What is wrong, with the line.
pub(crate) fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = unwrapped(text).lines().collect();
    let first = lines.iter().position(|line| line.trim() == "*** Begin Patch");
    let first = first.ok_or("the patch must begin with `*** Begin Patch`")? + 1;
    let length = lines.iter().skip(first).position(|line| line.trim() == "*** End Patch");
    let last = first + length.ok_or("the patch must end with `*** End Patch`")?;
    let mut files = Vec::new();
    let mut at = first;
    while at < last {
        let line = lines.get(at).copied().unwrap_or_default();
        at += 1;
        let body = |at: usize| {
            let rest = lines.get(at..last).unwrap_or_default();
            rest.get(..rest.iter().take_while(|line| !is_header(line)).count()).unwrap_or_default()
        };
        if let Some(path) = line.strip_prefix(ADD) {
            let body = body(at);
            let added: Option<Vec<&str>> = body.iter().map(|line| line.strip_prefix('+')).collect();
            let added = added.ok_or_else(|| format!("line {}: every line of an added file begins with `+`", at + 1))?;
            let content = added.iter().map(|line| format!("{line}\n")).collect();
            files.push(FilePatch::Add { path: path.trim().into(), content });
            at += body.len();
        } else if let Some(path) = line.strip_prefix(DELETE) {
            files.push(FilePatch::Delete { path: path.trim().into() });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let moved_to = lines.get(at).filter(|_| at < last).and_then(|line| line.strip_prefix(MOVE));
            at += usize::from(moved_to.is_some());
            let body = body(at);
            let hunks = hunks(body, at)?;
            if hunks.is_empty() && moved_to.is_none() {
                return Err(format!("line {at}: the update of {} changes nothing", path.trim()));
            }
            files.push(FilePatch::Update {
                path: path.trim().into(),
                moved_to: moved_to.map(|path| path.trim().into()),
                hunks,
            });
            at += body.len();
        } else if !line.trim().is_empty() {
            return Err(format!(
                "line {at}: expected `{}`, `{}` or `{}`, found {line:?}",
                ADD.trim(),
                UPDATE.trim(),
                DELETE.trim()
            ));
        }
    }
    match files.is_empty() {
        true => Err("the patch names no file".into()),
        false => Ok(files),
    }
}

fn is_header(line: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|header| line.starts_with(header))
}

/// Models wrap patches into here-documents and fences.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    match (text.find("*** Begin Patch"), text.rfind("*** End Patch")) {
        (Some(first), Some(last)) if first < last => text.get(first..last + "*** End Patch".len()).unwrap_or(text),
        _ => text,
    }
}

fn hunks(lines: &[&str], offset: usize) -> Result<Vec<Hunk>, String> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    let is_empty = |hunk: &Hunk| hunk.old.is_empty() && hunk.new.is_empty();
    for (at, line) in lines.iter().enumerate() {
        if let Some(anchor) = line.strip_prefix("@@") {
            if !is_empty(&hunk) {
                hunks.push(std::mem::take(&mut hunk));
            }
            // `@@ -1,2 +3,4 @@ line` of a unified diff names lines by numbers, which models get wrong.
            let anchor = anchor.trim();
            let anchor = match anchor.strip_prefix('-').and_then(|rest| rest.split_once("@@")) {
                Some((_, after)) => after.trim(),
                None => anchor,
            };
            hunk.anchors.extend((!anchor.is_empty()).then(|| anchor.to_owned()));
        } else if line.trim_end() == "*** End of File" {
            hunk.at_end = true;
        } else if line.is_empty() {
            // A blank line of the context whose space was trimmed.
            hunk.old.push(String::new());
            hunk.new.push(String::new());
        } else if let Some(same) = line.strip_prefix(' ') {
            hunk.old.push(same.into());
            hunk.new.push(same.into());
        } else if let Some(gone) = line.strip_prefix('-') {
            hunk.old.push(gone.into());
        } else if let Some(added) = line.strip_prefix('+') {
            hunk.new.push(added.into());
        } else {
            return Err(format!(
                "line {}: expected a line that begins with ` `, `-`, `+` or `@@`, found {line:?}",
                offset + at + 1
            ));
        }
    }
    if !is_empty(&hunk) {
        hunks.push(hunk);
    }
    Ok(hunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files_and_their_hunks() {
        let patch = "cat <<'EOF'\n*** Begin Patch\n*** Add File: a/new.txt\n+one\n+\n*** Update File: b.rs\n*** Move to: c.rs\n@@ fn b()\n \
                     same\n-old\n+new\n@@\n+end\n*** End of File\n*** Delete File: d\n*** End Patch\nEOF";
        let texts = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        let first = Hunk {
            anchors: texts(&["fn b()"]),
            old: texts(&["same", "old"]),
            new: texts(&["same", "new"]),
            at_end: false,
        };
        let second = Hunk { new: texts(&["end"]), at_end: true, ..Hunk::default() };
        assert_eq!(
            parse(patch),
            Ok(vec![
                FilePatch::Add { path: "a/new.txt".into(), content: "one\n\n".into() },
                FilePatch::Update { path: "b.rs".into(), moved_to: Some("c.rs".into()), hunks: vec![first, second] },
                FilePatch::Delete { path: "d".into() },
            ])
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_with_the_line() {
        let wrong = |text: &str| parse(text).err().unwrap_or_default();
        assert_eq!(wrong("--- a\n+++ b"), "the patch must begin with `*** Begin Patch`");
        assert_eq!(wrong("*** Begin Patch\n*** Add File: a\n+b"), "the patch must end with `*** End Patch`");
        assert!(wrong("*** Begin Patch\n*** Add File: a\nb\n*** End Patch").starts_with("line 3: every line"));
        assert!(wrong("*** Begin Patch\n*** Update File: a\nb\n*** End Patch").starts_with("line 3: expected a line"));
        assert_eq!(wrong("*** Begin Patch\n*** End Patch"), "the patch names no file");
    }
}
