//! Stores for scenarios in a cluster: the one that --store names, else a server that is started for the run.

use crate::command_context::CommandContext;
use crate::error::CliError;
use annals_host::HostError;
use annals_store::nats::{NatsAddress, NatsCreate, NatsOptions, create, remove};
use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that names the program of the server.
const PROGRAM: &str = "ANNALS_NATS_SERVER";
/// How long a server may take to start.
const START: Duration = Duration::from_secs(20);

/// Where stores of scenarios are created.
pub struct ScenarioCluster {
    servers: NatsAddress,
    /// Ended with this.
    own: Option<Child>,
}

/// Waits for the cluster. The player of scenarios waits in the same way: nothing else runs meanwhile.
fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}

impl ScenarioCluster {
    /// The cluster that was named, or a server of its own, whose files are in `folder`.
    ///
    /// # Errors
    /// When no cluster is named and there is no program `nats-server`.
    pub fn begin(cli: &CommandContext, folder: &Path) -> Result<Self, CliError> {
        if let Some(servers) = cli.place.cluster() {
            let servers = servers.clone().with_variables(|name| cli.environment.variables.get(name));
            return Ok(Self { servers, own: None });
        }
        let named = cli.environment.variables.get(PROGRAM).filter(|named| !named.is_empty());
        let program = named.map_or_else(|| "nats-server".into(), OsString::from);
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let config = folder.join("nats.conf");
        let text = format!("listen: 127.0.0.1:{port}\njetstream {{ store_dir: \"{}\" }}\n", folder.display());
        fs::write(&config, text).map_err(|source| CliError::File { path: config.clone(), source })?;
        let started = Command::new(&program)
            .arg("-c")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let own = started.map_err(|source| CliError::NoServerProgram { program: program.into(), source })?;
        let servers = format!("nats://127.0.0.1:{port}/scenario").parse().map_err(HostError::from)?;
        let began = Self { servers, own: Some(own) };
        let end = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", port)).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(began)
    }

    /// Creates a new store for scenario `at`, counted from 0.
    pub fn store(&self, at: usize) -> Result<NatsAddress, CliError> {
        let name = format!("scenario-{}-{}", std::process::id(), at + 1);
        let address = NatsAddress { name, ..self.servers.clone() };
        // Temporary: nothing is lost with it.
        let replicas = if self.servers.servers.len() < 3 { 1 } else { 3 };
        let wanted =
            NatsCreate { replicas: Some(replicas), shards: Some(2), monitors: Vec::new(), accept_unsynced: true };
        let created = wait(create(&address, &wanted, NatsOptions::default()));
        created.map_err(HostError::from)?;
        Ok(address)
    }

    /// Removes the store of a scenario.
    pub fn remove(&self, address: &NatsAddress) -> Result<(), CliError> {
        Ok(wait(remove(address, NatsOptions::default())).map_err(HostError::from)?)
    }

    /// Whether the cluster stays when the run ends.
    pub const fn stays(&self) -> bool {
        self.own.is_none()
    }
}

impl Drop for ScenarioCluster {
    fn drop(&mut self) {
        if let Some(mut own) = self.own.take() {
            drop(own.kill());
            drop(own.wait());
        }
    }
}
