//! Lines that no call of a session wrote, found in sessions of its sub-agents and in earlier ones of the project.

use super::{Blame, BlamedLine, WrittenElsewhere};
use crate::file_history::LineCause;
use similar::{Algorithm, DiffOp, capture_diff_slices};

impl Blame {
    /// Whether a line is left of which it is not known which call wrote it.
    pub fn is_open(&self) -> bool {
        self.lines.iter().any(is_open)
    }

    /// Takes over what `other` knows of lines that no call here wrote: the same lines in the same order, in the file as the other session
    /// left it. Of `other` all lines are needed. `sub_agent` says whether it is the session of a sub-agent.
    pub fn complete_from(&mut self, other: &Blame, sub_agent: bool) {
        let texts = |blame: &Blame| -> Vec<String> { blame.lines.iter().map(|line| line.text.clone()).collect() };
        let (mine, theirs) = (texts(self), texts(other));
        // One line alone has no context: it must be the only one of its text, and say something.
        let alone = |text: &str| theirs.iter().filter(|their| *their == text).count() == 1 && text.trim().len() > 2;
        for operation in capture_diff_slices(Algorithm::Myers, &mine, &theirs) {
            let DiffOp::Equal { old_index, new_index, len } = operation else { continue };
            for at in 0..len {
                let (Some(line), Some(their)) = (self.lines.get_mut(old_index + at), other.lines.get(new_index + at))
                else {
                    continue;
                };
                if is_open(line) && (mine.len() > 1 || alone(&line.text)) {
                    line.elsewhere = written(their, other, sub_agent);
                }
            }
        }
    }
}

/// Whether no call is known that wrote a line.
fn is_open(line: &BlamedLine) -> bool {
    line.elsewhere.is_none() && line.cause != LineCause::Written
}

fn written(line: &BlamedLine, of: &Blame, sub_agent: bool) -> Option<WrittenElsewhere> {
    (line.cause == LineCause::Written).then(|| WrittenElsewhere {
        session: of.session,
        sub_agent,
        seq: line.seq,
        call: line.call.clone(),
        tool: line.tool.clone(),
        turn: line.turn,
        prompts: line.prompts.clone(),
        delegated_by: line.delegated_by.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_history::ContentSource;
    use annals_core::{Seq, SessionId};

    fn file(session: u64, lines: &[(&str, LineCause)]) -> Blame {
        let line = |(at, (text, cause)): (usize, &(&str, LineCause))| BlamedLine {
            line: Some(at as u64 + 1),
            text: (*text).to_owned(),
            cause: *cause,
            seq: Seq(session * 100 + at as u64),
            call: None,
            tool: Some("edit".to_owned()),
            turn: Some(1),
            prompts: Vec::new(),
            elsewhere: None,
            delegated_by: Vec::new(),
        };
        Blame {
            session: SessionId::from_parts(1_000, u128::from(session)),
            path: "a.rs".to_owned(),
            at: None,
            knowledge: ContentSource::Captured,
            inferred: Vec::new(),
            unsure_since: None,
            lines: lines.iter().enumerate().map(line).collect(),
        }
    }

    #[test]
    fn lines_that_were_there_before_are_found_where_they_were_written() {
        use LineCause::{Before, Command, Written};
        let mut now = file(2, &[("fn a() {", Before), ("    new();", Written), ("}", Before), ("last", Command)]);
        let before = file(1, &[("fn a() {", Written), ("    old();", Written), ("}", Written), ("other", Before)]);
        now.complete_from(&before, false);
        let found: Vec<_> = now.lines.iter().map(|line| line.elsewhere.as_ref().map(|it| it.seq.0)).collect();
        assert_eq!(found, [Some(100), None, Some(102), None]);
        assert!(now.is_open(), "the last line is not known");
    }
}
