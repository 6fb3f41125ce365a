//! After each request the history says what the body says, whatever an agent does to what it sent before.

use super::*;
use crate::body::{BodyText, PieceRedactor};
use crate::capture::{CaptureQueue, CapturedAnswer};
use annals_core::event::{FilesEvent, InputEvent, Policy};
use annals_core::{Seq, SessionKey};
use annals_guard::redaction::Redactor;
use annals_providers::recorded::{ConversationPart, DecodedAnswer, RecordedProtocol, WireItem, conversation};
use annals_providers::wire::Protocol;
use annals_store::{MemoryLog, Slice};
use serde_json::{Value, json};

const MESSAGES: RecordedProtocol = RecordedProtocol::Spoken(Protocol::AnthropicMessages);

struct Recorded {
    log: Arc<MemoryLog>,
    thread: Thread,
    requests: u64,
}

impl Recorded {
    async fn begin() -> Self {
        let log = Arc::new(MemoryLog::new());
        let location = Location { directory: "/w".to_owned(), workspace: None };
        let session = SessionId::from_parts(1, 1);
        let mut thread = Thread::new(log.clone(), session, AgentName("a".to_owned()), location.clone());
        let created = SessionCreated {
            location,
            agent: AgentName("a".to_owned()),
            model: ModelName("anthropic/m".to_owned()),
            policy: Policy::default(),
            title: None,
            parent: None,
            origin: None,
            process: None,
            key: SessionKey([7; 32]).into(),
        };
        thread.begin(Time(1), created).await.expect("a session");
        Self { log, thread, requests: 0 }
    }

    /// Sends messages; gives how many parts the history has otherwise than the body.
    async fn send(&mut self, messages: &[Value]) -> (usize, usize) {
        self.requests += 1;
        let body = json!({"model": "m", "max_tokens": 9, "system": "You are.", "messages": messages});
        let said = conversation(MESSAGES, "/v1/messages", &body).expect("a request");
        let text = BodyText::of(body.to_string().into_bytes());
        let facts = RequestFacts {
            id: self.requests,
            at: Time(self.requests * 10),
            request: RequestId::from_parts(self.requests, 1),
            purpose: Purpose::Turn,
            files: None,
            target: "POST /v1/messages".to_owned(),
            wire: text.digest(),
            undecoded: None,
            compaction: annals_core::event::CompactionReason::Unknown,
            estimate: 0,
            conversation: said.clone(),
            model: ModelName("anthropic/m".to_owned()),
            protocol: MESSAGES.as_str(),
        };
        let mut redactor = PieceRedactor::new(Redactor::default());
        self.thread.request(facts, redactor.cut(&text)).await.expect("recorded");
        let names: Vec<ConversationPart> = self.thread.parts_of(&said).into_iter().map(|(part, ..)| part).collect();
        let now = self.thread.compare(&names, &said);
        let new = now.alignment.of_new.iter().filter(|pairing| pairing.is_none_or(|pairing| !pairing.is_same)).count();
        (new, now.alignment.kept.iter().filter(|kept| !**kept).count())
    }

    async fn answer(&mut self, items: Vec<WireItem>) {
        let (queue, _) = CaptureQueue::new();
        let captured = CapturedAnswer {
            id: self.requests,
            at: Time(self.requests * 10 + 5),
            status: Some(200),
            media: None,
            request_id: None,
            coding: None,
            body: queue.body(),
            complete: true,
            fault: None,
            first_byte_ms: None,
            duration_ms: 1,
        };
        let finish = Some(annals_core::event::Finish::Stop);
        let answer = DecodedAnswer { items, finish, ..DecodedAnswer::default() };
        self.thread.answer(&captured, answer, None).await.expect("recorded");
    }

    /// How many events there are that a test asks for.
    async fn count(&self, is_one: impl Fn(&Event) -> bool) -> usize {
        let mut pages = self.log.pages(self.thread.session, Seq::ZERO..Seq(u64::MAX));
        let mut count = 0;
        while let Some(slices) = pages.next_page().await.expect("a log") {
            count += slices.iter().flat_map(Slice::records).filter(|record| is_one(record.event)).count();
        }
        count
    }

