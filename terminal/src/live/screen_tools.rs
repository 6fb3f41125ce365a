//! Tool calls on the user's screen: one line when a call begins, one when it ends. On a terminal the second replaces
//! the first if nothing came between.

use super::Screen;
use crate::chat_screen::{LiveCall, safe};
use crate::escape::control;
use crate::layout::{clip, columns, plain};
use crate::style::{Emphasis, counted, duration};
use annals_core::event::{ToolEvent, ToolOutcome, ToolProgressed, ToolSettled};
use annals_core::{Blobs, CallId, Event, PermissionId, Record, SessionId, Time};
use annals_inspect::timeline::{
    command_failure, input_in_brief, last_lines, one_line, output_in_brief, sandbox_warning,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Instant;

/// How many lines of what a failed command gave are shown: its last ones.
const FAILED: usize = 8;

/// How many lines of a diff are shown.
const DIFF: usize = 12;

/// How many columns of a call's description are shown.
const ABOUT: usize = 32;

/// How many lines of a running command are kept for a screen that shows them.
const LIVE: usize = 8;

/// How many of the other calls are named in a question.
const NAMED: usize = 3;

/// The calls that run, and the children whose calls are shown.
#[derive(Debug, Default)]
pub(super) struct ShownCalls {
    running: BTreeMap<(SessionId, CallId), RunningCall>,
    children: BTreeMap<SessionId, String>,
    /// The call whose line is the last on the screen.
    newest: Option<(SessionId, CallId)>,
    /// The call that showed something last.
    spoke: Option<(SessionId, CallId)>,
}

#[derive(Clone, Debug)]
struct RunningCall {
    /// `bash  cargo test`
    about: String,
    since: Time,
    /// When it was seen to begin.
    seen: Instant,
    /// The question that it waits for.
    waits_for: Option<PermissionId>,
    /// The last line that it showed.
    newest: String,
    /// The last lines.
    lines: Vec<String>,
}

impl RunningCall {
    /// Its description, and whether it runs.
    fn words(&self) -> String {
        match self.waits_for {
            Some(_) => format!("waits for an answer · {}", self.about.trim_start()),
            None => self.about.clone(),
        }
    }
}

impl ShownCalls {
    pub(super) fn child(&mut self, child: SessionId, agent: &str) {
        self.children.insert(child, agent.to_owned());
    }

    /// What runs, in a line, and since when it was seen to: the one call with what it showed last, or how many there are
    /// with the one that showed something last.
    pub(super) fn in_brief(&self) -> Option<(String, Instant)> {
        let first = self.running.values().min_by_key(|call| call.seen)?;
        let spoke = self.spoke.as_ref().and_then(|key| self.running.get(key)).unwrap_or(first);
        let newest = if spoke.newest.is_empty() { String::new() } else { format!(" │ {}", spoke.newest) };
        let about = match self.running.len() {
            1 => first.words(),
            calls => format!("{} · {}", counted(calls as u64, "call"), spoke.words()),
        };
        // What it shows must not be pushed out of sight by what was asked of it.
        let about = if newest.is_empty() { about } else { clip(&about, ABOUT) };
        Some((format!("{about}{newest}"), first.seen))
    }

    /// The calls that run, those that began first before the others.
    pub(super) fn live(&self) -> Vec<LiveCall> {
        let mut running: Vec<&RunningCall> = self.running.values().collect();
        running.sort_by_key(|call| call.seen);
        let live = |call: &RunningCall| LiveCall { about: call.words(), since: call.seen, lines: call.lines.clone() };
        running.into_iter().map(live).collect()
    }

    /// A call that runs, in a line.
    pub(super) fn line_of(&self, session: SessionId, call: &CallId) -> Option<String> {
        self.running.get(&(session, call.clone())).map(|running| running.about.clone())
    }

    /// The other running calls, the first few by name.
    pub(super) fn others(&self, session: SessionId, call: &CallId) -> Vec<String> {
        let others = self.running.iter().filter(|((of, id), _)| (*of, id) != (session, call));
        let mut briefs: Vec<String> = others.map(|(_, running)| clip(running.about.trim(), ABOUT)).collect();
        let more = briefs.len().saturating_sub(NAMED);
        briefs.truncate(NAMED);
        if more > 0 {
            briefs.push(counted(more as u64, "more call"));
        }
        briefs
    }

    /// A call waits for an answer: it does not run meanwhile.
    pub(super) fn waits(&mut self, session: SessionId, call: &CallId, permission: &PermissionId) {
        if let Some(call) = self.running.get_mut(&(session, call.clone())) {
            call.waits_for = Some(permission.clone());
        }
    }

    /// A question was answered: the call that waited for it runs from now on.
    pub(super) fn answered(&mut self, permission: &PermissionId, at: Time) {
        for call in self.running.values_mut().filter(|call| call.waits_for.as_ref() == Some(permission)) {
            (call.waits_for, call.since, call.seen) = (None, at, Instant::now());
        }
    }

    /// What a call shows so far.
    fn progressed(&mut self, session: SessionId, progressed: &ToolProgressed, blobs: &dyn Blobs) {
        let key = (session, progressed.call.clone());
        let (Some(call), Some(output)) = (self.running.get_mut(&key), &progressed.output) else { return };
        let output = output.resolve(blobs);
        let newest = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        call.newest = newest.map(plain).unwrap_or_default();
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        let surplus = lines.len().saturating_sub(LIVE);
        call.lines = lines.into_iter().skip(surplus).map(plain).collect();
        self.spoke = Some(key);
    }

    /// Something else was written.
    pub(super) fn newest_line_is_no_call(&mut self) {
        self.newest = None;
    }
}

impl Screen {
    /// Shows what a record says of a call of the session or of one of its children.
    pub(super) fn call_of(&mut self, record: &Record<'_>, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        let child = match self.calls.children.get(&record.session) {
            Some(agent) => format!("  {agent}: "),
            None if self.shows(record.session) => String::new(),
            None => return Ok(()),
        };
        match record.event {
            Event::Tool(ToolEvent::Called(called)) => {
                let about = input_in_brief(&called.input, &self.directory, blobs);
                let about = format!("{child}{}  {}", called.name, plain(&about)).trim_end().to_owned();
                let key = (record.session, called.call.clone());
                let (seen, newest, lines) = (Instant::now(), String::new(), Vec::new());
                let running =
                    RunningCall { about: about.clone(), since: record.at, seen, waits_for: None, newest, lines };
                self.calls.running.insert(key.clone(), running);
                if self.remarks.are_watched() && self.chat.is_none() {
                    let line = clip(&format!("· {about}"), self.remarks.style().width);
                    self.line(Emphasis::Tool, &line, out)?;
                    self.calls.newest = Some(key).filter(|_| !self.above_a_prompt);
                }
                Ok(())
            }
            Event::Tool(ToolEvent::Progressed(progressed)) => {
                self.calls.progressed(record.session, progressed, blobs);
                Ok(())
            }
            Event::Tool(ToolEvent::Settled(settled)) => self.settled(record, settled, blobs, out),
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
        let Some(RunningCall { about, since, .. }) = self.calls.running.remove(&key) else { return Ok(()) };
        let took = record.at.millis().saturating_sub(since.millis());
        let failed = settled.outcome != ToolOutcome::Completed;
        let text = settled.error.as_ref().unwrap_or(&settled.output).resolve(blobs);
        let failure = command_failure(settled.structured.as_ref(), &text, blobs);
        let (mark, emphasis, rest) = match (failure, failed) {
            (Some(failure), _) => {
                ('✗', Emphasis::Bad, [failure.to_string(), self.summary(settled, took, blobs)].join(" · "))
            }
            (None, true) => ('✗', Emphasis::Bad, one_line(&plain(&text))),
            (None, false) => ('✓', Emphasis::Tool, self.summary(settled, took, blobs)),
        };
        if self.calls.newest.as_ref() == Some(&key) {
            // The line above begins this call, and nothing came between.
            self.remarks.write(&[control("1A"), control("2K"), control("1G")].concat());
        }
        self.ended_call(mark, emphasis, &about, &rest, out)?;
        if let Some(warning) = sandbox_warning(settled.structured.as_ref(), blobs) {
            self.line(Emphasis::Warn, &format!("    {}", plain(&warning)), out)?;
        }
        self.offer_details(&about, settled, &text, blobs);
        match (failure, failed) {
            (Some(_), _) => self.end_of(&text, out),
            (None, true) => Ok(()),
            (None, false) => self.diff(settled, blobs, out),
        }
    }

    /// The line of a call that has ended: what was asked of it, and how it ended.
    pub(super) fn ended_call(
        &mut self,
        mark: char,
        emphasis: Emphasis,
        about: &str,
        rest: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (width, watched) = (self.remarks.style().width, self.remarks.are_watched());
        // How it ended must not be pushed out of sight by what was asked of it.
        let room = width.saturating_sub(columns(rest) + 4);
        let about = if watched && room >= ABOUT { clip(about, room) } else { about.to_owned() };
        let line = format!("{mark} {about}{}{rest}", if rest.is_empty() { "" } else { "  " });
        self.line(emphasis, &if watched { clip(&line, width) } else { line }, out)
    }

    /// Lets the screen show all of what a call gave or changed.
    fn offer_details(&self, about: &str, settled: &ToolSettled, text: &str, blobs: &dyn Blobs) {
        let Some(chat) = &self.chat else { return };
        let style = self.remarks.style();
        let diff = diff_of(settled, blobs);
        let lines = match &diff {
            Some(diff) => diff.lines().map(|line| safe(style, changed(line), &plain(line))).collect(),
            None => text.lines().map(|line| safe(style, Emphasis::Plain, &plain(line))).collect(),
        };
        chat.details(about.trim().to_owned(), lines);
    }

    /// The last lines of what a failed command gave.
    fn end_of(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let text = output_in_brief(text);
        let (before, lines) = last_lines(&text, FAILED);
        if before > 0 {
            self.line(Emphasis::Dim, &format!("    … {}", counted(before as u64, "earlier line")), out)?;
        }
        let width = self.remarks.style().width;
        lines.iter().try_for_each(|line| self.line(Emphasis::Plain, &clip(&format!("    {}", plain(line)), width), out))
    }

    fn summary(&self, settled: &ToolSettled, took: u64, blobs: &dyn Blobs) -> String {
        let mut parts = Vec::new();
        if took >= 1_000 {
            parts.push(duration(took));
        }
        let output = settled.output.resolve(blobs);
        match output.trim_end().lines().count() {
            0 => {}
            1 if settled.error.is_none() => parts.push(plain(output.trim())),
            lines => parts.push(counted(lines as u64, "line")),
        }
        if !settled.attachments.is_empty() {
            parts.push(counted(settled.attachments.len() as u64, "attachment"));
        }
        parts.join(" · ")
    }

    /// What a call changed, as its structured value says.
    fn diff(&mut self, settled: &ToolSettled, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        let Some(diff) = diff_of(settled, blobs).filter(|_| self.remarks.are_watched()) else { return Ok(()) };
        let width = self.remarks.style().width;
        let is_change = |line: &&str| !line.starts_with("---") && !line.starts_with("+++") && !line.starts_with("@@");
        let lines: Vec<&str> = diff.lines().filter(is_change).collect();
        for line in lines.iter().take(DIFF) {
            self.line(changed(line), &clip(&format!("    {}", plain(line)), width), out)?;
        }
        match lines.len().checked_sub(DIFF) {
            Some(more @ 1..) => {
                let how = if self.chat.is_some() { " · ctrl-o shows all" } else { "" };
                self.aside(&format!("    … {}{how}", counted(more as u64, "more line")), out)
            }
            _ => Ok(()),
        }
    }
}

/// The difference that a call made.
fn diff_of(settled: &ToolSettled, blobs: &dyn Blobs) -> Option<String> {
    let Value::Object(fields) = settled.structured.as_ref()?.value(blobs) else { return None };
    fields.get("diff").and_then(Value::as_str).map(str::to_owned)
}

/// How a line of a difference is painted.
fn changed(line: &str) -> Emphasis {
    match line.as_bytes().first() {
        Some(b'+') => Emphasis::Good,
        Some(b'-') => Emphasis::Bad,
        _ => Emphasis::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::NoBlobs;

    #[test]
    fn a_question_names_the_calls_beside_it() {
        let (mut calls, session) = (ShownCalls::default(), SessionId::from_parts(1, 1));
        for (call, about) in [("a", "read  a.rs"), ("b", "bash  make"), ("c", "ls"), ("d", "grep  x"), ("e", "ls  b")] {
            let running = RunningCall {
                about: about.into(),
                since: Time(0),
                seen: Instant::now(),
                waits_for: None,
                newest: String::new(),
                lines: Vec::new(),
            };
            calls.running.insert((session, call.into()), running);
        }
        assert_eq!(calls.others(session, &"b".into()), ["read  a.rs", "ls", "grep  x", "1 more call"]);
        assert_eq!(calls.line_of(session, &"b".into()).as_deref(), Some("bash  make"));
        assert!(
            calls.others(SessionId::from_parts(2, 2), &"b".into()).len() == 4,
            "another session's calls are beside it"
        );
    }

    #[test]
    fn what_runs_is_told_with_what_it_showed_last() {
        let mut calls = ShownCalls::default();
        let session = SessionId::from_parts(1, 1);
        assert_eq!(calls.in_brief(), None);
        let begin = |calls: &mut ShownCalls, call: &str, about: &str| {
            let running = RunningCall {
                about: about.into(),
                since: Time(0),
                seen: Instant::now(),
                waits_for: None,
                newest: String::new(),
                lines: Vec::new(),
            };
            calls.running.insert((session, call.into()), running);
        };
        let about = |calls: &ShownCalls| calls.in_brief().map(|(about, _)| about).unwrap_or_default();
        begin(&mut calls, "c1", "bash  cargo test");
        assert_eq!(about(&calls), "bash  cargo test");
        let shows = |text: &str| ToolProgressed { call: "c1".into(), output: Some(text.into()), structured: None };
        calls.progressed(session, &shows("one\n\x1b[1mtwo\n\n"), &NoBlobs);
        assert_eq!(about(&calls), "bash  cargo test │ \x1b[1mtwo");
        begin(&mut calls, "c0", "read  a.rs");
        assert_eq!(about(&calls), "2 calls · bash  cargo test │ \x1b[1mtwo");
        calls.running.remove(&(session, "c1".into()));
        assert_eq!(about(&calls), "read  a.rs");
        // A call that waits for an answer does not run; its time begins with the answer.
        let (call, question) = ("c0".into(), "p1".into());
        calls.waits(session, &call, &question);
        assert_eq!(about(&calls), "waits for an answer · read  a.rs");
        calls.answered(&"p2".into(), Time(5));
        assert_eq!(about(&calls), "waits for an answer · read  a.rs");
        calls.answered(&question, Time(7));
        assert_eq!(about(&calls), "read  a.rs");
        assert_eq!(calls.running.get(&(session, call)).map(|call| call.since), Some(Time(7)));
    }
}
