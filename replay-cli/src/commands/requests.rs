//! `annals requests`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{Sheet, name, plain};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::Digest;
use annals_inspect::SessionAt;
use annals_inspect::prove::{AgentProof, Wire};
use annals_inspect::requests::{ListedRequest, RebuildError};
use annals_projections::{Block, Request, RequestMark, Role, Span};
use std::io::Write;

/// List the requests of a session, or rebuild one from the log.
///
/// A rebuilt request shows what the model received, with the event that each part came from. Its digest is compared
/// with the one that was recorded before it was sent. Exit status 1 if they differ.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Rebuild request N (the first is 1).
    #[arg(long, short = 's', value_name = "N")]
    step: Option<usize>,
    /// Rebuild every request and compare its digest.
    #[arg(long, conflicts_with = "step")]
    prove: bool,
    /// Print the exact bytes that were sent for the request of --step.
    #[arg(long, requires = "step")]
    wire: bool,
}

impl Args {
    /// Whether the answer is the body of a request, byte for byte.
    pub fn gives_bytes(&self) -> bool {
        self.wire
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    match args.step {
        Some(wanted) => one(wanted, args.wire, &found, cli, out).await,
        None => list(args.prove, &found, cli, out).await,
    }
}

async fn list(
    prove: bool,
    found: &FoundSession,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let past = SessionAt::from(found);
    let recorded;
    let items: Box<dyn Iterator<Item = ListedRequest> + Send + '_> = if prove {
        Box::new(past.proved_requests().await?.into_iter())
    } else {
        recorded = past.requests().await?;
        Box::new(recorded.iter())
    };
    let (mut whole, mut withheld, mut wrong) = (0, 0, 0);
    let mut items = items.inspect(|item| {
        wrong += usize::from(item.flaw.is_some());
        *(if item.withheld.is_some() { &mut withheld } else { &mut whole }) += 1;
    });
    if cli.style.json {
        json::list(out, items)?;
        return Ok(Verdict::bad_if(wrong > 0));
    }
    items.try_for_each(|item| line(&item, &cli.style, out))?;
    if withheld > 0 {
        cli.remark(&format!("{} not provable: parts are withheld", counted(withheld as u64, "request")));
    }
    match (whole, prove, wrong) {
        (0, ..) if withheld > 0 => {}
        (0, ..) => cli.remark(
            "no request is recorded: other agents do not record their requests. `annals why` and `annals history` show what \
             a request contains",
        ),
        (count, true, 0) => cli.remark(&format!("{} verified", counted(count as u64, "request"))),
        (count, true, wrong) => cli.remark(&format!("{wrong} of {} not verified", counted(count as u64, "request"))),
        (count, false, _) => cli.remark(&format!("{}; to rebuild one: --step N", counted(count as u64, "request"))),
    }
    Ok(Verdict::bad_if(wrong > 0))
}

fn line(item: &ListedRequest, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    if item.unrecorded > 0 {
        let line = format!("     ~  {} before, no request recorded", counted(item.unrecorded as u64, "answer"));
        writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
    }
    let (sign, emphasis) = match item.proved {
        None if item.withheld.is_some() => ("?", Emphasis::Warn),
        None => (" ", Emphasis::Plain),
        Some(true) => ("✓", Emphasis::Good),
        Some(false) => ("✗", Emphasis::Bad),
    };
    let again = if item.attempt > 1 { format!(" attempt {}", item.attempt) } else { String::new() };
    let digest = item.digest.short();
    let withheld = item.withheld.map(|parts| parts.to_string());
    let why = item.flaw.as_ref().or(withheld.as_ref()).map(|why| format!("  {why}")).unwrap_or_default();
    writeln!(
        out,
        "{} {}  {}  {:<7} {} on {}{again}  {}{}",
        style.paint(emphasis, sign),
        style.paint(Emphasis::Strong, &format!("{:>4}", item.number)),
        style.paint(Emphasis::Dim, &format!("event {:>5}  {}", item.seq, style.clock(item.at))),
        item.purpose.as_str(),
        name(item.agent.as_str()),
        name(item.model.as_str()),
        style.paint(Emphasis::Dim, &digest),
        style.paint(if item.flaw.is_some() { Emphasis::Bad } else { Emphasis::Warn }, &why),
    )?;
    Ok(())
}