    async fn undone(&self) -> usize {
        self.count(|event| matches!(event, Event::Files(FilesEvent::RevertCommitted(_)))).await
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
}

fn call(id: &str, command: &str) -> WireItem {
    let input = json!({"command": command}).to_string();
    WireItem::Call { id: id.into(), name: "bash".into(), input, hosted: false, metadata: None }
}

fn called(text: &str, id: &str, command: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text},
        {"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}}]})
}

#[tokio::test]
async fn a_cleared_result_is_no_undo() {
    let mut recorded = Recorded::begin().await;
    let mut messages = vec![user("prune")];
    for number in 0..4 {
        assert_eq!(recorded.send(&messages).await, (0, 0));
        let (id, text) = (format!("p{number}"), format!("s{number}"));
        recorded.answer(vec![WireItem::Text(text.clone()), call(&id, "ls")]).await;
        messages.extend([called(&text, &id, "ls"), result(&id, &format!("long output {number}"))]);
    }
    messages[2] = result("p0", "[Old tool result content cleared]");
    assert_eq!(recorded.send(&messages).await, (0, 0));
    assert_eq!(recorded.undone().await, 0);
    assert_eq!(recorded.count(|event| matches!(event, Event::Tool(annals_core::event::ToolEvent::Called(_)))).await, 4);
    let last = recorded.thread.view.history.selected().count();
    assert_eq!(last, 5, "the prompt and four answers");
}

#[tokio::test]
async fn a_prompt_that_was_taken_back_is_an_undo() {
    let mut recorded = Recorded::begin().await;
    recorded.send(&[user("a")]).await;
    recorded.answer(vec![WireItem::Text("x".into())]).await;
    let first = [user("a"), json!({"role": "assistant", "content": "x"})];
    recorded.send(&[&first[..], &[user("b")]].concat()).await;
    recorded.answer(vec![WireItem::Text("y".into())]).await;
    assert_eq!(recorded.send(&[&first[..], &[user("c")]].concat()).await, (0, 0));
    assert_eq!(recorded.undone().await, 1);
}

#[tokio::test]
async fn prompts_that_an_agent_joins_in_one_message_are_those_that_they_were() {
    let mut recorded = Recorded::begin().await;
    // Of an answer that was interrupted nothing is sent back.
    assert_eq!(recorded.send(&[user("slow")]).await, (0, 0));
    let text = |text: &str| json!({"type": "text", "text": text});
    let joined = json!({"role": "user", "content": [text("slow"), text("go on")]});
    assert_eq!(recorded.send(std::slice::from_ref(&joined)).await, (0, 0));
    recorded.answer(vec![WireItem::Text("x".into())]).await;
    let answer = json!({"role": "assistant", "content": "x"});
    let last = json!({"role": "user", "content": [text("a file"), text("see it")]});
    assert_eq!(recorded.send(&[joined, answer.clone(), last.clone()]).await, (0, 0));
    recorded.answer(vec![WireItem::Text("y".into())]).await;
    let apart = [user("slow"), user("go on"), answer, last, json!({"role": "assistant", "content": "y"}), user("end")];
    assert_eq!(recorded.send(&apart).await, (0, 0), "another provider is sent them apart");
    let promoted = recorded.count(|event| matches!(event, Event::Input(InputEvent::Promoted(_)))).await;
    assert_eq!(promoted, 4, "slow, go on, both texts of one prompt, end");
}

#[tokio::test]
async fn messages_that_an_agent_inserts_before_others_are_new_once() {
    let mut recorded = Recorded::begin().await;
    let mut messages = vec![user("a")];
    recorded.send(&messages).await;
    recorded.answer(vec![WireItem::Text("x".into())]).await;
    messages.extend([json!({"role": "assistant", "content": "x"}), user("b")]);
    messages.splice(0..0, [user("inserted"), json!({"role": "assistant", "content": "ok"})]);
    let mut appended = Vec::new();
    for step in 0..4 {
        let before = recorded.thread.next.0;
        assert_eq!(recorded.send(&messages).await, (0, 0), "step {step}");
        appended.push(recorded.thread.next.0 - before);
        recorded.answer(vec![WireItem::Text(format!("answer {step}"))]).await;
        messages.extend([json!({"role": "assistant", "content": format!("answer {step}")}), user(&format!("c{step}"))]);
    }
    assert_eq!(appended[1..], [appended[1]; 3], "each request adds its own prompt");
    let promoted = recorded.count(|event| matches!(event, Event::Input(InputEvent::Promoted(_)))).await;
    assert_eq!(promoted, 6, "a, inserted, b, c0, c1, c2");
}

#[tokio::test]
async fn media_beside_a_result_is_no_prompt() {
    let mut recorded = Recorded::begin().await;
    recorded.send(&[user("see")]).await;
    recorded.answer(vec![WireItem::Text("I look.".into()), call("c", "cat dot.png")]).await;
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}});
    let mut seen = result("c", "an image");
    seen["content"].as_array_mut().unwrap().push(image.clone());
    let messages = [user("see"), called("I look.", "c", "cat dot.png"), seen];
    assert_eq!(recorded.send(&messages).await, (0, 0));
    recorded.answer(vec![WireItem::Text("A dot.".into())]).await;
    let alone = json!({"role": "user", "content": [image]});
    let answer = json!({"role": "assistant", "content": "A dot."});
    assert_eq!(recorded.send(&[&messages[..], &[answer, alone]].concat()).await, (0, 0));
    let promoted = recorded.count(|event| matches!(event, Event::Input(InputEvent::Promoted(_)))).await;
    assert_eq!(promoted, 2, "the first, and the picture without a word");
}

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}

