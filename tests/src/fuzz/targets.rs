//! The fuzz targets: every parser of bytes that others wrote.

use super::config::config;
use super::corpus::{Files, batches, corpus};
use annals_core::{Blobs, Digest, Seq, SessionKey, codec};
use annals_import::{ImportOptions, import, recognise};
use annals_projections::Projection;
use annals_providers::http::fuzzing::answer;
use annals_providers::wire::Protocol;
use annals_rules::{AuditRule, RuleFold, SHIPPED};
use annals_scenario::Scenario;
use annals_store::conformance::material;
use annals_store::disk::fuzzing::{packed, packed_of, segment, segment_of};
use annals_store::exchange::{export as write_export, import as import_export, verify_file};
use annals_store::ipc::fuzzing::{messages, messages_of};
use annals_store::{EventLog, MemoryLog};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The key of every session here.
const KEY: SessionKey = SessionKey([0x0f; 32]);

/// A store that has a text for every blob.
struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

/// A parser with its corpus.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Valid or almost valid inputs.
    pub corpus: fn() -> io::Result<Vec<Vec<u8>>>,
    /// Parses any input. A panic is a failure; an error means that it could not run.
    pub run: fn(&[u8]) -> io::Result<()>,
}

/// All targets.
pub const TARGETS: [Target; 10] = [
    Target { name: "journal", corpus: journal_corpus, run: journal_segment },
    Target { name: "packed", corpus: packed_corpus, run: packed_segment },
    Target { name: "codec", corpus: batches, run: decode },
    Target { name: "messages", corpus: message_corpus, run: process_messages },
    Target { name: "importers", corpus: foreign_corpus, run: foreign },
    Target { name: "answers", corpus: answer_corpus, run: answers },
    Target { name: "config", corpus: config_corpus, run: configuration },
    Target { name: "scenarios", corpus: scenario_corpus, run: scenario },
    Target { name: "export", corpus: export_corpus, run: export },
    Target { name: "rules", corpus: rule_corpus, run: rule },
];

fn rule_corpus() -> io::Result<Vec<Vec<u8>>> {
    Ok(SHIPPED.iter().map(|(_, text)| text.as_bytes().to_vec()).collect())
}

/// Reads a rule, and runs it over a session if it is one.
fn rule(bytes: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let Ok(rule) = AuditRule::read("fuzzed", &text, Path::new("fuzzed.rule")) else { return Ok(()) };
    let mut fold = RuleFold::new(vec![rule]);
    for bytes in batches()? {
        let batch = codec::decode(&bytes).map_err(io::Error::other)?;
        batch.records().for_each(|record| fold.apply(&record));
    }
    drop(fold.findings());
    Ok(())
}

fn journal_segment(bytes: &[u8]) -> io::Result<()> {
    segment(bytes);
    Ok(())
}

fn packed_segment(bytes: &[u8]) -> io::Result<()> {
    packed(bytes);
    Ok(())
}

fn process_messages(bytes: &[u8]) -> io::Result<()> {
    messages(bytes);
    Ok(())
}

fn journal_corpus() -> io::Result<Vec<Vec<u8>>> {
    let batches = batches()?;
    Ok(vec![segment_of(&batches), segment_of(batches.get(..3).unwrap_or_default())])
}

fn packed_corpus() -> io::Result<Vec<Vec<u8>>> {
    let batches = batches()?;
    Ok(vec![packed_of(&batches)?, packed_of(batches.get(..3).unwrap_or_default())?])
}

fn message_corpus() -> io::Result<Vec<Vec<u8>>> {
    messages_of(batches()?.first().map(Vec::as_slice).unwrap_or_default())
}

/// A batch that can be decoded is encoded and decoded again unchanged.
fn decode(bytes: &[u8]) -> io::Result<()> {
    drop(codec::decode_header(bytes));
    codec::place(bytes);
    if let Ok(batch) = codec::decode(bytes) {
        let again = codec::encode(&batch).ok().and_then(|bytes| codec::decode(&bytes).ok());
        assert_eq!(again.as_ref(), Some(&batch), "a Batch reads as it was written");
        if let (Ok(_), Ok(line)) = (batch.compute_digest(&KEY, &Anything), batch.to_canonical_with(&Anything)) {
            let json = serde_json::from_str(&line).expect("what was written is JSON");
            assert_eq!(annals_core::Batch::from_json(json).as_ref(), Ok(&batch), "and so does its line");
        }
    }
    Ok(())
}

