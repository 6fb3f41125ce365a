//! `annals session inbox`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{clip, plain};
use crate::style::{Emphasis, counted};
use annals_core::InputId;
use annals_core::event::Delivery;
use annals_host::editing;
use annals_inspect::timeline::one_line;
use serde_json::json;
use std::io::Write;

/// List the inputs that wait in a session, or change one.
///
/// An input waits while the session is busy, or after a run that failed. A steer is sent with the next request to the
/// model; a queued input when everything before it is answered. This command runs nothing; `annals run -s SESSION`
/// answers waiting inputs.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what"))]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Withdraw INPUT; its id stays used.
    #[arg(long, value_name = "INPUT", group = "what")]
    withdraw: Option<String>,
    /// Send INPUT with the next request.
    #[arg(long, value_name = "INPUT", group = "what")]
    steer: Option<String>,
    /// Send INPUT when everything before it is answered.
    #[arg(long, value_name = "INPUT", group = "what")]
    queue: Option<String>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    match (&args.withdraw, &args.steer, &args.queue) {
        (Some(input), ..) => change(args, cli, input, None).await,
        (_, Some(input), _) => change(args, cli, input, Some(Delivery::Steer)).await,
        (.., Some(input)) => change(args, cli, input, Some(Delivery::Queue)).await,
        (None, None, None) => list(args, cli, out).await,
    }
}

async fn change(
    args: &Args,
    cli: &CommandContext,
    input: &str,
    delivery: Option<Delivery>,
) -> Result<Verdict, CliError> {
    let (reader, id) = cli.change(&args.session).await?;
    let files = editing::captured_files(reader.folder().clone());
    let session = editing::editor(cli, &reader, id, files).await?;
    let input = InputId::from(input);
    let outcome = match delivery {
        None => {
            session.withdraw(&input).await.map_err(editing::refused(id))?;
            "withdrawn"
        }
        Some(delivery) => {
            session.set_delivery(&input, delivery).await.map_err(editing::refused(id))?;
            if delivery == Delivery::Steer { "will be sent with the next request" } else { "queued" }
        }
    };
    cli.remark(&format!("{}: {outcome}", plain(input.as_str())));
    Ok(Verdict::Fine)
}

async fn list(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = cli.find(&args.session).await?;
    let until = reader.until(session, None).await?;
    let view = reader.bounded(session, until).await?;
    let pending = &view.inbox.pending;
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        for one in pending {
            let text = one.text.resolve(reader.blobs());
            list.item(&json!({
                "input": one.input, "delivery": one.delivery, "seq": one.seq, "at": one.at, "text": text,
                "attachments": one.attachments.len(),
            }))?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    for one in pending {
        let input = plain(one.input.as_str());
        let delivery = match one.delivery {
            Delivery::Steer => "steer",
            Delivery::Queue => "queue",
        };
        let text = one_line(&plain(&one.text.resolve(reader.blobs())));
        let room = cli.style.width.saturating_sub(input.chars().count() + 9).max(20);
        writeln!(out, "{}  {delivery}  {}", cli.style.paint(Emphasis::Context, &input), clip(&text, room))?;
    }
    match pending.len() {
        0 => cli.remark("no input is waiting"),
        waiting => {
            cli.remark(&format!("{} waiting; to answer: annals run -s {session}", counted(waiting as u64, "input")));
        }
    }
    Ok(Verdict::Fine)
}
