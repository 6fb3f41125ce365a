use super::{WithholdRule, WithholdRules};
use crate::conformance::material::{KEY, admitted, created, draft, promoted, session};
use crate::exchange::{
    ExportError, RevealOutcome, compare_revealed, export, export_withheld, import, reveal_texts, verify_file,
};
use crate::{EventLog, MemoryLog};
use annals_core::event::{
    GitState, ProcessAttached, ProcessInfo, Purpose, RequestSent, StepStarted, ToolCalled, ToolOutcome, ToolSettled,
};
use annals_core::{CallId, Digest, Event, Json, RequestId, Seq, SessionKey};

const SECRET: &str = "Erika Mustermann";

fn rules(written: &[&str]) -> Vec<WithholdRule> {
    written.iter().map(|rule| rule.parse().unwrap()).collect()
}

fn called(call: &str, name: &str, input: &str) -> Event {
    let (name, input) = (name.to_owned(), Json::received(input));
    ToolCalled { index: 0, call: call.into(), name, input, hosted: false, metadata: None }.into()
}

fn settled(call: &str, output: &str) -> Event {
    let bare = ToolSettled::bare(CallId::from(call), ToolOutcome::Completed);
    ToolSettled { output: output.into(), ..bare }.into()
}

fn sent() -> Event {
    let hash = |n| Digest([n; 32]);
    RequestSent {
        request: RequestId::from_parts(1, 1),
        purpose: Purpose::Turn,
        attempt: 1,
        digest: hash(1),
        wire: Some(hash(2)),
        agent: "build".into(),
        model: "acme/one".into(),
        agent_profile: hash(3),
        model_profile: hash(4),
        tools: None,
        options: hash(5),
        last_step: false,
        prompt: None,
    }
    .into()
}

