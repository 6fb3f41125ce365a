//! Real servers of NATS, in a folder of their own.

use annals_store::nats::{NatsAddress, NatsCreate, NatsOptions, create};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// One server.
pub struct Node {
    child: Option<Child>,
    config: PathBuf,
    pub client: u16,
    pub monitor: u16,
    route: u16,
}

/// Servers that replicate to each other, or one alone. They end with it.
pub struct Cluster {
    pub nodes: Vec<Node>,
    folder: TempDir,
    stores: AtomicU32,
}

fn free_ports<const N: usize>() -> [u16; N] {
    let bound = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    bound.map(|listener| listener.local_addr().unwrap().port())
}

impl Cluster {
    /// So many servers that flush before they acknowledge; `None` where the program is missing.
    pub fn start(servers: usize) -> Option<Self> {
        Self::start_with(servers, "sync_interval: always", "")
    }

    /// With other words in the block `jetstream`, and at the end of the configuration.
    pub fn start_with(servers: usize, jetstream: &str, more: &str) -> Option<Self> {
        Self::start_all(servers, jetstream, more, "", &|_, _, port| port)
    }

    /// With routes that go elsewhere: `through` gives where one server connects to another, whose port it gets.
    pub fn start_through(servers: usize, through: &dyn Fn(usize, usize, u16) -> u16) -> Option<Self> {
        // Servers tell each other where others are: a port that nobody listens on.
        let [nowhere] = free_ports();
        let advertised = format!("advertise: \"127.0.0.1:{nowhere}\",");
        Self::start_all(servers, "sync_interval: always", "", &advertised, through)
    }

    fn start_all(
        servers: usize,
        jetstream: &str,
        more: &str,
        advertised: &str,
        through: &dyn Fn(usize, usize, u16) -> u16,
    ) -> Option<Self> {
        let program = annals_tests::needed::path_of("nats-server")?;
        // Another process may take a port that is free now.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let ports: Vec<[u16; 3]> = (0..servers).map(|_| free_ports()).collect();
            let mut cluster = Self { nodes: Vec::new(), folder, stores: AtomicU32::new(0) };
            for (number, own) in ports.iter().enumerate() {
                let others = (0..servers).filter(|other| *other != number);
                let routes: Vec<u16> = others.map(|other| through(number, other, ports[other][2])).collect();
                cluster.configure(*own, &routes, advertised, jetstream, more);
            }
            for node in 0..servers {
                cluster.run(&program, node);
            }
            if cluster.becomes_healthy() {
                return Some(cluster);
            }
        }
        panic!("the servers end at once");
    }

    fn configure(&mut self, ports: [u16; 3], routes: &[u16], advertised: &str, jetstream: &str, more: &str) {
        let (number, [client, monitor, route]) = (self.nodes.len() + 1, ports);
        let store = self.folder.path().join(format!("n{number}"));
        let routes: Vec<String> = routes.iter().map(|route| format!("nats-route://127.0.0.1:{route}")).collect();
        let routes = routes.join(", ");
        let cluster = match routes.is_empty() {
            true => String::new(),
            false => {
                format!("cluster {{ name: annals, listen: 127.0.0.1:{route}, {advertised} routes: [{routes}] }}\n")
            }
        };
        let text = format!(
            "server_name: n{number}\nlisten: 127.0.0.1:{client}\nhttp: 127.0.0.1:{monitor}\n\
             jetstream {{ store_dir: \"{}\", max_file: 20G, {jetstream} }}\n{cluster}{more}\n",
            store.display()
        );
        let config = self.folder.path().join(format!("n{number}.conf"));
        fs::write(&config, text).unwrap();
        self.nodes.push(Node { child: None, config, client, monitor, route });
    }

    /// Starts one more server, which knows the routes of the others. Gives its number.
    pub fn add(&mut self, more: &str) -> usize {
        let routes: Vec<u16> = self.nodes.iter().map(|node| node.route).collect();
        self.configure(free_ports(), &routes, "", "sync_interval: always", more);
        let node = self.nodes.len() - 1;
        self.restart(node);
        node
    }

    fn run(&mut self, program: &OsString, node: usize) {
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join(format!("n{node}.log")));
        let log = log.unwrap();
        let child = Command::new(program)
            .arg("-c")
            .arg(&self.nodes[node].config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.nodes[node].child = Some(child.unwrap());
    }

    /// Starts a server again.
    pub fn restart(&mut self, node: usize) {
        let program = annals_tests::needed::path_of("nats-server").unwrap();
        self.run(&program, node);
    }

    /// Ends a server as a crash does.
    pub fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// The process of a server.
    pub fn pid(&self, node: usize) -> Option<i32> {
        self.nodes[node].child.as_ref().map(|child| child.id().cast_signed())
    }

    /// Waits until every server that runs says that it is well.
    pub fn await_healthy(&mut self) {
        assert!(self.becomes_healthy(), "a server ended: {}", self.logs());
    }

    /// The same; `false` when one ended.
    fn becomes_healthy(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(60);
        for at in 0..self.nodes.len() {
            if self.nodes[at].child.is_none() {
                continue;
            }
            while !http(self.nodes[at].monitor, "/healthz").is_some_and(|answer| answer.contains("\"ok\"")) {
                if self.nodes[at].child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
                    return false;
                }
                assert!(Instant::now() < end, "a server does not become healthy: {}", self.logs());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        true
    }

    /// Where the files of all servers are.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What the servers printed.
    pub fn logs(&self) -> String {
        let of = |node| fs::read_to_string(self.folder.path().join(format!("n{node}.log"))).unwrap_or_default();
        (0..self.nodes.len()).map(of).collect()
    }

    pub fn monitors(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("http://127.0.0.1:{}", node.monitor)).collect()
    }

    /// The address of a store of this name.
    pub fn address(&self, name: &str) -> NatsAddress {
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        self.address_at(name, &all)
    }

    /// The same by some servers alone.
    pub fn address_at(&self, name: &str, nodes: &[usize]) -> NatsAddress {
        let servers: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", self.nodes[*node].client)).collect();
        format!("nats://{}/{name}", servers.join(",")).parse().unwrap()
    }

    /// How a store is created here.
    pub fn wanted(&self, shards: u32) -> NatsCreate {
        NatsCreate {
            replicas: Some(self.nodes.len()),
            shards: Some(shards),
            monitors: self.monitors(),
            accept_unsynced: false,
        }
    }

    /// Creates a new store.
    pub async fn new_store(&self, shards: u32) -> NatsAddress {
        let address = self.address(&format!("s{}", self.stores.fetch_add(1, Ordering::Relaxed)));
        create(&address, &self.wanted(shards), NatsOptions::default()).await.unwrap();
        address
    }

    /// The server that leads a stream.
    pub fn leader(&self, stream: &str) -> Option<usize> {
        let answer = self.nodes.iter().filter(|node| node.child.is_some()).find_map(|node| {
            let answer = http(node.monitor, "/jsz?streams=true")?;
            let at = answer.find(&format!("\"name\": \"{stream}\""))?;
            let rest = &answer[at..];
            let leader = rest.find("\"leader\": \"n").map(|at| &rest[at + 12..])?;
            leader.split('"').next()?.parse::<usize>().ok()
        });
        answer.map(|number| number - 1)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill(node));
    }
}

/// What a monitoring port answers.
pub fn http(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(3))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
