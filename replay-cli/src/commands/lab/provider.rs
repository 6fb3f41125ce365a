//! `annals dev lab provider`

use crate::command_context::CommandContext;
use crate::error::{CliError, LabCommandError, Verdict};
use crate::json;
use crate::layout::{pad, plain};
use crate::style::Emphasis;
use annals_host::{Signal, Signals};
use annals_lab::{FaultyProvider, ProviderFault, ServedCall};
use std::io::Write;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;
use tokio::net::TcpListener;

/// Serve a provider that fails: cut streams, refusals, stalls, malformed answers.
///
/// Speaks OpenAI Chat Completions, OpenAI Responses and Anthropic Messages. The first request meets the first fault, and so on; the rest
/// is answered by the calls of --call, one after the other, then by --text. Prints the base URL to configure.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What the requests meet, in order; repeat a fault with NAME*COUNT.
    #[arg(value_name = "FAULT")]
    faults: Vec<Faults>,
    /// Begin again with the first fault after the last one.
    #[arg(long)]
    repeat: bool,
    /// List the faults.
    #[arg(long)]
    list: bool,
    /// Listen on this address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The text of answers.
    #[arg(long, value_name = "TEXT", default_value = "This is an answer of the laboratory.")]
    text: String,
    /// A call that each prompt leads to before the text; may be repeated.
    #[arg(long, value_name = "TOOL=JSON")]
    call: Vec<Call>,
    /// How long a slow answer waits before each event.
    #[arg(long, value_name = "MS", default_value_t = 500)]
    pause: u64,
}

/// A fault, so many times.
#[derive(Clone, Debug)]
struct Faults(Vec<ProviderFault>);

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = match text.rsplit_once('*') {
            Some((name, count)) => (name, count.parse().ok().filter(|count| (1..=10_000).contains(count))),
            None => (text, Some(1)),
        };
        let count: usize = count.ok_or("expected NAME*COUNT with a count up to 10000")?;
        let fault: ProviderFault = name.parse().map_err(|error: annals_lab::NoProviderFault| error.to_string())?;
        Ok(Self(vec![fault; count]))
    }
}

#[derive(Clone, Debug)]
struct Call(ServedCall);

impl FromStr for Call {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tool, input) = text.split_once('=').ok_or("expected TOOL=JSON, such as bash={\"command\":\"true\"}")?;
        let _: serde_json::Value =
            serde_json::from_str(input).map_err(|error| format!("the input is not JSON: {error}"))?;
        Ok(Self(ServedCall { tool: tool.to_owned(), input: input.to_owned() }))
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if args.list {
        list(cli, out)?;
        return Ok(Verdict::Fine);
    }
    let provider = FaultyProvider {
        faults: args.faults.iter().flat_map(|faults| faults.0.clone()).collect(),
        repeat: args.repeat,
        calls: args.call.iter().map(|call| call.0.clone()).collect(),
        text: args.text.clone(),
        pause: Duration::from_millis(args.pause),
    };
    let cannot = |source| LabCommandError::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(cannot)?;
    let url = FaultyProvider::base_url(&listener).map_err(cannot)?;
    match cli.style.json {
        true => json::object(out, &serde_json::json!({"base_url": url}))?,
        false => writeln!(out, "{url}")?,
    }
    out.flush()?;
    cli.remark("Ctrl-C ends it");
    let mut signals = Signals::listen()?;
    let remarks = cli.remarks.clone();
    let served = move |request: &annals_lab::ServedRequest| {
        remarks.say(
            Emphasis::Plain,
            &plain(&format!("request {}: {} {}", request.request, request.fault, request.target)),
        );
    };
    tokio::select! {
        served = provider.serve(listener, served) => served.map_err(cannot)?,
        signal = signals.next() => match signal {
            Signal::Interrupt | Signal::End => {}
        },
    }
    Ok(Verdict::Fine)
}

fn list(cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    if cli.style.json {
        let faults =
            ProviderFault::ALL.iter().map(|fault| serde_json::json!({"name": fault.name(), "about": fault.about()}));
        return Ok(json::list(out, faults)?);
    }
    for fault in ProviderFault::ALL {
        let name = cli.style.paint(Emphasis::Strong, &pad(fault.name(), 12));
        writeln!(out, "{name}{}", fault.about())?;
    }
    Ok(())
}