fn foreign_corpus() -> io::Result<Vec<Vec<u8>>> {
    corpus(&[
        Files { folder: "claude-code", ending: ".jsonl" },
        Files { folder: "codex", ending: ".jsonl" },
        Files { folder: "opencode", ending: ".events.jsonl" },
        Files { folder: "opencode/v1", ending: ".json" },
    ])
}

/// Recognises a file, and imports it twice: the second time appends nothing.
fn foreign(bytes: &[u8]) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("it.events.jsonl");
    std::fs::write(&path, bytes)?;
    let Ok(source) = recognise(&path) else { return Ok(()) };
    blocking(async {
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        if import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.is_ok() {
            let before = log.sessions().all().await.expect("a log in memory can be read");
            drop(import(&log, &source, &ImportOptions::default(), &mut |_| {}).await);
            let after = log.sessions().all().await.expect("a log in memory can be read");
            assert_eq!(before, after, "an import that is repeated adds nothing");
        }
    })
}

fn answer_corpus() -> io::Result<Vec<Vec<u8>>> {
    let cases = [
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\
         \"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}],\
         \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n\
         data: [DONE]\n\n",
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n\
         event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\
         \"item\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n\
         event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m1\",\
         \"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"}\n\n\
         event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\
         \"status\":\"completed\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}}\n\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n\
         event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
         \"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
         event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{\"type\":\"signature_delta\",\"signature\":\"abc\"}}\n\n\
         event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
         event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\
         \"usage\":{\"output_tokens\":4}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ];
    Ok(cases.iter().map(|text| text.as_bytes().to_vec()).collect())
}

/// Every protocol decodes the answer, as a whole and in small pieces, with the same result.
fn answers(bytes: &[u8]) -> io::Result<()> {
    blocking(async {
        for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::AnthropicMessages] {
            let whole = answer(protocol, vec![bytes.to_vec()]).await;
            let pieces = bytes.chunks(7).map(<[u8]>::to_vec).collect();
            assert_eq!(whole, answer(protocol, pieces).await, "pieces make no difference");
        }
    })
}

fn config_corpus() -> io::Result<Vec<Vec<u8>>> {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/src/built-in.toml");
    let more = "default_model = \"x/y\"\n[agents.build]\nmodel = \"x/y\"\n[[permissions]]\naction = \"shell\"\n\
                resource = \"git *\"\neffect = \"allow\"\n[providers.x]\nurl = \"http://127.0.0.1/v1\"\n";
    Ok(vec![std::fs::read(built_in)?, more.as_bytes().to_vec()])
}

fn configuration(bytes: &[u8]) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    config(&String::from_utf8_lossy(bytes), folder.path())
}

fn scenario_corpus() -> io::Result<Vec<Vec<u8>>> {
    corpus(&[Files { folder: "scenarios", ending: ".json" }])
}

fn scenario(bytes: &[u8]) -> io::Result<()> {
    drop(Scenario::parse(&String::from_utf8_lossy(bytes), Path::new("it.json")));
    Ok(())
}

/// Exports of a short session, of one with a large text, and of a fork.
fn export_corpus() -> io::Result<Vec<Vec<u8>>> {
    blocking(async {
        let (log, parent, child) = (MemoryLog::new(), material::session(1), material::session(2));
        let large = material::session(3);
        material::story(&log, parent, 4).await.map_err(io::Error::other)?;
        material::fork(&log, parent, Seq(2), child).await.map_err(io::Error::other)?;
        material::begin(&log, large).await.map_err(io::Error::other)?;
        let text = material::synthetic("x".repeat(9_000));
        let appended = log.append(material::draft(large, Seq(1), vec![text])).await;
        appended.map_err(io::Error::other)?;
        let mut found = Vec::new();
        for session in [parent, child, large] {
            let mut out = Vec::new();
            write_export(&log, session, &mut out, &mut |_| {}).await.map_err(io::Error::other)?;
            found.push(out);
        }
        Ok(found)
    })?
}

/// Verifies an export, and imports it if it is sound.
fn export(bytes: &[u8]) -> io::Result<()> {
    let report = verify_file(&mut &*bytes, None, &mut |_| {})?;
    blocking(async {
        let imported = import_export(&MemoryLog::new(), &mut &*bytes, &mut |_| {}).await;
        assert!(imported.is_ok() || !report.is_sound(), "what is sound is imported: {imported:?}");
    })
}

fn blocking<T>(what: impl Future<Output = T>) -> io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(what))
}
