//! Routes between servers that can be cut: each goes through a proxy of its own, so that servers on both sides go on running.

use crate::nats::cluster::Cluster;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One direction in which a server connects to another.
struct Link {
    between: [usize; 2],
    /// Whether bytes pass, and how many times all its connections ended.
    state: watch::Sender<(bool, u64)>,
}

/// How a partition ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heal {
    /// What was sent meanwhile arrives: TCP repeats it.
    Late,
    /// Connections from before are gone.
    Reset,
}

/// All routes of a cluster.
pub struct Links(Vec<Link>);

impl Links {
    /// So many servers, whose routes can be cut. `None` where the program is missing.
    pub fn start(servers: usize) -> Option<(Cluster, Self)> {
        let links = std::cell::RefCell::new(Vec::new());
        let through = |from: usize, to: usize, port: u16| {
            let (link, local) = Link::start([from, to], port);
            links.borrow_mut().push(link);
            local
        };
        let cluster = Cluster::start_through(servers, &through)?;
        Some((cluster, Self(links.into_inner())))
    }

    /// Cuts the routes between some pairs of servers.
    pub fn cut(&self, is_cut: impl Fn(usize, usize) -> bool) {
        for Link { between: [one, other], state } in &self.0 {
            state.send_modify(|state| state.0 = !(is_cut(*one, *other) || is_cut(*other, *one)));
        }
    }

    /// Cuts one server off from all others.
    pub fn cut_off(&self, server: usize) {
        self.cut(|one, _| one == server);
    }

    pub fn heal(&self, how: Heal) {
        for link in &self.0 {
            link.state.send_modify(|(passes, ends)| {
                *ends += u64::from(how == Heal::Reset && !*passes);
                *passes = true;
            });
        }
    }
}

impl Link {
    fn start(between: [usize; 2], to: u16) -> (Self, u16) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (state, watched) = watch::channel((true, 0));
        tokio::spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(pass(from, to, watched.clone()));
            }
        });
        (Self { between, state }, port)
    }
}

async fn pass(from: TcpStream, to: u16, mut state: watch::Receiver<(bool, u64)>) {
    let ends = state.borrow().1;
    if state.wait_for(|(passes, _)| *passes).await.is_err() {
        return;
    }
    let Ok(to) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let ((from_one, to_one), (from_other, to_other)) = (from.into_split(), to.into_split());
    // Both halves of a connection end together.
    tokio::select! {
        () = pump(from_one, to_other, state.clone()) => {}
        () = pump(from_other, to_one, state.clone()) => {}
        _ = state.wait_for(|(_, now)| *now != ends) => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<(bool, u64)>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let passes = state.wait_for(|(passes, _)| *passes).await.is_ok();
        if !passes || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
