//! `annals tree`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::SessionId;
use annals_core::event::ChildOutcome;
use annals_inspect::reader::{Reader, short_ids};
use annals_projections::{Catalogue, CatalogueEntry, FileTotals};
use std::collections::{BTreeMap, BTreeSet};
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

/// One Session in the tree.
struct TreeNode<'c> {
    id: SessionId,
    entry: &'c CatalogueEntry,
    /// Whether it is the last one under its parent, for it and each of its ancestors, the oldest first.
    lasts: Vec<bool>,
}

/// Who hangs under whom.
struct SessionTrees<'c> {
    catalogue: &'c Catalogue,
    under: BTreeMap<SessionId, Vec<SessionId>>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such Session, the store cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, asked) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let catalogue = reader.catalogue().await?;
    let forest = SessionTrees::of(&catalogue);
    let nodes = forest.nodes(asked);
    let outcomes = outcomes(&reader, &forest, &nodes).await?;
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        for node in &nodes {
            list.item(&in_json(node, &outcomes))?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    draw(&nodes, &outcomes, asked, &cli.style, out)?;
    if nodes.is_empty() {
        cli.remark("no session of the store has a fork or a sub-agent (see annals sessions)");
    }
    for node in nodes.iter().filter(|node| node.lasts.is_empty()) {
        if let Some(parent) = above(node.entry).filter(|parent| !catalogue.sessions.contains_key(parent)) {
            cli.remark(&format!("session {} comes from {parent}, which is not in this store", node.id));
        }
    }
    Ok(Verdict::Fine)
}

/// The Session that another one hangs under.
fn above(entry: &CatalogueEntry) -> Option<SessionId> {
    entry.fork.map(|fork| fork.parent).or_else(|| entry.parent.as_ref().map(|parent| parent.session))
}

impl<'c> SessionTrees<'c> {
    fn of(catalogue: &'c Catalogue) -> Self {
        let mut under: BTreeMap<SessionId, Vec<SessionId>> = BTreeMap::new();
        for (id, entry) in &catalogue.sessions {
            if let Some(above) = above(entry).filter(|above| catalogue.sessions.contains_key(above)) {
                under.entry(above).or_default().push(*id);
            }
        }
        let created = |id: &SessionId| catalogue.sessions.get(id).map(|entry| entry.created);
        under.values_mut().for_each(|ids| ids.sort_by_key(|id| (created(id), *id)));
        Self { catalogue, under }
    }

    /// The oldest ancestor. In a damaged log that runs in a circle it is the first one met twice.
    fn root(&self, session: SessionId) -> SessionId {
        let (mut root, mut seen) = (session, BTreeSet::from([session]));
        while let Some(next) = self.catalogue.sessions.get(&root).and_then(above)
            && self.catalogue.sessions.contains_key(&next)
            && seen.insert(next)
        {
            root = next;
        }
        root
    }

    /// The trees in the order in which they are drawn: each Session before those that hang under it.
    fn nodes(&self, asked: Option<SessionId>) -> Vec<TreeNode<'c>> {
        let roots: BTreeSet<SessionId> = match asked {
            Some(session) => BTreeSet::from([self.root(session)]),
            // A Session without relations is no tree.
            None => self.under.keys().map(|id| self.root(*id)).collect(),
        };
        let mut nodes = Vec::new();
        let mut drawn = BTreeSet::new();
        let mut left: Vec<(SessionId, Vec<bool>)> = roots.into_iter().rev().map(|id| (id, Vec::new())).collect();
        while let Some((id, lasts)) = left.pop() {
            let Some(entry) = self.catalogue.sessions.get(&id).filter(|_| drawn.insert(id)) else { continue };
            let under = self.under.get(&id).map(Vec::as_slice).unwrap_or_default();
            for (at, child) in under.iter().enumerate().rev() {
                let mut lasts = lasts.clone();
                lasts.push(at + 1 == under.len());
                left.push((*child, lasts));
            }
            nodes.push(TreeNode { id, entry, lasts });
        }
        nodes
    }
}

type Outcomes = BTreeMap<SessionId, Option<ChildOutcome>>;

