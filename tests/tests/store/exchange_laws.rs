//! For any sessions: what is exported comes back the same, in any order, and verifies (`fixtures/FORMAT.md`).

use annals_core::{Seq, SessionId};
use annals_store::conformance::material::{admitted, begin, draft, fork, promoted, session, synthetic, whole};
use annals_store::exchange::{export, import, verify_file, verify_store};
use annals_store::{EventLog, MemoryLog};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Step {
    /// Somebody appends texts.
    Append { to: Index, texts: Vec<String> },
    /// Somebody forks anywhere.
    Fork { of: Index, cut: Index },
}

fn step() -> impl Strategy<Value = Step> {
    let text = prop_oneof![5 => any::<String>(), 1 => ".{1,9}".prop_map(|text| text.repeat(1_200))];
    prop_oneof![
        3 => (any::<Index>(), vec(text, 1..5)).prop_map(|(to, texts)| Step::Append { to, texts }),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(of, cut)| Step::Fork { of, cut }),
    ]
}

async fn play(steps: &[Step]) -> (MemoryLog, Vec<SessionId>) {
    let log = MemoryLog::new();
    let mut sessions = vec![session(0)];
    begin(&log, session(0)).await.unwrap();
    for (n, step) in (1..).zip(steps) {
        match step {
            Step::Append { to, texts } => {
                let s = *to.get(&sessions);
                let at = log.head(s).await.unwrap().unwrap().next;
                let input = format!("input-{n}");
                let mut events = vec![admitted(&input, "and now?"), promoted(&input)];
                events.extend(texts.iter().map(|text| synthetic(text.clone())));
                log.append(draft(s, at, events)).await.unwrap();
            }
            Step::Fork { of, cut } => {
                let parent = *of.get(&sessions);
                let end = log.head(parent).await.unwrap().unwrap().next;
                let cut = Seq(1 + cut.index(end.0 as usize) as u64);
                fork(&log, parent, cut, session(n)).await.unwrap();
                sessions.push(session(n));
            }
        }
    }
    (log, sessions)
}

async fn holds(steps: &[Step], order: Index) {
    let (log, sessions) = play(steps).await;
    assert!(verify_store(&log, &mut |_| {}).await.unwrap().is_sound());
    let copy = MemoryLog::new();
    let first = order.index(sessions.len());
    let (before, after) = sessions.split_at(first);
    for s in after.iter().rev().chain(before) {
        let mut file = Vec::new();
        export(&log, *s, &mut file, &mut |_| {}).await.unwrap();
        let report = verify_file(&mut &*file, None, &mut |_| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.damage);
        import(&copy, &mut &*file, &mut |_| {}).await.unwrap();
        let again = import(&copy, &mut &*file, &mut |_| {}).await.unwrap();
        assert_eq!(again.sessions[0].new, 0);
        assert_eq!(whole(&copy, *s).await.unwrap(), whole(&log, *s).await.unwrap());
        let mut same = Vec::new();
        export(&copy, *s, &mut same, &mut |_| {}).await.unwrap();
        assert_eq!(same, file);
    }
    assert_eq!(copy.sessions().all().await.unwrap(), log.sessions().all().await.unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_sessions_come_back_as_they_went(steps in vec(step(), 0..14), order in any::<Index>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(holds(&steps, order));
    }
}
