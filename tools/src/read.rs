//! The tool `read`.

use super::editor_files::held;
use super::file_content::FileContent;
use super::lines::{BoundedLine, BoundedLines};
use super::seen_files::Stamp;
use super::stop_signal::{StopSignal, blocking};
use super::typed::{TypedTool, Worked};
use super::workplace::{PathAccess, Workplace};
use super::{image, open};
use annals_core::bound::Limits;
use annals_core::event::Attachment;
use annals_core::{Json, NoBlobs};
use annals_runtime::tools::{CallContext, Demand, ToolError, ToolOutput};
use base64::Engine;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Seek};
use std::path::Path;

/// How many lines one call returns by default.
const LINES: u64 = 2_000;

/// How many characters of a line are shown.
const CHARACTERS: usize = 2_000;

/// How much of a file is read to determine whether it is text.
const HEAD: u64 = 8 * 1024;

/// What remains of the limits for what is said below the lines.
const FOOTER: Limits = Limits { lines: 5, bytes: 600 };

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The file: absolute, or relative to the working directory.
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// The number of the first line to read, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// The most lines to read; 2000 without it.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u64>,
}

/// Reads text and images.
pub(super) struct Read(pub(super) Workplace);

impl TypedTool for Read {
    type Input = Input;
    const NAME: &str = "read";
    const ABOUT: &str = "Reads a file. Text comes with line numbers: each line is its number, a tab, and the line; number \
        and tab are not part of the file. At most 2000 lines come at once: page through a longer file with `offset` and \
        `limit`. Lines beyond 2000 characters are cut. Images (PNG, JPEG, GIF, WebP) and PDF files are shown to you. \
        Other binary files and directories are refused; list a directory with `ls`.";

    fn check(&self, input: &Input) -> Result<(), String> {
        match input {
            Input { offset: Some(0), .. } => Err("`offset` counts lines from 1".into()),
            Input { limit: Some(0), .. } => Err("`limit` must be at least 1".into()),
            Input { path, .. } => path_is_one(path),
        }
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        self.0.demands(Self::ACTION, &input.path, PathAccess::Look)
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let place = self.0.clone();
        place.seen().learn_key(&context.past, context.session).await;
        blocking(move |stop| {
            let path = place.resolve(&input.path).map_err(|error| format!("{}: {error}", input.path))?;
            let (mut file, found) = open::regular(&place, &path)?;
            let trouble = |error| open::trouble(&place, &path, &error);
            let content = FileContent::of(&mut file, &found, stop).map_err(trouble)?;
            let content = match place.editor() {
                Some(editor) => held(editor, &path, content),
                None => content,
            };
            let mut output = show(&place, &path, &content, file, &input, stop)?;
            let stamp = Stamp::of(&content);
            name_content(&mut output, place.seen().recorded(context.session, &path, &stamp));
            place.seen().note(context.session, &path, stamp);
            Ok(ToolOutput { read: vec![path.to_string_lossy().into_owned()], ..output })
        })
        .await
    }
}

/// Adds the hash of the content to the structured value, by which a later process knows what was read.
fn name_content(output: &mut ToolOutput, content: Option<String>) {
    let value = output.structured.as_ref().map(|value| value.value(&NoBlobs));
    if let (Some(Value::Object(mut fields)), Some(content)) = (value, content) {
        fields.insert("content".into(), content.into());
        output.structured = Some(Json::canonical(&Value::Object(fields)));
    }
}

/// A path that the system can be asked for.
pub(super) fn path_is_one(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("the path is empty".into());
    }
    if path.contains('\0') { Err("a path holds no NUL".into()) } else { Ok(()) }
}

fn show(
    place: &Workplace,
    path: &Path,
    content: &FileContent,
    mut file: File,
    input: &Input,
    stop: &StopSignal,
) -> Worked {
    let trouble = |error| open::trouble(place, path, &error);
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(trouble)?;
    let shown = place.shown(path);
    if let Some(mime) = image::mime(&head) {
        return match content {
            FileContent::Whole(bytes) if bytes.len() <= image::LONGEST => Ok(medium(path, &shown, mime, bytes)),
            _ => Err(format!("{shown} ({mime}) is too long to be shown: more than {} bytes.", image::LONGEST).into()),
        };
    }
    if head.contains(&0) {
        return Err(format!("{shown} is a binary file; it cannot be read as text.").into());
    }
    let keep = CHARACTERS * 4;
    let (page, whole) = match content {
        FileContent::Whole(bytes) => (page(BoundedLines::of(bytes.as_slice(), keep), place.bound(), input, true), true),
        FileContent::Large { .. } => {
            file.rewind().map_err(trouble)?;
            (page(BoundedLines::of(stop.watch(file), keep), place.bound(), input, false), false)
        }
    };
    let page = page.map_err(trouble)?;
    page.output(&shown, input, whole)
}

