//! Requests rebuilt from views alone: lowering, digests, origins (`docs/reference/turn.md#request`).

use annals_core::event::*;
use annals_core::{Batch, Digest, Event, Json, NoBlobs, RequestId, Seq, SessionId, Text, Time};
use annals_projections::{
    BuildError, ContextLimits, Projection, Request, Role, SessionView, SummaryRequest, TokenRate, plan, prune, rebuild,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

struct Log {
    batches: Vec<Batch>,
    view: SessionView,
}

impl Log {
    fn new() -> Self {
        let mut log = Self { batches: Vec::new(), view: SessionView::default() };
        let location = Location { directory: "/project".into(), workspace: None };
        log.add(vec![
            SessionCreated {
                location: location.clone(),
                agent: "build".into(),
                model: "test/alpha".into(),
                policy: Policy::default(),
                title: None,
                parent: None,
                origin: None,
                process: None,
                key: annals_core::SessionKey([0x0f; 32]).into(),
            }
            .into(),
            AgentProfileRecorded { profile: agent() }.into(),
            ModelProfileRecorded { profile: model("test/alpha", SystemMessages::Native) }.into(),
            ModelProfileRecorded { profile: model("test/beta", SystemMessages::Wrapped) }.into(),
            OptionsRecorded { options: RequestOptions::default() }.into(),
            EpochStarted {
                cause: EpochCause::FirstTurn,
                agent: "build".into(),
                location,
                parts: vec![part("core/date", "Today is Wednesday."), part("test/city", "Oslo")],
                entries: BTreeMap::new(),
                known: true,
            }
            .into(),
        ]);
        log
    }

    fn add(&mut self, events: Vec<Event>) -> Seq {
        let first = self.batches.last().map_or(Seq::ZERO, Batch::next);
        let prev = self.batches.last().map(|batch| batch.digest);
        let sealed = Batch::seal(
            &annals_core::SessionKey([0x0f; 32]),
            &annals_core::NoBlobs,
            SessionId::from_parts(1, 1),
            first,
            Time(1_000 + first.0),
            prev,
            events,
        )
        .unwrap();
        sealed.batch.records().for_each(|record| self.view.apply(&record));
        self.batches.push(sealed.batch);
        first
    }

    fn user(&mut self, id: &str, text: &str) {
        let admitted =
            InputAdmitted { input: id.into(), text: text.into(), attachments: vec![], delivery: Delivery::Steer };
        self.add(vec![admitted.into(), InputPromoted { input: id.into() }.into()]);
    }

    fn answer(&mut self, model: &str, mut content: Vec<Event>) {
        let mut events: Vec<Event> =
            vec![StepStarted { agent: "build".into(), model: model.into(), files: None, answer: None }.into()];
        events.append(&mut content);
        let ended = StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: vec![] };
        events.push(ended.into());
        self.add(events);
    }

    fn request(&self, model_name: &str, messages: SystemMessages) -> Request {
        rebuild(&self.view, &sent(&model(model_name, messages)), &NoBlobs).unwrap()
    }
}

fn part(key: &str, text: &str) -> Part {
    Part { key: key.parse().unwrap(), text: text.into() }
}

fn agent() -> AgentProfile {
    AgentProfile { agent: "build".into(), system: Some("You build.".into()), steps: None, permissions: vec![] }
}

fn model(name: &str, system_messages: SystemMessages) -> ModelProfile {
    ModelProfile {
        model: name.into(),
        context: 200_000,
        output: 32_000,
        system_messages,
        id: String::new(),
        media: Vec::new(),
        prices: Prices::default(),
        protocol: "scripted".into(),
        encoding: 1,
    }
}

fn sent(profile: &ModelProfile) -> RequestSent {
    RequestSent {
        request: RequestId::from_parts(1, 1),
        purpose: Purpose::Turn,
        attempt: 1,
        digest: Digest([0; 32]),
        wire: None,
        agent: "build".into(),
        model: profile.model.clone(),
        agent_profile: agent().digest().unwrap(),
        model_profile: profile.digest().unwrap(),
        tools: None,
        options: RequestOptions::default().digest().unwrap(),
        last_step: false,
        prompt: None,
    }
}

