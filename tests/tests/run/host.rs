//! What a person and a program see while a session runs: the host around the real runtime, with a scripted model.

use crate::run::stage::{Theatre, Watching};
use annals_host::ApprovalMode;
use annals_runtime::host::RunEnd;
use annals_runtime::ports::{ProviderError, ProviderErrorKind};
use annals_runtime::testing::{ScriptedAttempt, ScriptedEnd};

fn call_then_answer() -> Vec<ScriptedAttempt> {
    let mut first = ScriptedAttempt::call("c1", "look", r#"{"path":"/work/notes.md"}"#);
    first.text = Some("I will look first.".into());
    vec![first, ScriptedAttempt::text("It holds **three** lines.\nThat is all.")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stdout_that_is_no_terminal_holds_the_answer_alone() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Nobody, ApprovalMode::Yes).await;
    let ended = theatre.play("What is in the notes?").await;
    assert!(matches!(ended, RunEnd::Idle));
    assert_eq!(theatre.out(), "It holds **three** lines.\nThat is all.\n");
    insta::assert_snapshot!(theatre.remarks());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_shows_the_answer_and_the_tools_as_they_run() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Terminal, ApprovalMode::Yes).await;
    theatre.play("What is in the notes?").await;
    insta::assert_snapshot!(theatre.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_answers_questions_and_is_asked_again_for_what_is_not_understood() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Terminal, ApprovalMode::Person).await;
    theatre.types(["perhaps", "n read the README instead"]);
    let ended = theatre.play("What is in the notes?").await;
    assert!(matches!(ended, RunEnd::Idle));
    insta::assert_snapshot!(theatre.shown());
    assert!(theatre.events().await.contains("read the README instead"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejection_without_a_reason_ends_the_turn() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Terminal, ApprovalMode::Person).await;
    theatre.types(["n"]);
    let ended = theatre.play("What is in the notes?").await;
    assert!(matches!(ended, RunEnd::Stopped), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_questions_are_rejected_and_the_model_goes_on() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Nobody, ApprovalMode::Nobody).await;
    let ended = theatre.play("What is in the notes?").await;
    assert!(matches!(ended, RunEnd::Idle));
    insta::assert_snapshot!(theatre.remarks());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_reads_one_object_a_line() {
    let mut theatre = Theatre::new(call_then_answer(), Watching::Program, ApprovalMode::Yes).await;
    theatre.play("What is in the notes?").await;
    let lines: Vec<serde_json::Value> =
        theatre.out().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| match line["type"].as_str() {
            Some("event") => format!("{} {}", line["seq"], line["event"]["type"].as_str().unwrap_or_default()),
            Some("delta") => format!("delta of {} {}", line["of"].as_str().unwrap_or_default(), line["text"]),
            other => other.unwrap_or_default().to_owned(),
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_run_is_told_with_what_to_do() {
    let error = ProviderError {
        kind: ProviderErrorKind::Authentication,
        status: Some(401),
        retry_after_ms: None,
        message: "the key was refused".into(),
    };
    let script = vec![ScriptedAttempt { outcome: ScriptedEnd::Error(error), ..ScriptedAttempt::default() }];
    let mut theatre = Theatre::new(script, Watching::Nobody, ApprovalMode::Yes).await;
    let RunEnd::Failed(error) = theatre.play("Hello").await else { panic!("it failed") };
    insta::assert_snapshot!(annals_host::advice::advice(&error, &*theatre.view().await));
    assert_eq!(theatre.out(), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_another_process_runs_is_followed_to_its_end() {
    let theatre = Theatre::new(vec![ScriptedAttempt::text("Hello to you.")], Watching::Nobody, ApprovalMode::Yes).await;
    let lease = theatre.lease().await;
    let mut other = theatre.another_process(Vec::new());
    let input = other.admitted("Hello").await;
    let (ended, ()) = tokio::join!(other.follow(), async {
        // What the other process admitted is run by the one that has the right to.
        theatre.run().await;
        drop(lease);
    });
    assert!(matches!(ended, RunEnd::Elsewhere), "{ended:?}");
    assert_eq!(other.out(), "Hello to you.\n");
    assert!(theatre.events().await.contains(&input));
}
