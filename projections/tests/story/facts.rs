//! Facts whose content does not matter.

use annals_core::event::*;
use annals_core::{CallId, Digest, Key, RequestId};

pub fn settled(call: &CallId, fail: bool) -> ToolSettled {
    match fail {
        true => ToolSettled { error: Some("no".into()), ..ToolSettled::bare(call.clone(), ToolOutcome::Failed) },
        false => ToolSettled { output: "seen".into(), ..ToolSettled::bare(call.clone(), ToolOutcome::Completed) },
    }
}

/// A title request, as far as a fold looks at it.
pub fn title_request(request: RequestId) -> RequestSent {
    let none = Digest([0; 32]);
    RequestSent {
        request,
        purpose: Purpose::Title,
        attempt: 1,
        digest: none,
        wire: None,
        agent: "build".into(),
        model: "test/small".into(),
        agent_profile: none,
        model_profile: none,
        tools: None,
        options: none,
        last_step: false,
        prompt: Some("Give a title.".into()),
    }
}

/// The id of a Git tree.
pub fn tree(number: u64) -> String {
    format!("{number:040x}")
}

pub fn failure() -> Failure {
    Failure { kind: "transport".to_owned(), message: "cut off".into(), status: None }
}

pub fn key(n: u8) -> Key {
    format!("test/key-{n}").parse().expect("a valid key")
}

pub fn location(n: u64) -> Location {
    Location { directory: format!("/project/{n}"), workspace: None }
}