fn text(index: u32, text: &str) -> Event {
    TextEnded { index, text: text.into(), metadata: None }.into()
}

fn reasoning(index: u32, text: &str, metadata: Option<&str>) -> Event {
    ReasoningEnded { index, text: text.into(), metadata: metadata.map(Json::received) }.into()
}

fn call(index: u32, id: &str, hosted: bool) -> Event {
    ToolCalled {
        index,
        call: id.into(),
        name: "look".into(),
        input: Json::received(r#"{"n": 12345678901234567890}"#),
        hosted,
        metadata: None,
    }
    .into()
}

fn settled(id: &str, output: &str, error: Option<&str>, hosted_result: Option<&str>) -> Event {
    ToolSettled {
        call: id.into(),
        outcome: if error.is_some() { ToolOutcome::Failed } else { ToolOutcome::Completed },
        output: output.into(),
        error: error.map(Text::from),
        structured: None,
        attachments: vec![],
        paths: vec![],
        truncated: false,
        lossy: false,
        hosted_result: hosted_result.map(Json::received),
        metadata: None,
    }
    .into()
}

fn tell(text: &str) -> Vec<Event> {
    let advanced = SnapshotAdvanced { set: BTreeMap::new(), removed: vec![] };
    vec![ContextAdmitted { keys: vec!["test/city".parse().unwrap()], text: text.into() }.into(), advanced.into()]
}

fn messages(request: &Request) -> Value {
    request.to_json()["messages"].clone()
}

#[test]
fn system_texts_are_the_agents_own_and_the_baseline_and_every_byte_has_an_origin() {
    let log = Log::new();
    let request = log.request("test/alpha", SystemMessages::Native);
    assert_eq!(request.to_json()["system"], json!(["You build.", "Today is Wednesday.\n\nOslo"]));
    for system in &request.system {
        assert_eq!(system.spans.iter().map(|span| span.bytes).sum::<usize>(), system.text.len());
    }
    let sources: Vec<_> =
        request.system[1].spans.iter().map(|span| span.source.as_ref().map(ToString::to_string)).collect();
    assert_eq!(sources, [Some("core/date".to_owned()), None, Some("test/city".to_owned())]);
}

#[test]
fn a_wrapping_model_gets_context_messages_joined_to_the_user_message_before_them() {
    let mut log = Log::new();
    log.user("a", "hello");
    log.add(tell("<Bergen> & more"));
    log.add(tell("Moss"));
    log.answer("test/alpha", vec![call(0, "c1", false), settled("c1", "seen", None, None)]);
    log.add(tell("Rygge"));
    let native = log.request("test/alpha", SystemMessages::Native);
    let roles: Vec<Role> = native.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::System, Role::System, Role::Assistant, Role::Tool, Role::System]);
    let wrapped = log.request("test/beta", SystemMessages::Wrapped);
    assert_eq!(
        messages(&wrapped),
        json!([
            {"role": "user", "text": "hello\n<system-update>\n&lt;Bergen&gt; &amp; more\n</system-update>\n<system-update>\nMoss\n</system-update>"},
            {"role": "assistant", "calls": [{"id": "c1", "tool": "look", "input": {"n": 12345678901234567890_u64}}]},
            {"role": "tool", "results": [{"id": "c1", "output": "seen"}]},
            {"role": "user", "text": "<system-update>\nRygge\n</system-update>"},
        ])
    );
}

