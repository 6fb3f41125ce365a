//! `annals tree`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, plain, wrap};
use crate::shown_title::shown_title;
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::SessionId;
use annals_core::event::ChildOutcome;
use annals_inspect::reader::short_ids;
use annals_inspect::tree::TreeSession;
use annals_projections::FileTotals;
use std::io::Write;

/// Show forks and sub-agents as a tree.
///
/// With SESSION, show the tree that contains it, and mark it. Without, show every tree of more than one session. A
/// fork is shown below the session that it was forked from.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, asked) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let trees = reader.trees(asked).await?;
    if cli.style.json {
        json::list(out, &trees.sessions)?;
        return Ok(Verdict::Fine);
    }
    draw(&trees.sessions, asked, &cli.style, out)?;
    if trees.sessions.is_empty() {
        cli.remark("no session of the store has a fork or a sub-agent (see annals sessions)");
    }
    for (session, parent) in &trees.from_outside {
        cli.remark(&format!("session {session} comes from {parent}, which is not in this store"));
    }
    Ok(Verdict::Fine)
}

fn draw(nodes: &[TreeSession], asked: Option<SessionId>, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let ids = short_ids(&nodes.iter().map(|node| node.id).collect::<Vec<_>>());
    let ages: Vec<String> = nodes.iter().map(|node| style.short_age(node.updated)).collect();
    let age_width = ages.iter().map(|age| columns(age)).max().unwrap_or_default();
    for (at, (node, age)) in nodes.iter().zip(&ages).enumerate() {
        if at > 0 && node.lasts.is_empty() {
            writeln!(out)?;
        }
        let id = ids.get(&node.id).cloned().unwrap_or_else(|| node.id.to_string());
        let mark = if asked == Some(node.id) { ">" } else { " " };
        let head = format!("{id}  {age:>age_width$}  ");
        // Its children are shown below all of its lines.
        let goes_on = nodes.get(at + 1).is_some_and(|next| next.lasts.len() > node.lasts.len());
        let (first, rest) = branches(&node.lasts, goes_on);
        let room = style.width.saturating_sub(columns(&head) + columns(&first) + 2).max(16);
        let title = if node.title.is_empty() { "(no title)".to_owned() } else { shown_title(&node.title) };
        let text = format!("{}{title}{}", relation(node), changed(node));
        let emphasis = if asked == Some(node.id) { Emphasis::Strong } else { Emphasis::Plain };
        for (number, line) in wrap(&text, room).iter().enumerate() {
            match number {
                0 => {
                    let (id, rest) = head.split_at(id.len());
                    writeln!(
                        out,
                        "{mark} {}{rest}{}{}",
                        style.paint(Emphasis::Context, id),
                        style.paint(Emphasis::Dim, &first),
                        style.paint(emphasis, line)
                    )?;
                }
                _ => {
                    let indent = " ".repeat(columns(&head) + 2);
                    writeln!(out, "{indent}{}{}", style.paint(Emphasis::Dim, &rest), style.paint(emphasis, line))?;
                }
            }
        }
    }
    Ok(())
}

/// The lines that join a session to its parent: before its first line and before the others.
fn branches(lasts: &[bool], goes_on: bool) -> (String, String) {
    let below = if goes_on { "│  " } else { "" };
    let Some((last, above)) = lasts.split_last() else { return (String::new(), below.to_owned()) };
    let bars: String = above.iter().map(|last| if *last { "   " } else { "│  " }).collect();
    let (corner, bar) = if *last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
    (format!("{bars}{corner}"), format!("{bars}{bar}{below}"))
}

/// What a session is to the one above it.
fn relation(node: &TreeSession) -> String {
    if let Some(fork) = node.fork {
        return format!("fork after event {}: ", fork.cut.0.saturating_sub(1));
    }
    if node.parent.is_none() {
        return match node.recording {
            Some(_) => format!("transcript of {}: ", plain(node.agent.as_str())),
            None => String::new(),
        };
    }
    let ended = match node.outcome {
        None if node.is_open => ", not finished",
        None | Some(ChildOutcome::Completed) => "",
        Some(ChildOutcome::Failed) => ", failed",
        Some(ChildOutcome::Cancelled) => ", cancelled",
    };
    format!("sub-agent {}{ended}: ", plain(node.agent.as_str()))
}

/// What it changed in its project, if anything is known to have changed.
fn changed(node: &TreeSession) -> String {
    let totals = node.changed.filter(|totals| totals.files > 0);
    totals.map_or_else(String::new, |FileTotals { files, additions, deletions }| {
        format!("  ({}, +{} -{})", counted(files, "file"), thousands(additions), thousands(deletions))
    })
}
