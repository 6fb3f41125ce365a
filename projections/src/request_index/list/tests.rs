use super::*;
use alloc::string::ToString;
use alloc::vec;
use annals_core::{AgentName, ModelName};
use proptest::prelude::*;

const PURPOSES: [Purpose; 4] = [Purpose::Turn, Purpose::Summary, Purpose::Title, Purpose::Other];

fn shape(number: u8) -> SharedProfile {
    SharedProfile {
        recorded: true,
        purpose: PURPOSES[usize::from(number) % 4],
        attempt: 1,
        agent: AgentName::from("build"),
        model: ModelName::from((number / 4).to_string().as_str()),
        agent_profile: None,
        tools: None,
        options: None,
    }
}

/// The same as a plain list.
fn ended(model: &mut [IndexedRequest], purposes: &[Purpose], end: RequestEnd) {
    if let Some(request) = model.iter_mut().rev().find(|request| purposes.contains(&request.purpose)) {
        request.answer.get_or_insert(end);
    }
}

proptest! {
    #[test]
    fn a_packed_list_is_a_list(
        steps in prop::collection::vec((0..12u8, any::<bool>(), 0..40u64), 0..400),
        rare in 0..4usize,
        at in 0..20_000u64,
        last in 0..450u64,
        odd in any::<bool>(),
    ) {
        let (mut list, mut model) = (IndexedRequests::default(), Vec::new());
        let (mut seq, mut clock) = (0, 1_000_000);
        for (number, is_end, distance) in steps {
            seq += distance + 1;
            // Clocks may go back.
            clock = clock + distance * 7 - 100;
            let (place, time) = (Seq(seq), Time(clock));
            if is_end {
                let usage = (distance % 2 == 0).then(|| Usage { input: distance, ..Usage::default() });
                let end = RequestEnd { seq: place, at: time, usage, cost: distance };
                let purposes = [PURPOSES[usize::from(number) % 4]];
                list.end(&purposes, end);
                ended(&mut model, &purposes, end);
            } else {
                // One purpose occurs early and never again, so that its newest request is in a packed chunk.
                let number = if model.len() > 10 && usize::from(number) % 4 == rare { number + 1 } else { number };
                list.push(place, time, shape(number));
                let shape = Arc::new(shape(number));
                model.push(IndexedRequest { number: model.len() as u64 + 1, seq: place, at: time, shape, answer: None });
            }
        }
        let saved: IndexedRequests = postcard::from_bytes(&postcard::to_allocvec(&list).unwrap()).unwrap();
        prop_assert_eq!(&saved, &list);
        prop_assert_eq!(postcard::to_allocvec(&saved).unwrap(), postcard::to_allocvec(&list).unwrap());
        for list in [&list, &saved] {
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), model.clone());
            prop_assert_eq!(list.iter().rev().collect::<Vec<_>>(), model.iter().rev().cloned().collect::<Vec<_>>());
            for at in [0, 1, 63, 64, 65, 127, 128, 191, 192, model.len()] {
                prop_assert_eq!(list.get(at), model.get(at).cloned());
                let rest = model.get(at..).unwrap_or_default();
                prop_assert_eq!(list.range(at, list.len()).collect::<Vec<_>>(), rest.to_vec());
                prop_assert_eq!(list.range(at / 2, at).collect::<Vec<_>>(), model.iter().take(at).skip(at / 2).cloned().collect::<Vec<_>>());
            }
            let before: Vec<IndexedRequest> = model
                .iter()
                .filter(|request| request.seq < Seq(at))
                .map(|request| IndexedRequest { answer: request.answer.filter(|end| end.seq < Seq(at)), ..request.clone() })
                .collect();
            prop_assert_eq!(list.before(Seq(at)), before.len());
            let until = list.until(Seq(at));
            prop_assert_eq!(until.iter().collect::<Vec<_>>(), before.clone());
            prop_assert_eq!((0..until.len()).filter_map(|at| until.get(at)).collect::<Vec<_>>(), before);
            for purpose in PURPOSES {
                let same = |shape: &SharedProfile| odd == shape.model.as_str().starts_with(['1', '2']);
                let run = model.iter().rev().filter(|it| it.number <= last && it.purpose == purpose);
                let run = run.take_while(|it| same(&it.shape)).last().map(|it| it.number);
                prop_assert_eq!(list.run(last, purpose, same), run);
                let all = model.iter().find(|it| it.number <= last && it.purpose == purpose).map(|it| it.number);
                prop_assert_eq!(list.run(last, purpose, |_| true), all);
            }
        }
    }
}

#[test]
fn a_shape_is_asked_about_once_in_a_run_and_a_request_is_a_few_bytes() {
    let mut list = IndexedRequests::default();
    for at in 0..100_000 {
        list.push(Seq(at * 6), Time(1_700_000_000_000 + at * 900), shape(0));
    }
    let mut asked = vec![];
    assert_eq!(
        list.run(99_999, Purpose::Turn, |shape| {
            asked.push(shape.clone());
            true
        }),
        Some(1)
    );
    assert_eq!(asked.len(), 1);
    let saved = postcard::to_allocvec(&list).unwrap();
    assert!(saved.len() < 700_000, "{} bytes", saved.len());
}
