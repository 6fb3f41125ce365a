//! Queries without end: nobody else waits for them, and they end with who asked.

use super::served::{PATIENCE, Served};
use super::stores;
use serde_json::{Value, json};
use std::process::Command;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

const ENDLESS: &str = "with recursive n (x) as (select 1 union all select x + 1 from n) select count(*) from n";

impl Served {
    /// The text of a request that asks a query.
    fn querying(&self, query: &str) -> String {
        let body = json!({"query": query}).to_string();
        format!(
            "POST /v1/sql HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            self.token,
            body.len()
        )
    }

    fn query(&self, query: &str) -> Value {
        let body = json!({"query": query}).to_string();
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Host", &*self.host), ("Authorization", &bearer), ("Content-Type", "application/json")];
        self.ask("POST", "/v1/sql", &headers, &body).json()
    }
}

#[test]
fn queries_without_end_hold_up_nobody_and_end_with_their_connections() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    // More than would end by their time before the last question of this test is given up.
    let cores = available_parallelism().map_or(1, std::num::NonZero::get);
    let connections: Vec<_> = (0..5 * cores).map(|_| served.send(&served.querying(ENDLESS))).collect();
    served.get("/v1/info").json();
    served.of(&session, "/views/history");
    served.get("/v1/search?q=jars").json();
    served.get("/v1/verify").json();
    drop(connections);
    assert_eq!(served.query("select 7 as n"), json!([{"n": 7}]));
}

#[test]
fn a_server_ends_while_queries_without_end_are_worked_on() {
    let (annals, _) = stores();
    let mut served = Served::start(&annals, &[]);
    let _connections: Vec<_> = (0..3).map(|_| served.send(&served.querying(ENDLESS))).collect();
    served.get("/v1/info").json();
    Command::new("kill").args(["-TERM", &served.process.id().to_string()]).status().unwrap();
    let until = Instant::now() + PATIENCE;
    while served.process.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "the server did not end after SIGTERM");
        sleep(Duration::from_millis(10));
    }
}
