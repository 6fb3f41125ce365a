//! Tool calls on a person's screen: one line when a call begins, one when it ends. On a terminal the second takes the
//! place of the first where nothing came between.

use super::Screen;
use crate::layout::{clip, plain};
use crate::look::{Tone, counted, duration};
use crate::tale::{input_in_brief, one_line};
use annals_core::event::{ToolOutcome, ToolSettled};
use annals_core::{Blobs, CallId, Event, Record, SessionId, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// How many lines of a diff are shown.
const DIFF: usize = 12;

/// The calls that run, and the children whose calls are shown.
#[derive(Debug, Default)]
pub(super) struct Calls {
    running: BTreeMap<(SessionId, CallId), Running>,
    children: BTreeMap<SessionId, String>,
    /// The call whose line is the last on the screen.
    newest: Option<(SessionId, CallId)>,
}

#[derive(Clone, Debug)]
struct Running {
    /// `bash  cargo test`
    told: String,
    since: Time,
}

impl Calls {
    pub(super) fn child(&mut self, child: SessionId, agent: &str) {
        self.children.insert(child, agent.to_owned());
    }

    /// Something else was written.
    pub(super) fn newest_line_is_no_call(&mut self) {
        self.newest = None;
    }
}

impl Screen {
    /// Shows what a record says of a call of the Session or of one of its children.
    pub(super) fn call_of(&mut self, record: &Record<'_>, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        let child = match self.calls.children.get(&record.session) {
            Some(agent) => format!("  {agent}: "),
            None if self.shows(record.session) => String::new(),
            None => return Ok(()),
        };
        match record.event {
            Event::ToolCalled(called) => {
                let about = input_in_brief(&called.input, &self.directory, blobs);
                let told = format!("{child}{}  {}", called.name, plain(&about)).trim_end().to_owned();
                let key = (record.session, called.call.clone());
                self.calls.running.insert(key.clone(), Running { told: told.clone(), since: record.at });
                if self.remarks.are_watched() {
                    let line = clip(&format!("· {told}"), self.remarks.look().width);
                    self.line(Tone::Tool, &line, out)?;
                    self.calls.newest = Some(key).filter(|_| !self.above_a_prompt);
                }
                Ok(())
            }
            Event::ToolSettled(settled) => self.settled(record, settled, blobs, out),
            _ => Ok(()),
        }
    }

    fn settled(
        &mut self,
        record: &Record<'_>,
        settled: &ToolSettled,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let key = (record.session, settled.call.clone());
        // A call that began before this process looked has no line.
        let Some(Running { told, since }) = self.calls.running.remove(&key) else { return Ok(()) };
        let took = record.at.millis().saturating_sub(since.millis());
        let failed = settled.outcome != ToolOutcome::Completed;
        let (mark, tone, rest) = match failed {
            true => {
                let why =
                    settled.error.as_ref().map(|error| one_line(&plain(&error.resolve(blobs)))).unwrap_or_default();
                ('✗', Tone::Bad, why)
            }
            false => ('✓', Tone::Tool, self.summary(settled, took, blobs)),
        };
        if self.calls.newest.as_ref() == Some(&key) {
            // The line above begins this call, and nothing came between.
            self.remarks.write("\x1b[1A\x1b[2K\r");
        }
        let line = format!("{mark} {told}{}{rest}", if rest.is_empty() { "" } else { "  " });
        let width = self.remarks.look().width;
        let line = if self.remarks.are_watched() { clip(&line, width) } else { line };
        self.line(tone, &line, out)?;
        if !failed { self.diff(settled, blobs, out) } else { Ok(()) }
    }

    fn summary(&self, settled: &ToolSettled, took: u64, blobs: &dyn Blobs) -> String {
        let mut parts = Vec::new();
        if took >= 1_000 {
            parts.push(duration(took));
        }
        let output = settled.output.resolve(blobs);
        match output.trim_end().lines().count() {
            0 => {}
            1 => parts.push(plain(output.trim())),
            lines => parts.push(counted(lines as u64, "line")),
        }
        if !settled.attachments.is_empty() {
            parts.push(counted(settled.attachments.len() as u64, "attachment"));
        }
        parts.join(" · ")
    }

    /// What a call changed, as the tool tells it in its structured value.
    fn diff(&mut self, settled: &ToolSettled, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        let Some(Value::Object(fields)) = settled.structured.as_ref().map(|value| value.value(blobs)) else {
            return Ok(());
        };
        let Some(diff) = fields.get("diff").and_then(Value::as_str).filter(|_| self.remarks.are_watched()) else {
            return Ok(());
        };
        let width = self.remarks.look().width;
        let changed = |line: &&str| !line.starts_with("---") && !line.starts_with("+++") && !line.starts_with("@@");
        let lines: Vec<&str> = diff.lines().filter(changed).collect();
        for line in lines.iter().take(DIFF) {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Good,
                Some(b'-') => Tone::Bad,
                _ => Tone::Dim,
            };
            self.line(tone, &clip(&format!("    {}", plain(line)), width), out)?;
        }
        match lines.len().checked_sub(DIFF) {
            Some(more @ 1..) => self.aside(&format!("    … {}", counted(more as u64, "more line")), out),
            _ => Ok(()),
        }
    }
}
