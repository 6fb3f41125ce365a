//! `annals requests`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{Sheet, name, plain};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::event::StepEvent;
use annals_core::{Digest, Event};
use annals_inspect::SessionAt;
use annals_inspect::prove::{Wire, body_of, prove_all};
use annals_projections::{Block, Request, RequestMark, Requests, Role, Span, rebuild};
use serde_json::{Value, json};
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

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read, there is no such request, or the output refuses.
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
    let items: Vec<(RequestMark, Option<Option<String>>)> = if prove {
        let proofs = prove_all(&SessionAt::from(found), false).await?;
        proofs.into_iter().map(|proof| (proof.mark, Some(proof.flaw))).collect()
    } else {
        let requests: Requests = found.reader.fold(found.session, found.until).await?;
        requests.marks.into_iter().map(|mark| (mark, None)).collect()
    };
    let wrong = items.iter().filter(|(_, proof)| matches!(proof, Some(Some(_)))).count();
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        for (at, (mark, proof)) in items.iter().enumerate() {
            let proved = proof.as_ref().map(Option::is_none);
            list.item(&json!({
                "number": at + 1, "seq": mark.seq, "at": mark.at, "request": mark.request, "purpose": mark.purpose,
                "attempt": mark.attempt, "agent": mark.agent, "model": mark.model, "digest": mark.digest,
                "proved": proved,
            }))?;
        }
        list.end()?;
        return Ok(Verdict::bad_if(wrong > 0));
    }
    for (at, (mark, proof)) in items.iter().enumerate() {
        line(at + 1, mark, proof.as_ref(), &cli.style, out)?;
    }
    match (items.len(), prove, wrong) {
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

fn line(
    number: usize,
    mark: &RequestMark,
    proof: Option<&Option<String>>,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let (sign, emphasis) = match proof {
        None => (" ", Emphasis::Plain),
        Some(None) => ("✓", Emphasis::Good),
        Some(Some(_)) => ("✗", Emphasis::Bad),
    };
    let again = if mark.attempt > 1 { format!(" attempt {}", mark.attempt) } else { String::new() };
    let why = proof.and_then(Option::as_ref).map(|why| format!("  {why}")).unwrap_or_default();
    writeln!(
        out,
        "{} {}  {}  {:<7} {} on {}{again}  {}{}",
        style.paint(emphasis, sign),
        style.paint(Emphasis::Strong, &format!("{number:>4}")),
        style.paint(Emphasis::Dim, &format!("event {:>5}  {}", mark.seq, style.clock(mark.at))),
        mark.purpose.as_str(),
        name(mark.agent.as_str()),
        name(mark.model.as_str()),
        style.paint(Emphasis::Dim, &mark.digest.short()),
        style.paint(Emphasis::Bad, &why),
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
    let marks: annals_projections::Requests = found.reader.fold(found.session, found.until).await?;
    let none = CliError::NoRequest { session: found.session, wanted, count: marks.marks.len() };
    let Some(mark) = wanted.checked_sub(1).and_then(|at| marks.marks.get(at)) else { return Err(none) };
    let slice = found.reader.log().batch_at(found.session, mark.seq).await?;
    let sent = slice.as_ref().and_then(|slice| slice.records().find(|record| record.seq == mark.seq));
    let Some(Event::Step(StepEvent::RequestSent(sent))) = sent.map(|record| record.event) else { return Err(none) };
    let view = found.reader.view(found.session, mark.seq).await?;
    let request = rebuild(&view, sent, found.reader.blobs())?;
    if wire {
        return bytes(body_of(&request, sent, found.session), cli, out);
    }
    let digest = request.digest();
    let proved = digest == sent.digest;
    if cli.style.json {
        let mut value = request.to_json();
        if let Value::Object(fields) = &mut value {
            fields.insert("seq".to_owned(), json!(mark.seq));
            fields.insert("recorded".to_owned(), json!(sent.digest));
            fields.insert("proved".to_owned(), json!(proved));
            fields.insert("parts".to_owned(), parts_json(&request));
            fields.insert("origins".to_owned(), origins_json(&request));
        }
        json::object(out, &value)?;
        return Ok(Verdict::bad_if(!proved));
    }
    let mut sheet = Sheet::for_names(out, &cli.style, ["exec_command"]);
    draw(wanted, mark, &request, &mut sheet)?;
    prove(sent.digest, digest, &mut sheet)?;
    Ok(Verdict::bad_if(!proved))
}

/// Writes a body as it was sent, without a newline at its end, so that its digest can be checked elsewhere.
fn bytes(wire: Wire, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (body, bad) = match wire {
        Wire::Proved(body) => {
            cli.remark(&format!("verified: digest {}", body.digest));
            (Some(body), false)
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

fn parts_json(request: &Request) -> Value {
    request.parts().into_iter().map(|(name, digest)| json!({"part": name, "digest": digest})).collect()
}

/// Which event put each part there.
fn origins_json(request: &Request) -> Value {
    let system: Vec<Value> = request
        .system
        .iter()
        .map(|system| {
            let span = |span: &Span| json!({"bytes": span.bytes, "seq": span.seq, "source": span.source});
            system.spans.iter().map(span).collect()
        })
        .collect();
    let messages: Vec<Value> = request
        .messages
        .iter()
        .map(|message| message.blocks.iter().map(|block| json!(block.seq())).collect())
        .collect();
    json!({"system": system, "messages": messages})
}
