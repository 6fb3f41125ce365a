use super::*;
use annals_core::event::{Finish, Parent, StepEnded, StepStarted};
use annals_core::{Event, Record, Seq};
use annals_providers::catalog::Catalog;

const HOUR: u64 = 3_600_000;

/// Its id, its directory, its parent, its answers.
type Session<'a> = (u64, &'a str, Option<u64>, &'a [(u64, &'a str, u64)]);

/// Sessions whose answers have a time, a model and a number of input tokens.
fn store(sessions: &[Session<'_>]) -> (Spending, Catalogue) {
    let (mut spending, mut catalogue) = (Spending::default(), Catalogue::default());
    for (id, directory, parent, answers) in sessions {
        let session = SessionId::from_parts(*id, 0);
        let parent = parent.map(|parent| Parent { session: SessionId::from_parts(parent, 0), call: None });
        let (directory, agent) = ((*directory).into(), "build".into());
        catalogue.sessions.insert(session, CatalogueEntry { directory, parent, agent, ..CatalogueEntry::default() });
        for (at, model, input) in *answers {
            let model = (*model).into();
            let started = StepStarted { agent: "build".into(), model, files: None, answer: None };
            let usage = Some(Usage { input: *input, ..Usage::default() });
            let ended = StepEnded { finish: Finish::Stop, usage, cost: 0, files: None, changed: Vec::new() };
            for event in [Event::from(started), ended.into()] {
                spending.apply(&Record { session, seq: Seq(0), at: Time(*at), event: &event });
            }
        }
    }
    (spending, catalogue)
}

/// The rows of a query, as `VALUES INPUT COST`.
fn rows(store: &(Spending, Catalogue), query: &SpendingQuery) -> Vec<String> {
    let pricing = Pricing::new(Catalog::built_in());
    let source = SpendingSource {
        spending: &store.0,
        catalogue: &store.1,
        pricing: &pricing,
        calendar: Calendar { offset: &|_| 0 },
        project: &|directory| (directory != "/hidden").then(|| directory.to_owned()),
    };
    let table = source.table(query);
    let all = table.rows.iter().map(|row| row.spent.input).sum::<u64>();
    assert_eq!(table.total.input, all);
    let line = |row: SpendingRow| {
        let values: Vec<String> = query.by.iter().map(|by| row.by[by].clone()).collect();
        format!("{} {} {}", values.join(" "), row.spent.input, row.spent.known_cost.shown())
    };
    table.rows.into_iter().map(line).collect()
}

fn by(by: &[Dimension]) -> SpendingQuery {
    SpendingQuery { by: by.to_vec(), ..SpendingQuery::default() }
}

const SONNET: &str = "anthropic/claude-sonnet-4-5-20250929";

#[test]
fn rows_combine_what_they_differ_in_and_unknown_prices_are_not_zero() {
    let store = store(&[
        (1, "/a", None, &[(HOUR, SONNET, 1_000_000), (30 * HOUR, "nobody/nothing", 7)]),
        (2, "/b", None, &[(30 * HOUR, SONNET, 2_000_000)]),
        (3, "/hidden", None, &[(30 * HOUR, SONNET, 5)]),
    ]);
    use Dimension::*;
    assert_eq!(rows(&store, &by(&[Day])), ["1970-01-01 1000000 ~$3.00", "1970-01-02 2000007 >$6.00"]);
    assert_eq!(
        rows(&store, &by(&[Day, Model])),
        [
            format!("1970-01-01 {SONNET} 1000000 ~$3.00"),
            format!("1970-01-02 {SONNET} 2000000 ~$6.00"),
            "1970-01-02 nobody/nothing 7 -".to_owned(),
        ]
    );
    assert_eq!(rows(&store, &by(&[Project])), ["/b 2000000 ~$6.00", "/a 1000007 >$3.00"]);
    assert_eq!(rows(&store, &by(&[Month, Agent])), ["1970-01 build 3000007 >$9.00"]);
    let late = SpendingQuery { since: Some(Time(2 * HOUR)), until: Some(Time(31 * HOUR)), ..by(&[Week]) };
    assert_eq!(rows(&store, &late), ["1970-W01 2000007 >$6.00"]);
}

#[test]
fn a_session_includes_those_that_it_started_at_any_depth() {
    let answer: &[_] = &[(HOUR, SONNET, 1_000_000)];
    let store = store(&[(1, "/a", None, answer), (2, "/a", Some(1), answer), (3, "/a", Some(2), answer)]);
    let first = SessionId::from_parts(1, 0);
    assert_eq!(rows(&store, &by(&[Dimension::Session])), [format!("{first} 3000000 ~$9.00")]);
    let of_second = SpendingQuery { session: Some(SessionId::from_parts(2, 0)), ..by(&[Dimension::Day]) };
    assert_eq!(rows(&store, &of_second), ["1970-01-01 2000000 ~$6.00"]);
}

#[test]
fn a_session_that_is_its_own_parent_ends_the_search_for_the_first() {
    let answer: &[_] = &[(HOUR, SONNET, 1_000_000)];
    let store = store(&[(1, "/a", Some(2), answer), (2, "/a", Some(1), answer)]);
    assert_eq!(rows(&store, &by(&[])), [" 2000000 ~$6.00"]);
}

#[test]
fn blocks_begin_at_a_full_hour_and_last_five() {
    let times = [HOUR + 20 * 60_000, 5 * HOUR + 59 * 60_000, 6 * HOUR, 20 * HOUR].map(|at| (at, SONNET, 1_000_000));
    let store = store(&[(1, "/a", None, &times)]);
    assert_eq!(
        rows(&store, &by(&[Dimension::Block])),
        [
            "1970-01-01T01:00:00Z 2000000 ~$6.00",
            "1970-01-01T06:00:00Z 1000000 ~$3.00",
            "1970-01-01T20:00:00Z 1000000 ~$3.00"
        ]
    );
}