/// Seq 5 and 6 are a call that reads a customer's file; 2 and 7 are requests before and after it.
async fn planted() -> MemoryLog {
    let log = MemoryLog::new();
    let files = Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned());
    let started = StepStarted { agent: "build".into(), model: "acme/one".into(), files, answer: None };
    let events = vec![
        vec![created(), admitted("a", "who is the customer?"), sent(), promoted("a")],
        vec![started.into(), called("c1", "read", r#"{"filePath":"/work/project/data/customers.csv"}"#)],
        vec![settled("c1", &format!("name: {SECRET}\n").repeat(2_000)), sent()],
        vec![called("c2", "bash", r#"{"command":"ls"}"#), settled("c2", "README.md")],
    ];
    let mut first = Seq::ZERO;
    for events in events {
        first = log.append(draft(session(1), first, events)).await.unwrap().batch.next();
    }
    log
}

async fn withheld(log: &dyn EventLog, rules: &WithholdRules) -> Vec<u8> {
    let mut out = Vec::new();
    export_withheld(log, session(1), rules, &mut out, &mut |_| {}).await.unwrap();
    out
}

fn is_sound(file: &[u8]) -> bool {
    verify_file(&mut &*file, None, &mut |_| {}).unwrap().is_sound()
}

#[tokio::test]
async fn each_rule_withholds_what_it_selects_and_the_file_verifies() {
    let log = planted().await;
    for written in
        ["tool:read", "path:**/customers.csv", "path:data/*.csv", "text:Erika", "seq:5-6", "kind:tool.settled"]
    {
        let file = withheld(&log, &WithholdRules::Withhold(rules(&[written]))).await;
        let text = String::from_utf8(file.clone()).unwrap();
        assert!(!text.contains(SECRET), "{written}");
        assert!(
            text.contains("who is the customer?") && text.contains("README.md") == (written != "kind:tool.settled")
        );
        assert!(!text.contains("\"keys\"") && !text.contains(&Digest(KEY.0).to_string()), "{written}");
        let of_secret = Digest::of(format!("name: {SECRET}\n").repeat(2_000).as_bytes()).to_string();
        assert!(!text.contains(&of_secret), "{written}: the hash of the blob");
        let report = verify_file(&mut &*file, None, &mut |_| {}).unwrap();
        assert!(report.is_sound() && report.withheld.unwrap().withheld > 0, "{written}: {:?}", report.damage);
    }
}

#[tokio::test]
async fn hashes_of_what_is_withheld_are_withheld_with_it_and_those_before_are_not() {
    let file = withheld(&planted().await, &WithholdRules::Withhold(rules(&["tool:read"]))).await;
    let text = String::from_utf8(file).unwrap();
    let count = |n: u8| text.matches(&format!("\"text\":\"{}\"", Digest([n; 32]))).count();
    // The digest and the body's hash of the request before the call, and the profiles of both.
    assert_eq!([count(1), count(2), count(3), count(4), count(5)], [1, 1, 2, 2, 2]);
    assert!(!text.contains("4b825dc642cb6eb9a060e54bf8d69288fbee4904"), "the tree of the files");
}

#[tokio::test]
async fn a_commit_goes_with_the_texts_of_its_process_and_with_no_other() {
    let log = planted().await;
    let attached = |user: &str, commit: &str| -> Event {
        let commit = Some(commit.repeat(40));
        let git = Some(GitState { branch: Some("trunk".to_owned()), commit, ..GitState::default() });
        let user = Some(user.to_owned());
        ProcessAttached { process: ProcessInfo { program: "annals".to_owned(), user, git, ..ProcessInfo::default() } }
            .into()
    };
    let first = log.head(session(1)).await.unwrap().unwrap().next;
    log.append(draft(session(1), first, vec![attached("ada", "a"), attached("bob", "b")])).await.unwrap();
    for (rule, kept) in
        [("tool:read", [true, true]), ("text:^ada$", [false, true]), ("kind:process.attached", [false, false])]
    {
        let file = withheld(&log, &WithholdRules::Withhold(rules(&[rule]))).await;
        assert!(is_sound(&file), "{rule}");
        let text = String::from_utf8(file).unwrap();
        assert_eq!(["a", "b"].map(|commit| text.contains(&commit.repeat(40))), kept, "{rule}");
    }
}

#[tokio::test]
async fn only_withholds_everything_else() {
    let log = planted().await;
    let file = String::from_utf8(withheld(&log, &WithholdRules::Only(rules(&["tool:bash"]))).await).unwrap();
    assert!(file.contains("README.md") && file.contains("bash"));
    for absent in [SECRET, "customer", "/work/project", &Digest([1; 32]).to_string()] {
        assert!(!file.contains(absent), "{absent}");
    }
    assert!(is_sound(file.as_bytes()));
}

#[tokio::test]
async fn a_rule_that_matches_nothing_is_named_before_anything_is_written() {
    let (log, mut out) = (planted().await, Vec::new());
    let rules = WithholdRules::Withhold(rules(&["tool:read", "tool:raed"]));
    let refused = export_withheld(&log, session(1), &rules, &mut out, &mut |_| {}).await;
    assert!(matches!(refused, Err(ExportError::NoMatch { rule, .. }) if rule == "tool:raed") && out.is_empty());
}

#[tokio::test]
async fn a_changed_byte_anywhere_is_damage() {
    let file = withheld(&planted().await, &WithholdRules::Only(rules(&["seq:1"]))).await;
    assert!(is_sound(&file));
    for at in (0..file.len()).step_by(3) {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(!is_sound(&changed), "byte {at} of {}", file.len());
    }
}

#[tokio::test]
async fn an_import_adds_nothing_twice_and_leaves_as_it_came() {
    let log = planted().await;
    let file = withheld(&log, &WithholdRules::Withhold(rules(&["tool:read"]))).await;
    let copy = MemoryLog::new();
    for new in [4, 0] {
        let imported = import(&copy, &mut &*file, &mut |_| {}).await.unwrap();
        assert_eq!((imported.sessions[0].new, imported.sessions[0].known), (new, 4 - new));
    }
    assert_eq!(import(&log, &mut &*file, &mut |_| {}).await.unwrap().sessions[0].new, 0, "the whole session is there");
    let mut again = Vec::new();
    export(&copy, session(1), &mut again, &mut |_| {}).await.unwrap();
    assert!(again == file);
    // The whole export over it adds nothing: a text that is absent stays absent.
    let mut whole = Vec::new();
    export(&log, session(1), &mut whole, &mut |_| {}).await.unwrap();
    assert_eq!(import(&copy, &mut &*whole, &mut |_| {}).await.unwrap().sessions[0].new, 0);
}

#[tokio::test]
async fn a_text_given_later_is_proved_and_another_one_is_not() {
    let log = planted().await;
    let file = withheld(&log, &WithholdRules::Withhold(rules(&["tool:read"]))).await;
    let mut lines = Vec::new();
    let count = reveal_texts(&log, session(1), &WithholdRules::Withhold(rules(&["seq:6"])), &mut lines).await.unwrap();
    assert_eq!(count, 1);
    let mut text = serde_json::from_slice::<crate::exchange::RevealedText>(&lines).unwrap();
    assert!(text.text.contains(SECRET) && text.place == "/output");
    let outcome = |text: &_| compare_revealed(&mut &*file, std::slice::from_ref(text)).unwrap()[0];
    assert_eq!(outcome(&text), RevealOutcome::Proved);
    text.text.push('!');
    assert_eq!(outcome(&text), RevealOutcome::Differs);
    text.seq = Seq(8);
    assert_eq!(outcome(&text), RevealOutcome::NotWithheld);
    text.seq = Seq(80);
    assert_eq!(outcome(&text), RevealOutcome::NoEvent);
    assert_ne!(text.key, Digest(SessionKey(KEY.0).0));
}

#[test]
fn rules_are_read_and_others_are_refused() {
    for good in ["tool:read", "path:**/.env", "text:a|b", "seq:4", "seq:4-9", "kind:tool.settled"] {
        assert!(good.parse::<WithholdRule>().is_ok(), "{good}");
    }
    for bad in ["", "read", "tool:", "seq:x", "seq:1-", "text:(", "path:[", "shape:round"] {
        assert!(bad.parse::<WithholdRule>().is_err(), "{bad}");
    }
}

/// Every field of every kind of event that holds a hash: it is withheld with what went into it, or nothing readable went into it.
#[test]
fn every_hash_in_an_event_is_classified() {
    // Hashes of keys and of batches, which hold commitments; and names of blobs, which are no field of an export that withholds texts.
    let harmless = ["/key_hash", "/parent_digest"];
    let is_hash = |text: &str| text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let names = ["hash", "digest", "tree", "commit", "checksum", "sha", "wire"];
    let mut classified = 0;
    for line in include_str!("../../../../fixtures/events.jsonl").lines() {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let event = Event::from_json(sample.clone()).unwrap();
        let kind = event.kind().name();
        let digest = Digest([0; 32]);
        let (session, first, at) = (session(1), Seq(5), annals_core::Time(0));
        let batch =
            annals_core::Batch { session, first, at, prev: None, events: vec![event], digest, states: Vec::new() };
        let mut waiting = vec![(String::new(), sample)];
        while let Some((place, value)) = waiting.pop() {
            match value {
                serde_json::Value::Object(members) => {
                    waiting.extend(members.into_iter().map(|(name, member)| (format!("{place}/{name}"), member)));
                }
                serde_json::Value::Array(items) => {
                    let items = items.into_iter().enumerate();
                    waiting.extend(items.map(|(index, item)| (format!("{place}/{index}"), item)));
                }
                serde_json::Value::String(text) => {
                    let last = place.rsplit('/').next().unwrap_or_default();
                    let is_named = names.iter().any(|name| last.split('_').any(|word| word == *name));
                    if !(is_hash(&text) || is_named) || harmless.contains(&place.as_str()) || last == "blob" {
                        continue;
                    }
                    assert!(
                        super::Hash::at(&batch, first, &place).is_some(),
                        "{kind}{place} holds a hash: classify it"
                    );
                    classified += 1;
                }
                _ => {}
            }
        }
    }
    assert!(classified >= 15, "{classified}");
}

#[tokio::test]
async fn an_expression_finds_texts_that_json_escapes_and_the_answer_that_they_arrived_in() {
    let log = MemoryLog::new();
    let answer = annals_core::event::AnswerRecorded {
        request: RequestId::from_parts(1, 1),
        attempt: 1,
        status: Some(200),
        media: None,
        body: Some("data: {\"delta\":\"Frau M\\u00fc\"}\n\ndata: {\"delta\":\"ller\"}\n\n".into()),
        complete: true,
        first_byte_ms: None,
        duration_ms: 1,
        usage: None,
        cost: 0,
    };
    let batches = vec![
        vec![created(), admitted("a", "hello")],
        vec![called("c1", "bash", "{\"command\":\"echo 'Mu\\u0308ller \\\"4711\\\"'\"}"), settled("c1", "done")],
        vec![
            answer.into(),
            annals_core::event::TextEnded { index: 0, text: "Frau M\u{fc}ller".into(), metadata: None }.into(),
        ],
    ];
    let mut first = Seq::ZERO;
    for events in batches {
        first = log.append(draft(session(1), first, events)).await.unwrap().batch.next();
    }
    let export = async |rule: &str| {
        let (rules, mut out) = (WithholdRules::Withhold(rules(&[rule])), Vec::new());
        let exported = export_withheld(&log, session(1), &rules, &mut out, &mut |_| {}).await.unwrap();
        (String::from_utf8(out).unwrap(), exported.left)
    };
    let (file, left) = export("text:M\u{fc}ller").await;
    assert!(!file.contains("ller") && file.contains("hello") && is_sound(file.as_bytes()) && left.is_empty(), "{file}");
    let (file, left) = export("text:ller \"4711\"").await;
    assert!(!file.contains("4711") && file.contains("Frau") && left.is_empty(), "{file}");
    // The name of an input cannot be withheld, which is said.
    let (_, left) = export("text:^(a|hello)$").await;
    assert_eq!(left, [Seq(1)]);
}