async fn one(
    wanted: usize,
    wire: bool,
    found: &FoundSession,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let past = SessionAt::from(found);
    let rebuilt = past.rebuilt_request(wanted).await?;
    if let (true, Some(parts)) = (wire, rebuilt.withheld) {
        return Err(RebuildError::Withheld(parts).into());
    }
    if wire {
        return bytes(rebuilt.wire(past.blobs()).map_err(RebuildError::Withheld)?, cli, out);
    }
    let proved = rebuilt.withheld.is_some() || rebuilt.is_proved();
    if cli.style.json {
        json::object(out, &rebuilt.to_json())?;
        return Ok(Verdict::bad_if(!proved));
    }
    let mut sheet = Sheet::for_names(out, &cli.style, ["exec_command"]);
    draw(wanted, &rebuilt.mark, rebuilt.shown(), &mut sheet)?;
    match rebuilt.withheld {
        Some(parts) => writeln!(sheet.out, "{}", cli.style.paint(Emphasis::Warn, &format!("? {parts}")))?,
        None => prove(rebuilt.sent.digest, rebuilt.request.digest(), &mut sheet)?,
    }
    Ok(Verdict::bad_if(!proved))
}

/// Writes a body as it was sent, without a newline at its end, so that its digest can be checked elsewhere.
fn bytes(wire: Wire, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (body, bad) = match wire {
        Wire::Proved(body) | Wire::Recorded(body) => {
            cli.remark(&format!("verified: digest {}", body.digest));
            (Some(body), false)
        }
        Wire::Redacted(body) => {
            cli.remark("recorded redacted: secrets were replaced, and what was sent is not proved");
            (Some(body), false)
        }
        Wire::Agent(body, proof) => {
            let (line, bad) = agent_line(&proof);
            cli.remark(&format!("from the session file of the agent: {line}"));
            (Some(body), bad)
        }
        Wire::NotRecorded => {
            cli.remark("no body is recorded for this request");
            (None, true)
        }
        Wire::OfAnotherBuild(why) => {
            cli.remark(&format!("cannot be verified by this build: {why}"));
            (None, true)
        }
        Wire::Differs(why, body) => {
            cli.remark(&format!("not what was sent: {why}"));
            (body, true)
        }
    };
    if let Some(body) = body {
        out.write_all(&body.bytes)?;
    }
    Ok(Verdict::bad_if(bad))
}

/// What the hash of an agent proves of a body, and whether that is bad news.
fn agent_line(proof: &AgentProof) -> (String, bool) {
    match proof {
        AgentProof::Whole => ("verified by the hash that it recorded".to_owned(), false),
        AgentProof::Parts { whole_differs: false } => {
            ("system prompt, tools and messages verified by the hashes that it recorded".to_owned(), false)
        }
        AgentProof::Parts { whole_differs: true } => {
            let line = "system prompt, tools and messages verified by the hashes that it recorded; its hash of the whole differs";
            (line.to_owned(), false)
        }
        AgentProof::Lacks(parts) => (format!("not proved, the file does not have {}", parts.join(", ")), false),
        AgentProof::Differs(why) => (format!("not what it recorded, {why}"), true),
    }
}