#[test]
fn reasoning_keeps_its_metadata_for_the_model_that_made_it_and_is_plain_text_for_another() {
    let mut log = Log::new();
    log.user("a", "hello");
    log.answer("test/alpha", vec![reasoning(0, "hm", Some(r#"{"sig":"x"}"#)), text(1, "done")]);
    let same = log.request("test/alpha", SystemMessages::Native);
    assert!(format!("{:?}", same.messages[1].blocks[0]).contains("sig"));
    assert_eq!(messages(&same)[1], json!({"role": "assistant", "text": "done"}));
    let other = log.request("test/beta", SystemMessages::Wrapped);
    assert_eq!(messages(&other)[1], json!({"role": "assistant", "text": "hm\n\ndone"}));
    assert!(!format!("{:?}", other.messages).contains("sig"));
}

#[test]
fn a_failed_attempt_without_text_and_calls_is_not_sent() {
    let mut log = Log::new();
    log.user("a", "hello");
    let error = Failure { kind: "authentication".into(), message: "no".into(), status: Some(401) };
    log.add(vec![
        StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None }.into(),
        reasoning(0, "thinking", None),
        StepFailed { error, usage: None, cost: 0 }.into(),
    ]);
    assert_eq!(
        messages(&log.request("test/alpha", SystemMessages::Native)),
        json!([{"role": "user", "text": "hello"}])
    );
}

#[test]
fn results_follow_in_the_order_of_the_calls_and_hosted_ones_stay_inline() {
    let mut log = Log::new();
    log.user("a", "hello");
    log.answer(
        "test/alpha",
        vec![
            call(0, "c1", false),
            call(1, "h1", true),
            call(2, "c2", false),
            settled("c2", "second", None, None),
            settled("h1", "", None, Some(r#"{"big": 12345678901234567890}"#)),
            settled("c1", "", Some("no such file"), None),
        ],
    );
    let request = log.request("test/alpha", SystemMessages::Native);
    let json = messages(&request);
    assert_eq!(json[2]["results"], json!([{"id": "c1", "error": "no such file"}, {"id": "c2", "output": "second"}]));
    assert_eq!(json[1]["results"], json!([{"id": "h1", "hosted": {"big": 12345678901234567890_u64}}]));
    assert!(request.messages.iter().flat_map(|message| &message.blocks).all(|block| block.seq().is_some()));
}

#[test]
fn equal_requests_have_equal_digests_and_the_first_differing_part_is_named() {
    let mut log = Log::new();
    log.user("a", "hello");
    let first = log.request("test/alpha", SystemMessages::Native);
    log.add(vec![SessionTitled::given("A title").into()]);
    let same = log.request("test/alpha", SystemMessages::Native);
    assert_eq!(first.digest(), same.digest());
    log.add(vec![SyntheticAdded { text: "Go on.".into() }.into()]);
    let other = log.request("test/alpha", SystemMessages::Native);
    assert_ne!(first.digest(), other.digest());
    let differing = first.parts().into_iter().zip(other.parts()).find(|(a, b)| a != b).map(|(_, (name, _))| name);
    assert_eq!(differing.as_deref(), Some("message 1"));
}

#[test]
fn a_request_whose_shape_was_not_recorded_says_what_is_missing() {
    let log = Log::new();
    let unknown = model("test/gamma", SystemMessages::Native);
    let error = rebuild(&log.view, &sent(&unknown), &NoBlobs).unwrap_err();
    assert_eq!(error, BuildError::NotRecorded { what: "model profile", digest: unknown.digest().unwrap() });
}

/// Limits with a tail of `tail` tokens that spare `spared` tokens of outputs.
fn limits(tail: u64, spared: u64) -> ContextLimits {
    ContextLimits { request: None, tail, summary: 8_000, spared, worth: 1, rate: TokenRate::UNREPORTED }
}

#[test]
fn a_compaction_keeps_messages_and_replays_what_is_still_worked_on() {
    let mut log = Log::new();
    log.user("a", "one");
    log.answer("test/alpha", vec![text(0, "two"), call(1, "c1", false), settled("c1", &"x".repeat(2_500), None, None)]);
    log.answer("test/alpha", vec![call(0, "c2", false), settled("c2", "found", None, None)]);
    let alpha = model("test/alpha", SystemMessages::Native);
    let before = messages(&log.request("test/alpha", SystemMessages::Native));
    let planned = plan(&log.view.history, &alpha, &limits(0, 0), CompactionReason::Auto, &NoBlobs).unwrap();
    let prompt = SummaryRequest::to(&alpha, 100).prompt(&planned);
    assert!(prompt.starts_with("<conversation>\n[User]: one\n\n[Assistant]: two\n\n[Assistant tool call]: look("));
    assert!(prompt.contains("xx\n[truncated]\n</conversation>"));
    assert!(
        plan(&log.view.history, &alpha, &limits(10_000, 0), CompactionReason::Auto, &NoBlobs).is_err(),
        "everything fits"
    );
    let reason = CompactionReason::Auto;
    log.add(vec![
        CompactionStarted { reason, model: None, estimate: 0 }.into(),
        CompactionCompleted {
            reason,
            summary: "Before, and a longer text that is truncated.".into(),
            truncated: true,
            ends: 2,
            first_kept: planned.first_kept.unwrap(),
            replayed: planned.replayed,
            estimate: 0,
            usage: None,
            cost: 0,
        }
        .into(),
    ]);
    let after = messages(&log.request("test/alpha", SystemMessages::Native));
    let checkpoint = after[0]["text"].as_str().unwrap();
    assert!(
        checkpoint
            .ends_with("<summary>\nBe\n[... 40 characters left out ...]\nd.\n</summary>\n</conversation-checkpoint>")
    );
    assert_eq!(after[1], before[0], "the input that is worked on");
    assert_eq!(after.as_array().unwrap()[2..], before.as_array().unwrap()[3..], "the results that nobody answered");
    assert!(
        plan(&log.view.history, &alpha, &limits(0, 0), CompactionReason::Auto, &NoBlobs).is_err(),
        "nothing new is before the tail"
    );
}

#[test]
fn a_prune_takes_old_outputs_of_the_running_turn_and_no_hosted_ones() {
    let mut log = Log::new();
    log.user("in", "go");
    for turn in 0..6 {
        let (own, hosted) = (format!("c{turn}"), format!("h{turn}"));
        let result = format!("{{\"page\":\"{}\"}}", "y".repeat(60_000));
        log.answer(
            "test/alpha",
            vec![
                call(0, &own, false),
                settled(&own, &"x".repeat(60_000), None, None),
                call(1, &hosted, true),
                settled(&hosted, &"y".repeat(60_000), None, Some(&result)),
            ],
        );
    }
    // 15,000 tokens each: c5 is of the newest answer, c4 and c3 are spared.
    let alpha = model("test/alpha", SystemMessages::Native);
    let planned = prune(&log.view.history, &alpha, &limits(0, 40_000)).unwrap();
    assert_eq!(planned.cleared.iter().map(|call| call.as_str()).collect::<Vec<_>>(), ["c0", "c1", "c2"]);
    assert_eq!((planned.tokens, planned.shortened.len()), (45_000, 0), "what stays in every request wins nothing");
    log.add(vec![CallsReduced::from(planned).into()]);
    assert_eq!(prune(&log.view.history, &alpha, &limits(0, 40_000)), None, "nothing is cleared twice");
    let request = log.request("test/alpha", SystemMessages::Native);
    assert_eq!(messages(&request)[2]["results"][0]["output"], "[Old tool result content cleared]");
}

#[test]
fn the_size_of_a_request_counts_names_of_tools_only_where_no_definitions_are_sent() {
    let mut log = Log::new();
    log.user("a", "one");
    let mut request = log.request("test/alpha", SystemMessages::Native);
    let names = request.chars();
    request.model.protocol = "openai-chat".into();
    let schema = Json::received(r#"{"type":"object"}"#);
    request.tools = vec![ToolDefinition { name: "look".into(), description: "Looks around.".into(), schema }];
    let json = serde_json::json!([{"name": "look", "description": "Looks around.", "schema": r#"{"type":"object"}"#}]);
    assert_eq!(request.chars(), names + json.to_string().len() as u64 - 2);
}