fn medium(path: &Path, shown: &str, mime: &str, bytes: &[u8]) -> ToolOutput {
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    let attachment = Attachment {
        mime: mime.into(),
        name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        uri: format!("data:{mime};base64,{encoded}").into(),
    };
    ToolOutput {
        attachments: vec![attachment],
        structured: Some(Json::canonical(&json!({"path": shown, "mime": mime, "bytes": bytes.len()}))),
        ..ToolOutput::text(format!("{shown} is attached ({mime}, {} bytes).", bytes.len()))
    }
}

/// The lines that one call shows.
#[derive(Default)]
struct ReadPage {
    text: String,
    /// How many lines it holds.
    shown: u64,
    /// How many lines there are as far as was looked.
    looked: u64,
    /// Whether a part was not UTF-8.
    lossy: bool,
}

fn page<R: std::io::Read>(
    mut lines: BoundedLines<R>,
    bound: Limits,
    input: &Input,
    count: bool,
) -> std::io::Result<ReadPage> {
    let first = input.offset.unwrap_or(1);
    let room = bound.lines.saturating_sub(FOOTER.lines).max(1) as u64;
    let most = input.limit.unwrap_or(LINES).min(LINES).min(room);
    let bytes = bound.bytes.saturating_sub(FOOTER.bytes);
    let mut page = ReadPage::default();
    let mut full = false;
    while let Some(line) = lines.next()? {
        page.looked += 1;
        if page.looked < first {
            continue;
        }
        let text = if full { String::new() } else { numbered(page.looked, &line, &mut page.lossy) };
        full |= page.shown == most || (page.shown > 0 && page.text.len() + text.len() > bytes);
        if !full {
            page.text.push_str(&text);
            page.shown += 1;
        } else if !count {
            break;
        }
    }
    Ok(page)
}

fn numbered(number: u64, line: &BoundedLine, lossy: &mut bool) -> String {
    let bytes = match number {
        1 => line.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line.bytes),
        _ => &line.bytes,
    };
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let whole = line.length == line.bytes.len() as u64;
    let text = String::from_utf8_lossy(bytes);
    // A line that is held in part may end within a character.
    *lossy |= whole && matches!(text, std::borrow::Cow::Owned(_));
    match text.char_indices().nth(CHARACTERS) {
        None => format!("{number:>6}\t{text}\n"),
        Some((cut, _)) => {
            let start = text.get(..cut).unwrap_or_default();
            format!("{number:>6}\t{start}... (cut: the line has {} bytes)\n", line.length)
        }
    }
}

impl ReadPage {
    fn output(self, shown: &str, input: &Input, whole: bool) -> Result<ToolOutput, ToolError> {
        let first = input.offset.unwrap_or(1);
        let last = first + self.shown.saturating_sub(1);
        let (mut text, more) = (self.text, self.looked > last);
        if self.shown == 0 {
            if first > 1 {
                return Err(format!("{shown} has {} lines; there is no line {first}.", self.looked).into());
            }
            text = "(The file is empty.)".into();
        } else if more && whole {
            let (total, next) = (self.looked, last + 1);
            text.push_str(&format!("\n(Lines {first} to {last} of {total}. Continue with offset {next}.)"));
        } else if more {
            text.push_str(&format!(
                "\n(Lines {first} to {last} of a very long file. Continue with offset {}.)",
                last + 1
            ));
        }
        if self.lossy {
            text.push_str("\n(The file is not UTF-8 throughout; \u{fffd} replaces what could not be decoded.)");
        }
        let total = (whole || !more).then_some(self.looked);
        let structured = json!({"path": shown, "first": first, "shown": self.shown, "lines": total});
        Ok(ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) })
    }
}
