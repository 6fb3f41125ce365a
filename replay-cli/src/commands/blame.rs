//! `annals blame`

use super::files;
use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_inspect::SessionAt;
use annals_inspect::blame::{Blame, BlamedLine, CapturedContents, blame};
use annals_inspect::file_history::LineCause;
use annals_inspect::timeline::one_line;
use std::io::Write;
use std::path::Path;

/// Show who wrote a line of a file and why: call, turn, prompt.
///
/// Of each line, or of LINE, the call that put it there, the turn, and the prompt that led to it. Contents come from
/// captures (see `annals files`), otherwise from the calls that wrote, edited or showed the file; what is inferred is
/// said. Lines are numbered as they are at the end of the session, or with --at as they were at that event.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session (default: @last), then the file, with a line number or without.
    #[arg(value_name = "[SESSION] PATH[:LINE]", num_args = 1..=2, required = true)]
    session_and_path: Vec<String>,
    /// Show the file as it was right after EVENT: its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    at: Option<EventArg>,
}

/// A path, and the line after the last colon.
fn place(text: &str) -> (&str, Option<u64>) {
    let split = text.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    split.map_or((text, None), |(path, line)| (path, Some(line)))
}

impl Args {
    async fn target(&self, cli: &CommandContext) -> Result<(FoundSession, String), CliError> {
        let find = |session: &str| {
            let target = Target { session: session.to_owned(), at: self.at };
            async move { cli.target(&target).await }
        };
        match self.session_and_path.as_slice() {
            [one, other] => {
                // Either order, where it is plain which of the two is the place.
                let swapped = place(one).1.is_some() && place(other).1.is_none() && !Path::new(one).exists();
                let (session, path) = if swapped { (other, one) } else { (one, other) };
                Ok((find(session).await?, path.clone()))
            }
            [path, ..] => Ok((find("@last").await?, path.clone())),
            [] => Ok((find("@last").await?, String::new())),
        }
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (found, path) = args.target(cli).await?;
    let (path, line) = place(&path);
    let contents = files::contents(&found, cli).await?;
    let contents = contents.as_ref().map(|contents| contents as &dyn CapturedContents);
    let found = blame(&SessionAt::from(&found), path, line, contents).await?;
    if cli.style.json {
        json::object(out, &found)?;
        return Ok(Verdict::Fine);
    }
    match (line, found.lines.as_slice()) {
        (Some(_), [one]) => draw_one(&found, one, &cli.style, out)?,
        (_, lines) => draw_all(lines, &cli.style, out)?,
    }
    for inference in &found.inferred {
        cli.remark(&format!("inferred at event {}: {}", inference.seq, inference.what));
    }
    if let Some(command) = found.unsure_since {
        cli.remark(&format!(
            "commands ran after the last fact about the file, first at event {command}; what they changed is not recorded"
        ));
    }
    Ok(Verdict::Fine)
}

fn cause(line: &BlamedLine) -> String {
    let tool = line.tool.as_deref().map(plain).unwrap_or_default();
    match line.cause {
        LineCause::Written => format!("written by {tool}, event {}", line.seq),
        LineCause::Command if line.tool.is_none() => {
            format!("inferred: it appeared after a command of the user, event {}", line.seq)
        }
        LineCause::Command => format!("inferred: it appeared after {tool} ran, event {}", line.seq),
        LineCause::Before => format!("there before; first seen at event {}", line.seq),
        LineCause::Outside => format!("changed outside of the calls of this session; first seen at event {}", line.seq),
    }
}

/// One line with everything that led to it.
fn draw_one(found: &Blame, line: &BlamedLine, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let place = format!("{}:{}", plain(&found.path), line.line.unwrap_or_default());
    writeln!(out, "{}  {}", style.paint(Emphasis::Strong, &place), plain(&line.text))?;
    writeln!(out, "  {}", style.paint(Emphasis::Tool, &cause(line)))?;
    for prompt in &line.prompts {
        let turn = prompt.turn.map_or("undone".to_owned(), |turn| format!("turn {turn}"));
        writeln!(out, "  {}", style.paint(Emphasis::User, &format!("{turn}, prompt at event {}", prompt.seq)))?;
        for text in wrap(&plain(prompt.text.trim_end()), style.width.saturating_sub(4)) {
            writeln!(out, "{}", format!("  {} {text}", style.paint(Emphasis::Dim, "│")).trim_end())?;
        }
    }
    Ok(())
}

/// All lines, each after what wrote it.
fn draw_all(lines: &[BlamedLine], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let head = |line: &BlamedLine| {
        let what = match line.cause {
            LineCause::Written => line.tool.as_deref().map(plain).unwrap_or_default(),
            LineCause::Command if line.tool.is_none() => {
                format!("inferred: it appeared after a command of the user, event {}", line.seq)
            }
            LineCause::Command => format!("{}?", line.tool.as_deref().map(plain).unwrap_or_default()),
            LineCause::Before => "before".to_owned(),
            LineCause::Outside => "outside".to_owned(),
        };
        let turn = line.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
        let prompt = line.prompts.last().map(|prompt| one_line(&plain(&prompt.text))).unwrap_or_default();
        (line.seq.to_string(), what, turn, prompt)
    };
    let heads: Vec<_> = lines.iter().map(head).collect();
    let (mut seq, mut what, mut turn, mut prompt) = (0, 0, 0, 0);
    for it in &heads {
        (seq, what) = (seq.max(it.0.len()), what.max(columns(&it.1)));
        (turn, prompt) = (turn.max(it.2.len()), prompt.max(columns(&it.3)));
    }
    let prompt = prompt.min(style.width / 4);
    let number = lines.len().to_string().len();
    for (line, it) in lines.iter().zip(&heads) {
        let mut told: String = it.3.chars().take(prompt).collect();
        if told.len() < it.3.len() && told.pop().is_some() {
            told.push('…');
        }
        let pad = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))));
        let origin = format!("{:>seq$} {} {} {}", it.0, pad(&it.1, what), pad(&it.2, turn), pad(&told, prompt));
        let place = line.line.map(|line| line.to_string()).unwrap_or_default();
        let shown = format!("{} {place:>number$}  {}", style.paint(Emphasis::Dim, &origin), plain(&line.text));
        writeln!(out, "{}", shown.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_line_is_the_number_after_the_last_colon() {
        assert_eq!(place("src/main.rs:40"), ("src/main.rs", Some(40)));
        assert_eq!(place("src/main.rs"), ("src/main.rs", None));
        assert_eq!(place("C:/a.rs"), ("C:/a.rs", None));
    }
}
