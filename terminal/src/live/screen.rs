//! The user's screen while a session runs.
//!
//! On a terminal the answer streams as it comes. Where stdout is not a terminal it contains only the answer: what the
//! model said after its last tool result, written when the run is over; everything before it is written to stderr.

mod answer;
mod records;
mod resumed;

use super::chat::Printer;
use super::edge::Edge;
use super::meter::Meter;
use super::screen_tasks::Tasks;
use super::screen_tools::ShownCalls;
use super::window_use::WindowUse;
use crate::chat_screen::{LiveView, ScreenHandle};
use crate::layout::{plain, wrap};
use crate::markdown::MarkdownStream;
use crate::remarks::Remarks;
use crate::style::{Emphasis, Style};
use annals_core::{Blobs, InputId, ModelName, PermissionId, Seq, SessionId, Text};
use annals_inspect::timeline::one_line;
use annals_projections::{Pending, SessionView};
use annals_runtime::bus::{Delta, Fragment, Notice};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Instant;

/// Where an answer is shown as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Live {
    /// On stdout, which is a terminal.
    Answer,
    /// In addition to the answer: stderr is a terminal, stdout is not.
    Aside,
    /// There is no terminal.
    Nowhere,
}

/// A message that the model has not read.
struct WaitingInput {
    input: InputId,
    seq: Seq,
    text: Text,
}

impl From<&Pending> for WaitingInput {
    fn from(pending: &Pending) -> Self {
        Self { input: pending.input.clone(), seq: pending.seq, text: pending.text.clone() }
    }
}

/// About how many characters a token has.
const CHARACTERS: u64 = 4;

/// The screen.
pub struct Screen {
    pub(super) remarks: Remarks,
    pub(super) style: Style,
    live: Live,
    session: Option<SessionId>,
    pub(super) directory: String,
    /// Whether the line of the cursor is not empty.
    open_line: bool,
    /// Whether the last thing on the screen is text of the model; `None` for an empty screen.
    after_text: Option<bool>,
    /// What streams now.
    streaming: Option<Fragment>,
    /// Fragments of the current step of which something was shown.
    shown: BTreeSet<(bool, u32)>,
    /// What the model said since the last tool result.
    answer: String,
    typed: BTreeSet<InputId>,
    /// Messages that the model has not read, in the order of the log.
    inputs: Vec<WaitingInput>,
    pub(super) calls: ShownCalls,
    pub(super) tasks: Tasks,
    /// Breaks what streams on a terminal at blanks.
    edge: Edge,
    /// The Markdown that streams, and how its last piece was painted.
    markdown: MarkdownStream,
    painted: Emphasis,
    /// The model that was asked and has not answered in full, and since when.
    asked: Option<(String, Instant)>,
    /// What the questions are about that no answer is recorded of.
    pub(super) questions: BTreeMap<PermissionId, String>,
    pub(super) meter: Meter,
    pub(super) window: WindowUse,
    /// Whether a line that the user edits is below: then nothing is overwritten, and every line is whole.
    pub(super) above_a_prompt: bool,
    /// The full-screen chat, if it is active.
    pub(super) chat: Option<ScreenHandle>,
    /// About how many characters of the current answer have arrived.
    arrived: u64,
    /// Model, agent, and who answers permission questions.
    pub(super) works: [String; 3],
}

impl Screen {
    /// A screen; `watched` says whether the answer goes to a terminal, and `style` how it looks there.
    pub fn new(remarks: Remarks, style: Style, watched: bool) -> Self {
        let live = match (watched, remarks.are_watched()) {
            (true, _) => Live::Answer,
            (false, true) => Live::Aside,
            (false, false) => Live::Nowhere,
        };
        Self {
            remarks,
            style,
            live,
            session: None,
            directory: String::new(),
            open_line: false,
            after_text: None,
            streaming: None,
            shown: BTreeSet::new(),
            answer: String::new(),
            typed: BTreeSet::new(),
            inputs: Vec::new(),
            calls: ShownCalls::default(),
            tasks: Tasks::default(),
            edge: Edge::default(),
            markdown: MarkdownStream::default(),
            painted: Emphasis::Plain,
            asked: None,
            questions: BTreeMap::new(),
            meter: Meter::default(),
            window: WindowUse::default(),
            above_a_prompt: false,
            chat: None,
            arrived: 0,
            works: Default::default(),
        }
    }

