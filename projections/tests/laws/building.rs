//! Requests that are built one after another are those that are built from nothing.

use crate::story::{Writer, commands};
use annals_core::event::{AgentProfile, ModelProfile, Purpose, RequestOptions, RequestSent, SystemMessages};
use annals_core::{Digest, NoBlobs, RequestId};
use annals_projections::{RequestBuilder, SessionView, rebuild};
use proptest::prelude::*;

/// A request of a turn, whose profiles are added to the view.
fn announced(view: &mut SessionView, system_messages: SystemMessages, last_step: bool) -> RequestSent {
    let agent =
        AgentProfile { agent: "build".into(), system: Some("You build.".into()), steps: None, permissions: vec![] };
    let model = ModelProfile {
        system_messages,
        protocol: "scripted".into(),
        encoding: 1,
        ..ModelProfile::of_name("test/alpha".into())
    };
    let options = RequestOptions::default();
    let sent = RequestSent {
        request: RequestId::from_parts(1, 1),
        purpose: Purpose::Turn,
        attempt: 1,
        digest: Digest([0; 32]),
        wire: None,
        agent: agent.agent.clone(),
        model: model.model.clone(),
        agent_profile: agent.digest().unwrap(),
        model_profile: model.digest().unwrap(),
        tools: None,
        options: options.digest().unwrap(),
        last_step,
        prompt: None,
    };
    view.profiles.agents.insert(sent.agent_profile, agent);
    view.profiles.models.insert(sent.model_profile, model);
    view.profiles.options.insert(sent.options, options);
    sent
}

proptest! {
    #[test]
    fn a_request_built_after_another_is_the_one_built_from_nothing(commands in commands(), every in 1..4usize) {
        for system_messages in [SystemMessages::Native, SystemMessages::Wrapped] {
            let (mut view, mut builder) = (SessionView::default(), RequestBuilder::default());
            for (at, batch) in Writer::run(&commands).batches.iter().enumerate() {
                let held = view.clone();
                let unchanged = serde_json::to_string(&held).unwrap();
                batch.records().for_each(|record| builder.apply_all(&mut view, &record));
                prop_assert_eq!(serde_json::to_string(&held).unwrap(), unchanged, "a view that is held changed");
                if at % every != 0 {
                    continue;
                }
                let sent = announced(&mut view, system_messages, at % 5 == 4);
                let built = builder.build(&view, &sent, &NoBlobs).unwrap();
                let whole = rebuild(&view, &sent, &NoBlobs).unwrap();
                prop_assert_eq!(built.digest(), whole.digest());
                prop_assert_eq!(built.chars(), whole.chars());
                let written = annals_core::canonical::value(&whole.shape_json()).chars().count() as u64;
                prop_assert_eq!(built.chars(), written, "the size is that of the JSON");
                prop_assert_eq!(built.request(), whole);
            }
        }
    }
}
