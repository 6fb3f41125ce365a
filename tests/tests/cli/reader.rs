//! What commands read: transcripts page by page, cuts, and names.

use annals_core::event::{
    Delivery, Finish, InputAdmitted, InputPromoted, Location, Policy, SessionCreated, StepEnded, StepStarted, TextEnded,
};
use annals_core::{Event, Seq, SessionId, Time};
use annals_inspect::reader::Reader;
use annals_projections::{Messages, Transcript};
use annals_store::{Draft, EventLog, MemoryLog};
use std::path::PathBuf;
use std::sync::Arc;

const SESSION: SessionId = SessionId([7; 16]);

/// A log in which every input waits while the one before it is answered, so that admissions lie far before promotions.
async fn long(turns: u64) -> Arc<dyn EventLog> {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let mut next = Seq::ZERO;
    let mut append = async |events: Vec<Event>| {
        let draft =
            Draft { session: SESSION, expected: next, at: Time(next.0), events, digest: None, states: Vec::new() };
        next = log.append(draft).await.expect("in place").batch.next();
    };
    append(vec![created()]).await;
    append(vec![admitted(0)]).await;
    for turn in 0..turns {
        append(vec![InputPromoted { input: format!("i{turn}").into() }.into()]).await;
        append(vec![admitted(turn + 1)]).await;
        let step = StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None };
        append(vec![step.into()]).await;
        let text = TextEnded { index: 0, text: format!("answer {turn}").as_str().into(), metadata: None };
        let ended = StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: Vec::new() };
        append(vec![text.into(), ended.into()]).await;
    }
    log
}

fn created() -> Event {
    SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy::default(),
        title: Some("A long one".into()),
        parent: None,
        origin: None,
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    }
    .into()
}

fn admitted(turn: u64) -> Event {
    InputAdmitted {
        input: format!("i{turn}").into(),
        text: format!("question {turn}").as_str().into(),
        attachments: Vec::new(),
        delivery: Delivery::Queue,
    }
    .into()
}

fn reader(log: Arc<dyn EventLog>) -> Reader {
    Reader::new(log, None, PathBuf::from("memory"))
}

#[tokio::test]
async fn a_transcript_read_page_by_page_is_the_whole_one() {
    let reader = reader(long(150).await);
    let until = reader.until(SESSION, None).await.expect("a head");
    let index: Transcript = reader.fold(SESSION, until).await.expect("a fold");
    let mut whole = Messages::default();
    let mut fold = |record: &annals_core::Record<'_>| {
        whole.apply(record);
    };
    reader.each(SESSION, Seq::ZERO, until, &mut fold).await.expect("a walk");
    let mut paged = Vec::new();
    let mut pages = 0;
    reader
        .transcript(SESSION, until, &index, |messages, wanted| -> Result<(), annals_inspect::reader::FindError> {
            pages += 1;
            paged.extend(wanted.iter().filter_map(|seq| messages.get(*seq)).cloned());
            Ok(())
        })
        .await
        .expect("a transcript");
    assert!(pages > 3, "{pages}");
    let expected: Vec<_> = index.shown(&whole).map(std::borrow::Cow::into_owned).collect();
    assert_eq!(paged, expected);
}

#[tokio::test]
async fn a_cut_takes_the_whole_batch_of_its_event() {
    let reader = reader(long(3).await);
    // Text and end of the first answer landed together, at 5 and 6.
    for at in [5, 6] {
        assert_eq!(reader.until(SESSION, Some(Seq(at))).await.expect("a cut"), Seq(7));
    }
    assert!(reader.until(SESSION, Some(Seq(5_000))).await.is_err());
}

#[tokio::test]
async fn a_view_at_a_cut_is_the_fold_up_to_it() {
    let reader = reader(long(5).await);
    let until = reader.until(SESSION, None).await.expect("a head");
    for cut in 1..=until.0 {
        let view = reader.view(SESSION, Seq(cut)).await.expect("a view");
        assert_eq!(view.cut().next, Seq(cut));
        let index: Transcript = reader.fold(SESSION, Seq(cut)).await.expect("a fold");
        assert_eq!(view.transcript.items, index.items);
    }
}

#[tokio::test]
async fn a_session_is_found_by_words_of_its_title_and_by_parts_of_its_id() {
    let reader = reader(long(1).await);
    let id = SESSION.to_string();
    let (start, end) = (id.get(..6).unwrap_or_default(), id.get(20..).unwrap_or_default());
    for name in [id.as_str(), start, end, "long one", "@last"] {
        assert_eq!(reader.find(name).await.expect("found"), SESSION, "{name}");
    }
    let error = reader.find("a lng one").await.expect_err("nothing").to_string();
    assert!(error.contains("A long one"), "{error}");
}
