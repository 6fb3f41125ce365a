//! What a file is follows from its content, exports of our own included.

use crate::import::harness::{copied, fixture, memory, run, scratch, write};
use annals_import::{ImportOptions, RecogniseError, SourceForm, SourceImportError, import, recognise};

#[tokio::test]
async fn files_are_recognised_by_their_content() {
    let folder = scratch();
    let forms = [
        ("opencode/opencode.db", SourceForm::OpenCodeDatabase),
        ("opencode/v1/tools.json", SourceForm::OpenCodeExport),
        ("opencode/v1/tools.events.jsonl", SourceForm::OpenCodeEvents),
        ("opencode/v2/first.events.jsonl", SourceForm::OpenCodeEvents),
        ("codex/one-turn.rollout.jsonl", SourceForm::CodexRollout),
        ("claude-code/one-turn.jsonl", SourceForm::ClaudeTranscript),
        ("claude-code/subagent-child.jsonl", SourceForm::ClaudeTranscript),
    ];
    for (name, form) in forms {
        assert_eq!(recognise(&copied(&folder, name, "anything")).unwrap().form, form, "{name}");
    }
    let unknown = [("a.txt", "hello\n"), ("b.json", "{\"a\":1}"), ("c", "")];
    for (name, text) in unknown {
        assert!(matches!(recognise(&write(&folder, name, text)), Err(RecogniseError::Unknown { .. })), "{name}");
    }
    let projection = fixture("opencode/v2/first.projection.json");
    assert!(matches!(recognise(&projection), Err(RecogniseError::Projection { .. })));
}

#[tokio::test]
async fn an_export_of_annals_is_recognised_verified_and_appended() {
    let log = memory();
    let session = run(&log, &fixture("codex/one-turn.rollout.jsonl")).await.sessions[0].session;
    let mut out = Vec::new();
    annals_store::exchange::export(&*log, session, &mut out, &mut |_| {}).await.unwrap();
    let folder = scratch();
    let path = write(&folder, "ours.jsonl", &String::from_utf8(out).unwrap());
    let source = recognise(&path).unwrap();
    assert_eq!(source.form, SourceForm::Annals);
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!((report.new_batches(), report.known_batches() > 0), (0, true));
    let other = memory();
    let report = import(&other, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!(report.sessions[0].session, session);
    assert_eq!(other.head(session).await.unwrap(), log.head(session).await.unwrap());

    let text = std::fs::read_to_string(&path).unwrap();
    let damaged = write(&folder, "damaged.jsonl", &text.replacen("\"codex\"", "\"codey\"", 1));
    let empty = memory();
    let error =
        import(&empty, &recognise(&damaged).unwrap(), &ImportOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, SourceImportError::Export { .. }) && error.is_of_source(), "{error}");
    assert!(empty.sessions().all().await.unwrap().is_empty());
}