/// How the children ended, as their parents recorded it.
async fn outcomes(reader: &Reader, forest: &SessionTrees<'_>, nodes: &[TreeNode<'_>]) -> Result<Outcomes, CliError> {
    let mut outcomes = Outcomes::new();
    let is_child = |id: &SessionId| {
        forest.catalogue.sessions.get(id).is_some_and(|entry| entry.fork.is_none() && entry.parent.is_some())
    };
    for node in nodes {
        let children = forest.under.get(&node.id).map(Vec::as_slice).unwrap_or_default();
        if !children.iter().any(is_child) {
            continue;
        }
        let until = reader.until(node.id, None).await?;
        let view = reader.bounded(node.id, until).await?;
        outcomes.extend(view.session.children.iter().map(|child| (child.child, child.outcome)));
    }
    Ok(outcomes)
}

fn draw(
    nodes: &[TreeNode<'_>],
    outcomes: &Outcomes,
    asked: Option<SessionId>,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let ids = short_ids(&nodes.iter().map(|node| node.id).collect::<Vec<_>>());
    let ages: Vec<String> = nodes.iter().map(|node| style.short_age(node.entry.updated)).collect();
    let age_width = ages.iter().map(|age| columns(age)).max().unwrap_or_default();
    for (at, (node, age)) in nodes.iter().zip(&ages).enumerate() {
        if at > 0 && node.lasts.is_empty() {
            writeln!(out)?;
        }
        let id = ids.get(&node.id).cloned().unwrap_or_else(|| node.id.to_string());
        let mark = if asked == Some(node.id) { ">" } else { " " };
        let head = format!("{id}  {age:>age_width$}  ");
        // What hangs under it goes on below all of its lines.
        let goes_on = nodes.get(at + 1).is_some_and(|next| next.lasts.len() > node.lasts.len());
        let (first, rest) = branches(&node.lasts, goes_on);
        let room = style.width.saturating_sub(columns(&head) + columns(&first) + 2).max(16);
        let title = if node.entry.title.is_empty() { "(no title)".to_owned() } else { plain(&node.entry.title) };
        let text = format!("{}{title}{}", relation(node, outcomes), changed(node.entry));
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

/// The lines that join a Session to its parent: beside its first line and beside the others.
fn branches(lasts: &[bool], goes_on: bool) -> (String, String) {
    let below = if goes_on { "│  " } else { "" };
    let Some((last, above)) = lasts.split_last() else { return (String::new(), below.to_owned()) };
    let bars: String = above.iter().map(|last| if *last { "   " } else { "│  " }).collect();
    let (corner, bar) = if *last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
    (format!("{bars}{corner}"), format!("{bars}{bar}{below}"))
}

/// What a Session is to the one above it.
fn relation(node: &TreeNode<'_>, outcomes: &Outcomes) -> String {
    if let Some(fork) = node.entry.fork {
        return format!("fork after event {}: ", fork.cut.0.saturating_sub(1));
    }
    if node.entry.parent.is_none() {
        return String::new();
    }
    let ended = match outcomes.get(&node.id) {
        Some(Some(ChildOutcome::Completed)) | None => "",
        Some(Some(ChildOutcome::Failed)) => ", failed",
        Some(Some(ChildOutcome::Cancelled)) => ", cancelled",
        Some(None) => ", not finished",
    };
    format!("sub-agent {}{ended}: ", plain(node.entry.agent.as_str()))
}

/// What it changed in its project, if anything is known to have changed.
fn changed(entry: &CatalogueEntry) -> String {
    let totals = entry.changed.totals().filter(|totals| totals.files > 0);
    totals.map_or_else(String::new, |FileTotals { files, additions, deletions }| {
        format!("  ({}, +{} -{})", counted(files, "file"), thousands(additions), thousands(deletions))
    })
}

fn in_json(node: &TreeNode<'_>, outcomes: &Outcomes) -> serde_json::Value {
    let entry = node.entry;
    serde_json::json!({
        "id": node.id, "depth": node.lasts.len(), "title": entry.title, "agent": entry.agent, "fork": entry.fork,
        "parent": entry.parent, "outcome": outcomes.get(&node.id), "created": entry.created, "updated": entry.updated,
        "next": entry.next, "changed": entry.changed.totals(),
    })
}
