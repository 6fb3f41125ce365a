//! `annals store`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::style::{Emphasis, counted};
use annals_host::HostError;
use annals_store::nats::{NatsAddress, NatsCreate, NatsOptions, create};
use clap::Subcommand;
use serde_json::json;
use std::io::Write;

/// Create a store in a cluster of NATS JetStream servers.
///
/// A store in a folder is created by the first command that writes to it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Clone, Debug, Subcommand)]
enum StoreAction {
    Create(CreateArgs),
}

/// Create the streams of a store, or correct how those that exist are configured.
///
/// No event is touched. Servers must flush before they acknowledge (`jetstream { sync_interval: always }`): name their monitoring
/// addresses, so that every command can verify it, or accept that a power failure of all servers loses acknowledged events. The choice is
/// stored with the streams: --store nats://HOST:PORT/NAME needs no further option. See docs/cluster.md.
#[derive(Clone, Debug, clap::Args)]
struct CreateArgs {
    /// The store: nats://HOST:PORT[,HOST:PORT...]/NAME, or tls:// for an encrypted connection.
    #[arg(value_name = "ADDRESS")]
    address: NatsAddress,
    /// Keep each event on COUNT servers (default: 3).
    #[arg(long, value_name = "COUNT")]
    replicas: Option<usize>,
    /// Spread sessions over COUNT streams, which does not change later (default: 8).
    #[arg(long, value_name = "COUNT")]
    shards: Option<u32>,
    /// Verify at this monitoring address (http://HOST:8222) that servers flush; may be repeated, once for each server.
    #[arg(long, value_name = "URL")]
    monitor: Vec<String>,
    /// Accept that a power failure of all servers loses acknowledged events.
    #[arg(long, conflicts_with = "monitor")]
    accept_unsynced: bool,
}

/// Runs the command.
///
/// # Errors
/// When the servers cannot be reached, are too old, or do not flush before they acknowledge.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let StoreAction::Create(args) = &args.action;
    let wanted = NatsCreate {
        replicas: args.replicas,
        shards: args.shards,
        monitors: args.monitor.clone(),
        accept_unsynced: args.accept_unsynced,
    };
    let address = args.address.clone().with_variables(|name| cli.environment.variables.get(name));
    let done = create(&address, &wanted, NatsOptions::default()).await.map_err(HostError::from)?;
    let (store, acknowledged) = (address.to_string(), done.acknowledged.to_string());
    if cli.style.json {
        let (replicas, shards, created, changed) = (done.replicas, done.shards, done.created, done.changed);
        let answer = json!({
            "store": store, "replicas": replicas, "shards": shards, "created": created, "changed": changed,
            "acknowledged": acknowledged,
        });
        json::object(out, &answer)?;
        return Ok(Verdict::Fine);
    }
    let mark = cli.style.paint(Emphasis::Good, "✓");
    let (created, shards) = (counted(done.created as u64, "stream"), counted(u64::from(done.shards), "shard"));
    let changed = if done.changed > 0 { format!(", {} changed", done.changed) } else { String::new() };
    writeln!(
        out,
        "{mark} {store}: {created} created{changed}; {shards}, {}",
        counted(done.replicas as u64, "replica")
    )?;
    writeln!(out, "  an acknowledged event is {acknowledged}")?;
    cli.remark(&format!("to use it: ANNALS_STORE={store}, or --store {store}"));
    Ok(Verdict::Fine)
}