fn draw(number: usize, mark: &RequestMark, request: &Request, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let left = format!("request {number} · {}", mark.purpose);
    let right = format!("event {} · {}", mark.seq, sheet.style.clock(mark.at));
    sheet.rule(&left, &right, Emphasis::Strong)?;
    let head = format!("{} on {}, about {} tokens", request.agent, request.model.model, thousands(request.chars() / 4));
    sheet.row(None, ("", Emphasis::Dim), (&head, Emphasis::Dim), ("", Emphasis::Dim))?;
    for system in &request.system {
        let mut at = 0;
        for Span { bytes, seq, source } in &system.spans {
            let text = system.text.get(at..at + bytes).unwrap_or_default();
            at += bytes;
            if text.trim().is_empty() {
                continue;
            }
            let origin = source.as_ref().map_or("the agent's own text", |key| key.as_str());
            sheet.row(*seq, ("system", Emphasis::Context), (origin, Emphasis::Context), ("", Emphasis::Dim))?;
            sheet.quote(&plain(text), Emphasis::Plain)?;
        }
    }
    for message in &request.messages {
        for block in &message.blocks {
            draw_block(message.role, block, sheet)?;
        }
    }
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    if !tools.is_empty() {
        sheet.row(None, ("tools", Emphasis::Tool), (&tools.join(", "), Emphasis::Plain), ("", Emphasis::Dim))?;
    }
    let options = &request.options;
    for (name, value) in options.controls.iter().chain(&options.options).chain(&options.body) {
        let line = format!("{name} = {}", value.value(&annals_core::NoBlobs));
        sheet.row(None, ("option", Emphasis::Dim), (&plain(&line), Emphasis::Plain), ("", Emphasis::Dim))?;
    }
    Ok(())
}

fn draw_block(role: Role, block: &Block, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let (label, emphasis) = match role {
        Role::User => ("user", Emphasis::User),
        Role::Assistant => ("assistant", Emphasis::Model),
        Role::System => ("system", Emphasis::Context),
        Role::Tool => ("tool", Emphasis::Tool),
    };
    let seq = block.seq();
    let none = ("", Emphasis::Dim);
    match block {
        Block::Text { text, .. } => sheet.row(seq, (label, emphasis), (&plain(text), Emphasis::Plain), none)?,
        Block::Reasoning { text, .. } => {
            sheet.row(seq, (label, emphasis), ("reasoning", Emphasis::Dim), none)?;
            sheet.quote(&plain(text), Emphasis::Dim)?;
        }
        Block::Media { attachment, .. } => {
            let line = format!("{} {}", attachment.mime, attachment.name.as_deref().unwrap_or_default());
            sheet.row(seq, (label, emphasis), (&plain(&line), Emphasis::Plain), none)?;
        }
        Block::Call { id, tool, input, .. } => {
            sheet.row(
                seq,
                (label, Emphasis::Model),
                (&format!("calls {tool}"), Emphasis::Tool),
                (id.as_str(), Emphasis::Dim),
            )?;
            sheet.quote(&plain(input), Emphasis::Plain)?;
        }
        Block::HostedResult { id, result, .. } => {
            sheet.row(seq, (label, emphasis), ("hosted result", Emphasis::Tool), (id.as_str(), Emphasis::Dim))?;
            sheet.quote(&plain(result), Emphasis::Plain)?;
        }
        Block::Result { result, .. } => {
            let failed = result.error.is_some();
            let word = if failed { "error" } else { "result" };
            sheet.row(seq, (label, emphasis), (word, Emphasis::Tool), (result.id.as_str(), Emphasis::Dim))?;
            let text = result.error.as_deref().or(result.output.as_deref()).unwrap_or_default();
            sheet.quote(&plain(text), if failed { Emphasis::Bad } else { Emphasis::Plain })?;
        }
    }
    Ok(())
}

fn prove(recorded: Digest, found: Digest, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let style = sheet.style;
    if recorded == found {
        writeln!(sheet.out, "{} verified: digest {recorded}", style.paint(Emphasis::Good, "✓"))?;
    } else {
        let line = format!("✗ not what was sent: recorded {recorded}, rebuilt {found}");
        writeln!(sheet.out, "{}", style.paint(Emphasis::Bad, &line))?;
    }
    Ok(())
}