    /// The same on a screen with a part for what happens.
    #[must_use]
    pub fn on_screen(self, chat: ScreenHandle) -> Self {
        Self { above_a_prompt: true, chat: Some(chat), ..self }
    }

    /// The same above a line that the user edits.
    #[must_use]
    pub fn above_a_prompt(self, printer: Printer) -> Self {
        Self { above_a_prompt: true, meter: Meter::above(printer), ..self }
    }

    pub(super) fn begin(&mut self, view: &SessionView) {
        self.session = view.session.id;
        self.directory = view.session.location.as_ref().map(|location| location.directory.clone()).unwrap_or_default();
        self.answer.clear();
        self.window = WindowUse::of(view);
        self.inputs = view.inbox.pending.iter().map(WaitingInput::from).collect();
        if self.chat.is_some() {
            self.draw_what_runs();
        }
    }

    pub(super) fn typed(&mut self, input: InputId) {
        self.typed.insert(input);
    }

    pub(super) fn works(&mut self, model: &str, agent: &str, mode: &str) {
        self.works = [model, agent, mode].map(str::to_owned);
        self.draw_what_runs();
    }

    /// A command of the user runs, or has ended.
    pub(super) fn busy(&mut self, command: Option<&str>) {
        self.arrived = 0;
        self.asked = command.map(|command| (one_line(command), Instant::now()));
        if self.chat.is_some() {
            self.draw_what_runs();
        }
    }

    pub(super) fn notice(&mut self, notice: &Notice, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        if let Some(chat) = &self.chat {
            self.style.width = chat.width();
            self.remarks.resize(chat.width());
        }
        match notice {
            Notice::Delta(delta) if Some(delta.session) == self.session => {
                self.arrived += delta.text.chars().count() as u64;
                if self.is_shown(delta) {
                    self.meter.clear();
                    self.delta(delta, out)?;
                }
            }
            Notice::Committed(batch) => {
                if !self.above_a_prompt {
                    self.meter.clear();
                }
                batch.records().try_for_each(|record| self.record(&record, blobs, out))?;
            }
            Notice::ToolsReduced { session, model, left_out } if Some(*session) == self.session => {
                self.tools_reduced(model, left_out, out)?;
            }
            Notice::Delta(_) | Notice::ToolsReduced { .. } | Notice::Busy(_) | Notice::Idle { .. } => return Ok(()),
        }
        self.draw_what_runs();
        Ok(())
    }

    /// A line about what runs, where it disturbs nothing that is written or typed.
    fn draw_what_runs(&mut self) {
        if let Some(chat) = &self.chat {
            return chat.live(self.live_view());
        }
        if !self.remarks.are_watched() || (self.open_line && !self.above_a_prompt) {
            return;
        }
        let rest = self.window.in_brief().map(|used| format!(" · {used}")).unwrap_or_default();
        let asked = || self.asked.as_ref().map(|(model, since)| (format!("{model} is at work{rest}"), *since));
        match self.calls.in_brief().or_else(asked).or_else(|| self.tasks.in_brief()) {
            Some((what, since)) => self.meter.draw(&what, since),
            None => self.meter.clear(),
        }
    }

    /// What happens now.
    fn live_view(&self) -> LiveView {
        let [model, agent, mode] = self.works.clone();
        let calls = self.calls.live();
        // While calls run, the model waits for them.
        let asked = self.asked.clone().filter(|_| calls.is_empty());
        let queued = self.inputs.iter().filter(|waiting| !self.typed.contains(&waiting.input));
        LiveView {
            activity: asked,
            tokens: self.arrived / CHARACTERS,
            calls,
            tasks: self.tasks.live(),
            queued: queued.map(|waiting| records::brief(&waiting.text, &annals_core::NoBlobs)).collect(),
            window: self.window.in_brief(),
            model,
            agent,
            mode,
        }
    }

    /// Whether a piece of an answer is written.
    fn is_shown(&self, delta: &Delta) -> bool {
        let of_answer = matches!(delta.fragment, Fragment::Text(_) | Fragment::Reasoning(_));
        of_answer && self.live != Live::Nowhere && !delta.text.is_empty()
    }

