//! The runs of a session as a table.

use crate::error::CliError;
use crate::layout::{clip, columns, pad, plain};
use crate::style::{Emphasis, Style, counted};
use annals_host::short;
use annals_inspect::pricing::Cost;
use annals_inspect::reruns::{FirstDifference, Reruns, RunSummary, ToolResults};
use std::io::Write;

/// Blank columns between two others.
const GAP: usize = 2;

/// One line for the recorded session and one for each run.
pub fn draw(found: &Reruns, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let head = ["run", "session", "outcome", "requests", "calls", "files", "cost"];
    let mut rows: Vec<[String; 7]> = vec![head.map(str::to_owned), row("-", &found.recorded)];
    rows.extend(found.runs.iter().zip(1_u64..).map(|(run, number)| row(&number.to_string(), run)));
    let widths: Vec<usize> =
        (0..head.len()).map(|at| rows.iter().map(|row| columns(&row[at])).max().unwrap_or_default()).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| pad(cell, width + GAP));
        let line = clip(cells.collect::<String>().trim_end(), style.width.max(60));
        let run = at.checked_sub(2).and_then(|at| found.runs.get(at));
        let emphasis = match (at, run) {
            (0, _) => Emphasis::Dim,
            (_, Some(run)) if run.outcome == "failed" => Emphasis::Bad,
            (_, Some(run)) if run.first.is_none() => Emphasis::Good,
            _ => Emphasis::Plain,
        };
        writeln!(out, "{}", style.paint(emphasis, &line))?;
        if let Some(different) = run.and_then(|run| run.first.as_ref()) {
            let line = clip(&format!("     differs in {}", first(different)), style.width.max(60));
            writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
        }
    }
    Ok(())
}

fn row(number: &str, run: &RunSummary) -> [String; 7] {
    let calls = match (run.calls(), run.outcome.as_str()) {
        (0, _) => "0".to_owned(),
        (calls, "recorded") => calls.to_string(),
        (calls, _) => format!("{calls} ({} as recorded)", run.recorded_calls),
    };
    [
        number.to_owned(),
        short(run.session),
        run.outcome.clone(),
        run.requests.to_string(),
        calls,
        run.files.len().to_string(),
        run.priced.shown(),
    ]
}

/// `turn 2: result differs: ...`
fn first(found: &FirstDifference) -> String {
    let cell =
        |label: &str, text: &str| format!("{label} {}", plain(text).split_whitespace().collect::<Vec<_>>().join(" "));
    let what = match (&found.recorded, &found.run) {
        (_, Some(run)) => cell(run.label, &run.text),
        (Some(recorded), None) => format!("no {}", cell(recorded.label, &recorded.text)),
        (None, None) => "differs".to_owned(),
    };
    format!("turn {}: {what}", found.turn)
}

/// What the table does not say.
pub fn remarks(found: &Reruns) -> Vec<String> {
    let runs = found.runs.len() as u64;
    let mut lines = vec![format!("{} of {} the same as recorded", found.same, counted(runs, "run"))];
    let (calls, recorded) =
        found.runs.iter().fold((0, 0), |(calls, recorded), run| (calls + run.calls(), recorded + run.recorded_calls));
    lines.push(match found.tools {
        ToolResults::Run => "tools ran, as the permission rules allow".to_owned(),
        ToolResults::Recorded => match calls - recorded {
            0 => format!("no tool ran: {} got the recorded result", counted(calls, "call")),
            others => format!(
                "no tool ran: {} got the recorded result, {others} others an error since the session did not make them",
                counted(recorded, "call")
            ),
        },
    });
    lines.extend(Cost::remark(found.runs.iter().map(|run| run.priced)).map(str::to_owned));
    lines.push(format!("to compare one: annals diff {} RUN", short(found.of)));
    lines
}
