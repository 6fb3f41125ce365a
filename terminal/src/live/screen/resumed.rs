//! Where a session is continued: what was said last, and the calls that were left open.

use super::Screen;
use crate::layout::plain;
use crate::style::Emphasis;
use annals_core::Blobs;
use annals_core::event::ToolOutcome;
use annals_inspect::timeline::input_in_brief;
use annals_projections::{Body, Content, INTERRUPTED, SessionView, ToolCall};
use std::io::{self, Write};

impl Screen {
    /// The last message of the user and the answer to it. `runs` says whether another process runs the session: else its open calls were
    /// interrupted, which is recorded when it is continued.
    pub(in crate::live) fn last_exchange(
        &mut self,
        view: &SessionView,
        runs: bool,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let messages: Vec<_> = view.history.selected().collect();
        let Some(at) = messages.iter().rposition(|message| matches!(message.body, Body::User { .. })) else {
            return Ok(());
        };
        for message in messages.iter().skip(at) {
            match &message.body {
                Body::User { text, .. } => self.show_prompt(&text.resolve(blobs), out)?,
                Body::Assistant(answer) => {
                    for content in &answer.content {
                        match content {
                            Content::Text { text, .. } => {
                                self.fresh_line(out)?;
                                self.gap(true, out)?;
                                self.piece(&plain(&text.resolve(blobs)), false, out)?;
                                self.fresh_line(out)?;
                            }
                            Content::Tool(call) if is_interrupted(call, runs) => self.interrupted(call, blobs, out)?,
                            Content::Tool(_) | Content::Reasoning { .. } => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn interrupted(&mut self, call: &ToolCall, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        let about = plain(&input_in_brief(&call.input, &self.directory, blobs));
        let line = format!("{}  {about}", call.name);
        self.ended_call('✗', Emphasis::Bad, line.trim_end(), INTERRUPTED, out)
    }
}

fn is_interrupted(call: &ToolCall, runs: bool) -> bool {
    !call.hosted && call.outcome.map_or(!runs, |outcome| outcome == ToolOutcome::Interrupted)
}