    fn delta(&mut self, delta: &Delta, out: &mut dyn Write) -> io::Result<()> {
        let (reasoning, index) = match &delta.fragment {
            Fragment::Text(index) => (false, *index),
            Fragment::Reasoning(index) => (true, *index),
            Fragment::ToolInput(_) | Fragment::Summary => return Ok(()),
        };
        if self.streaming.as_ref() != Some(&delta.fragment) {
            self.fresh_line(out)?;
            self.gap(true, out)?;
            self.streaming = Some(delta.fragment.clone());
        }
        self.shown.insert((reasoning, index));
        self.piece(&plain(&delta.text), reasoning, out)
    }

    /// Columns of what streams.
    fn width(&self) -> usize {
        if self.live == Live::Answer { self.style.width } else { self.remarks.style().width }
    }

    fn streamed(&mut self, emphasis: Emphasis, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self.live {
            _ if text.is_empty() => {}
            Live::Answer => {
                out.write_all(self.style.paint(emphasis, text).as_bytes())?;
                out.flush()?;
            }
            Live::Aside => self.remarks.write(&self.remarks.style().paint(emphasis, text)),
            Live::Nowhere => {}
        }
        Ok(())
    }

    /// Ends the current line if it is not empty.
    pub(super) fn fresh_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.streaming = None;
        self.rest_of_answer(out)?;
        if std::mem::take(&mut self.open_line) {
            self.streamed(Emphasis::Plain, "\n", out)?;
        }
        Ok(())
    }

    /// A blank line between text of the model and other lines.
    fn gap(&mut self, text: bool, out: &mut dyn Write) -> io::Result<()> {
        if self.after_text.replace(text).is_none_or(|before| before == text) {
            return Ok(());
        }
        match self.live {
            Live::Answer => out.write_all(b"\n").and_then(|()| out.flush())?,
            Live::Aside => self.remarks.write("\n"),
            Live::Nowhere => {}
        }
        Ok(())
    }

    /// A line in addition to the answer.
    pub(super) fn line(&mut self, emphasis: Emphasis, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.fresh_line(out)?;
        self.gap(false, out)?;
        self.calls.newest_line_is_no_call();
        let style = self.remarks.style();
        let broken = self.chat.as_ref().map(|_| wrap(text, style.width).join("\n"));
        let painted = style.paint(emphasis, broken.as_deref().unwrap_or(text));
        self.remarks.write(&format!("{painted}\n"));
        Ok(())
    }

    pub(super) fn warning(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.meter.clear();
        self.line(Emphasis::Warn, text, out)
    }

    /// Which tools are not offered since the window is small.
    fn tools_reduced(&mut self, model: &ModelName, left_out: &[String], out: &mut dyn Write) -> io::Result<()> {
        let tools = left_out.join(", ");
        self.aside(&format!("the context of {model} is small; tools not offered: {tools}"), out)
    }

    pub(super) fn aside(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.meter.clear();
        self.line(Emphasis::Dim, text, out)
    }

    /// Where stdout is not a terminal, the whole answer.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.meter.clear();
        self.fresh_line(out)?;
        let answer = std::mem::take(&mut self.answer);
        if self.live != Live::Answer && !answer.is_empty() {
            out.write_all(answer.as_bytes())?;
            if !answer.ends_with('\n') {
                out.write_all(b"\n")?;
            }
        }
        out.flush()
    }

    pub(super) fn shows(&self, session: SessionId) -> bool {
        self.session == Some(session)
    }

    /// A fragment is whole: what was not shown of it is.
    fn ended(&mut self, reasoning: bool, index: u32, text: &str, out: &mut dyn Write) -> io::Result<()> {
        if !reasoning {
            self.answer.push_str(text);
            if !text.is_empty() && !text.ends_with('\n') {
                self.answer.push('\n');
            }
        }
        if !self.shown.contains(&(reasoning, index)) && !text.is_empty() {
            self.fresh_line(out)?;
            self.gap(true, out)?;
            self.piece(&plain(text), reasoning, out)?;
        }
        self.fresh_line(out)
    }

    /// What the model said before it called a tool is not its answer.
    fn print_answer(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let answer = std::mem::take(&mut self.answer);
        match self.live {
            Live::Nowhere if !answer.is_empty() => self.line(Emphasis::Plain, plain(answer.trim_end()).as_str(), out),
            _ => Ok(()),
        }
    }
}
