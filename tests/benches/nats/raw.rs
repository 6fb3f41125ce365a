//! Publishing and reading without Annals.

use crate::cluster::Cluster;
use async_nats::Client;
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A replicated stream, and a client.
pub struct RawStream {
    client: Client,
    replicas: usize,
}

impl RawStream {
    /// Four streams, as the store has, that flush and replicate as its streams do.
    pub async fn create(cluster: &Cluster) -> Self {
        let servers: Vec<String> =
            cluster.nodes.iter().map(|node| format!("nats://127.0.0.1:{}", node.client)).collect();
        let client = async_nats::connect(servers).await.unwrap();
        for stream in 0..4 {
            let config = json!({
                "name": format!("RAW_{stream}"), "subjects": [format!("raw.{stream}.*")], "storage": "file",
                "num_replicas": cluster.nodes.len(), "retention": "limits", "discard": "new", "max_consumers": -1,
                "max_msgs": -1, "max_bytes": -1, "max_msgs_per_subject": -1, "allow_direct": true,
            });
            ask(&client, &format!("$JS.API.STREAM.CREATE.RAW_{stream}"), &config).await;
        }
        Self { client, replicas: cluster.nodes.len() }
    }

    /// Messages of so many bytes that writers publish in a second, each waiting for the acknowledgement before the next.
    pub async fn publishes(&self, writers: u64, bytes: usize, lasts: Duration) -> f64 {
        assert!(self.replicas > 0);
        let began = Instant::now();
        let payload: bytes::Bytes = vec![b'x'; bytes].into();
        let write = |n: u64| {
            let payload = payload.clone();
            async move {
                let (subject, mut count) = (format!("raw.{}.{n}", n % 4), 0);
                while began.elapsed() < lasts {
                    self.client.request(subject.clone(), payload.clone()).await.unwrap();
                    count += 1;
                }
                count
            }
        };
        let all: u64 = join_all((0..writers).map(write)).await.into_iter().sum();
        all as f64 / began.elapsed().as_secs_f64()
    }

    /// The same number of bytes with the headers of a batch, each compared with the last message of its subject.
    pub async fn compared(&self, writers: u64, bytes: usize, lasts: Duration, round: u64) -> f64 {
        let began = Instant::now();
        let payload: bytes::Bytes = vec![b'x'; bytes.saturating_sub(300)].into();
        let write = |n: u64| {
            let payload = payload.clone();
            async move {
                let subject = format!("raw.{}.{round}-{writers}-{n}", n % 4);
                let (mut last, mut count) = (0_u64, 0_u64);
                while began.elapsed() < lasts {
                    let mut headers = async_nats::HeaderMap::new();
                    headers.insert("Nats-Expected-Stream", format!("RAW_{}", n % 4).as_str());
                    headers.insert("Nats-Expected-Last-Subject-Sequence", last.to_string().as_str());
                    headers.insert("Sess-Seq", count.to_string().as_str());
                    headers.insert("Sess-Next", count.to_string().as_str());
                    headers.insert("Sess-At", "1790000000000");
                    headers.insert("Sess-Cid", "0123456789012345678901234567890123456789012345678901234567890123");
                    headers.insert("Sess-Prev", "0123456789012345678901234567890123456789012345678901234567890123");
                    let request = async_nats::Request::new().headers(headers).payload(payload.clone());
                    let answer = self.client.send_request(subject.clone(), request).await.unwrap();
                    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
                    last = answer["seq"].as_u64().unwrap();
                    count += 1;
                }
                count
            }
        };
        let all: u64 = join_all((0..writers).map(write)).await.into_iter().sum();
        all as f64 / began.elapsed().as_secs_f64()
    }

    /// Messages of a stream that direct gets in pages give in a second, unread.
    pub async fn reads(&self, stream: &str) -> f64 {
        let (began, mut count, mut next) = (Instant::now(), 0, 1_u64);
        loop {
            let inbox = self.client.new_inbox();
            let mut answers = self.client.subscribe(inbox.clone()).await.unwrap();
            let ask = serde_json::to_vec(&json!({ "seq": next, "batch": 1000, "next_by_subj": ">" })).unwrap();
            let subject = format!("$JS.API.DIRECT.GET.{stream}");
            self.client.publish_with_reply(subject, inbox, ask.into()).await.unwrap();
            let before = count;
            while let Some(answer) = answers.next().await {
                if answer.status.is_some() {
                    break;
                }
                let headers = answer.headers.unwrap();
                next = headers.get("Nats-Sequence").unwrap().as_str().parse::<u64>().unwrap() + 1;
                count += 1;
            }
            if count == before {
                return f64::from(count) / began.elapsed().as_secs_f64();
            }
        }
    }
}

async fn ask(client: &Client, subject: &str, body: &Value) -> Value {
    let answer = client.request(subject.to_owned(), serde_json::to_vec(body).unwrap().into()).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}