#[tokio::test]
async fn whatever_an_agent_does_to_its_history_the_view_is_the_body() {
    for seed in 0..60 {
        let (mut random, mut recorded) = (Random(seed), Recorded::begin().await);
        let (mut messages, mut prompts) = (vec![user("prompt 0")], 1);
        for step in 0..12 {
            assert_eq!(recorded.send(&messages).await, (0, 0), "seed {seed}, step {step}: {}", json!(messages));
            let (id, text) = (format!("c{step}"), format!("answer {step}"));
            let thinks = random.below(2) == 0;
            let mut items = Vec::new();
            if thinks {
                items.push(WireItem::Reasoning { text: format!("thought {step}"), metadata: None });
            }
            items.push(WireItem::Text(text.clone()));
            let calls = random.below(3) > 0;
            if calls {
                items.push(call(&id, "ls"));
            }
            recorded.answer(items).await;
            let command = if random.below(4) == 0 { "ls -la" } else { "ls" };
            let mut said = match calls {
                true => called(&text, &id, command),
                false => json!({"role": "assistant", "content": [{"type": "text", "text": text}]}),
            };
            if thinks && random.below(2) == 0 {
                let thought = json!({"type": "thinking", "thinking": format!("thought {step}")});
                said["content"].as_array_mut().unwrap().insert(0, thought);
            }
            messages.push(said);
            match calls {
                true => messages.push(result(&id, &format!("output {step}"))),
                false => {
                    messages.push(user(&format!("prompt {prompts}")));
                    prompts += 1;
                }
            }
            change(&mut messages, &mut random, step);
        }
        assert_eq!(recorded.undone().await, 0, "seed {seed}");
        let promoted = recorded.count(|event| matches!(event, Event::Input(InputEvent::Promoted(_)))).await;
        // The last prompt was not sent.
        assert!(promoted <= prompts, "seed {seed}: {promoted} of {prompts}");
    }
}

/// What agents do: clear results, add reminders, drop the oldest messages or some from the middle.
fn change(messages: &mut Vec<Value>, random: &mut Random, step: usize) {
    let newest = messages.len() - 1;
    match random.below(6) {
        0 => {
            for message in messages.iter_mut().take(newest) {
                if message.pointer("/content/0/type") == Some(&json!("tool_result")) {
                    message["content"][0]["content"] = json!("[cleared]");
                    break;
                }
            }
        }
        1 => {
            let at = random.below(newest);
            if let Some(content) =
                messages[at]["content"].as_array_mut().filter(|content| content[0]["type"] == "tool_result")
            {
                content
                    .push(json!({"type": "text", "text": format!("<system-reminder>note {step}</system-reminder>")}));
            }
        }
        2 if messages.len() > 6 => {
            // An answer and what follows it, behind the first prompt.
            messages.drain(1..3);
        }
        3 => messages.iter_mut().for_each(|message| {
            if let Some(content) = message["content"].as_array_mut() {
                content.retain(|block| block["type"] != "thinking");
            }
        }),
        _ => {}
    }
}
