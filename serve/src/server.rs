//! The server: listens, and answers until it is dropped.

use crate::access::{AccessRules, check};
use crate::hosting::HostedSessions;
use crate::openapi;
use crate::page;
use crate::problem::ApiProblem;
use crate::routes::{operations, writing};
use crate::service::Service;
use crate::token::ServerToken;
use annals_core::{Seq, SessionId};
use annals_inspect::live_store::LiveStore;
use annals_inspect::pricing::Pricing;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::routing::get;
use axum::{Router, middleware};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// An address and a port; port 0 chooses one.
    pub listen: String,
    /// What a client has to send.
    pub token: ServerToken,
    /// Whether other machines may be answered: the token was chosen for it.
    pub beyond_loopback: bool,
    /// Further names of this server, for a proxy before it.
    pub names: Vec<String>,
}

/// The server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken, or not of this machine: choose another one.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
    /// Other machines could reach the server.
    #[error("{0} can be reached from other machines: give a token with --token-file FILE, and let a proxy add TLS")]
    BeyondLoopback(SocketAddr),
}

/// A server that listens.
pub struct ApiServer {
    listener: TcpListener,
    address: SocketAddr,
    token: ServerToken,
    router: Router,
    /// Dropped when the server ends, which ends the work on its questions.
    running: watch::Sender<()>,
}

impl ApiServer {
    /// Listens.
    pub async fn bind(
        store: LiveStore,
        pricing: Pricing,
        hosted: Option<Arc<HostedSessions>>,
        settings: &ServerSettings,
    ) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address: settings.listen.clone(), source };
        let listener = TcpListener::bind(&settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if !address.ip().is_loopback() && !settings.beyond_loopback {
            return Err(ServeError::BeyondLoopback(address));
        }
        let access = Arc::new(AccessRules::new(settings.token.clone(), address, &settings.names));
        let (running, until) = watch::channel(());
        let router = router(Arc::new(Service::new(store, pricing, hosted, until)), access);
        Ok(Self { listener, address, token: settings.token.clone(), router, running })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page, with the token in the part that a browser does not send.
    pub fn link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token.as_str())
    }

    /// The same, to a session, at a cut or where it ends.
    pub fn link_to(&self, session: SessionId, at: Option<Seq>) -> String {
        let at = at.map(|at| format!("@{at}")).unwrap_or_default();
        format!("{}&/s/{session}{at}", self.link())
    }

    /// Answers requests until the future is dropped, which also ends the work on questions.
    ///
    /// # Errors
    /// When the system refuses for good.
    pub async fn run(self) -> io::Result<()> {
        let _running = self.running;
        axum::serve(self.listener, self.router).await
    }
}

fn router(service: Arc<Service>, access: Arc<AccessRules>) -> Router {
    // Every connection has a copy of the router: of bytes that are shared.
    let document = Bytes::from(openapi::document(service.writes()).to_string());
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut router = page::files().route("/openapi.json", get(move || async move { (json, document) }));
    for operation in operations().into_iter().chain(writing()) {
        router = router.route(operation.path, operation.handler);
    }
    let missing = |request: Request| async move {
        ApiProblem::not_found(format!("nothing is at {}; /openapi.json lists all operations", request.uri().path()))
    };
    let wrong = || async { ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "another method", "see /openapi.json") };
    router
        .fallback(missing)
        .method_not_allowed_fallback(wrong)
        .layer(middleware::from_fn_with_state(access, check))
        .with_state(service)
}
