//! Laws: the rows are the folds, at every position; filling in two halves equals filling at once; an index misses no match.

#[path = "../../projections/tests/story/mod.rs"]
mod story;

use crate::rows::{CallRow, MessageRow};
use crate::tables::TABLE_NOTES;
use crate::writer::{IndexContent, IndexWriter};
use crate::{reader, schema};
use annals_core::event::SessionForked;
use annals_core::{Batch, NoBlobs, Record, Seq, SessionId, Time};
use annals_inspect::search::{CandidateQuery, SearchPattern};
use annals_inspect::touched_files::touched_files;
use annals_projections::{
    Body, Catalogue, Content, Messages, Projection, RequestIndex, Transcript, UsageByModel, UsageTotals,
};
use annals_store::StorePlace;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use story::{KEY, Writer, commands};

fn begin(connection: Connection) -> IndexWriter {
    IndexWriter::in_connection(connection, PathBuf::from("test"), IndexContent::Everything).unwrap().unwrap()
}

fn empty() -> IndexWriter {
    begin(Connection::open_in_memory().unwrap())
}

fn take(writer: &mut IndexWriter, batches: &[Batch], from: usize) {
    for (at, batch) in batches.iter().enumerate() {
        writer.take(batch, StorePlace::dense((from + at) as u64), &NoBlobs).unwrap();
    }
}

/// All rows of a query.
fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut select = connection.prepare(sql).unwrap();
    let columns = select.column_count();
    let rows = select.query_map([], |row| (0..columns).map(|at| row.get(at)).collect()).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

/// The rows of every table, and what the two indexes of texts hold.
fn dump(connection: &Connection) -> BTreeMap<String, Vec<Vec<Value>>> {
    let tables = [
        "_covered order by 1",
        "_session order by key",
        "_event order by session, seq",
        "_text order by id",
        "_message order by session, seq",
        "_call order by session, seq",
        "_request order by session, seq",
        "_usage order by session, seq",
        "_file order by session, seq, path, action",
    ];
    let mut all: BTreeMap<String, Vec<Vec<Value>>> =
        tables.iter().map(|it| ((*it).to_owned(), rows(connection, &format!("select * from {it}")))).collect();
    for index in ["_trigram", "_word"] {
        connection
            .execute_batch(&format!("create virtual table temp.v{index} using fts5vocab('main', '{index}', 'row')"))
            .unwrap();
        all.insert(index.to_owned(), rows(connection, &format!("select term, doc from temp.v{index} order by term")));
    }
    all
}

fn number(value: u64) -> Value {
    Value::Integer(value as i64)
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

fn maybe(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, |value| Value::Text(value.into()))
}

fn fold<P: Projection>(records: &[Record<'_>]) -> P {
    let mut view = P::default();
    records.iter().for_each(|record| view.apply(record));
    view
}

/// Compares the rows of one session with its folds.
fn compare(connection: &Connection, batches: &[Batch]) {
    let records: Vec<Record<'_>> = batches.iter().flat_map(Batch::records).collect();
    let mut messages = Messages::default();
    for record in &records {
        messages.apply(record);
    }
    let transcript: Transcript = fold(&records);
    messages_and_calls(connection, &messages, &transcript);
    requests(connection, &fold(&records));
    usage(connection, &records);
    sessions(connection, &records);
    let expected: Vec<_> =
        records.iter().map(|it| vec![number(it.seq.0), number(it.at.0), text(it.event.kind().name())]).collect();
    assert_eq!(rows(connection, "select seq, at_ms, type from events order by seq"), expected);
    let files: Vec<_> = records
        .iter()
        .flat_map(|it| touched_files(it.event, &NoBlobs).into_iter().map(|file| (it.seq, file)))
        .map(|(seq, file)| vec![number(seq.0), text(file.path), text(file.action.name())])
        .collect();
    assert_eq!(rows(connection, "select seq, path, action from files order by seq, path"), files);
}

fn messages_and_calls(connection: &Connection, messages: &Messages, transcript: &Transcript) {
    let (mut expected, mut calls, mut turn) = (Vec::new(), Vec::new(), 0);
    let mut turns = Vec::new();
    for message in messages.list() {
        let undone = number(u64::from(transcript.is_removed(message.seq)));
        let MessageRow { role, agent, model, text: shown, chars, reasoning, finish, error, ended } =
            MessageRow::of(message, &NoBlobs);
        if role == "user" && !transcript.is_removed(message.seq) {
            turn += 1;
            assert_eq!(transcript.user_message(turn), Some(message.seq), "turns are numbered as turn:N");
            turns.push(vec![number(turn), number(message.seq.0), text(shown.clone())]);
        }
        let ended = ended.map_or(Value::Null, |at| Value::Integer(at.0 as i64 - message.at.0 as i64));
        expected.push(vec![
            number(message.seq.0),
            number(message.at.0),
            text(role),
            maybe(agent),
            maybe(model),
            text(shown),
            number(chars),
            maybe(reasoning),
            maybe(finish),
            maybe(error),
            ended,
            undone.clone(),
        ]);
        let Body::Assistant(answer) = &message.body else { continue };
        for content in &answer.content {
            let Content::Tool(call) = content else { continue };
            let row = CallRow::of(call, &NoBlobs);
            calls.push(vec![
                number(call.seq.0),
                number(message.seq.0),
                number(call.at.0),
                text(row.call),
                text(row.tool),
                maybe(row.input),
                text(row.status),
                maybe(row.outcome),
                maybe(row.output),
                number(row.output_chars),
                maybe(row.error),
                undone.clone(),
            ]);
        }
    }
    let sql = "select seq, at_ms, role, agent, model, text, chars, reasoning, finish, error, duration_ms, undone from messages order by seq";
    assert_eq!(rows(connection, sql), expected);
    calls.sort_by_key(|row| if let Value::Integer(seq) = row[0] { seq } else { 0 });
    let sql = "select seq, message, at_ms, call, tool, input, status, outcome, output, output_chars, error, undone from calls order by seq";
    assert_eq!(rows(connection, sql), calls);
    assert_eq!(rows(connection, "select number, seq, prompt from turns where not undone order by seq"), turns);
}

fn requests(connection: &Connection, index: &RequestIndex) {
    let expected: Vec<_> = index
        .requests
        .iter()
        .map(|it| {
            let answer = it.answer.as_ref();
            let usage = answer.and_then(|answer| answer.usage);
            vec![
                number(it.number),
                number(it.seq.0),
                number(it.at.0),
                number(u64::from(it.recorded)),
                text(it.purpose.as_str()),
                number(u64::from(it.attempt)),
                text(it.agent.as_str()),
                text(it.model.as_str()),
                answer.map_or(Value::Null, |answer| number(answer.seq.0)),
                usage.map_or(Value::Null, |usage| number(usage.input)),
                usage.map_or(Value::Null, |usage| number(usage.output)),
            ]
        })
        .collect();
    let sql = "select number, seq, at_ms, recorded, purpose, attempt, agent, model, answered, input, output from requests order by seq";
    assert_eq!(rows(connection, sql), expected);
}

fn usage(connection: &Connection, records: &[Record<'_>]) {
    let view: UsageByModel = fold(records);
    let expected: Vec<_> = view
        .models
        .iter()
        .filter(|(_, totals)| **totals != UsageTotals::default())
        .map(|(model, it)| {
            let tokens = it.tokens;
            vec![
                text(model.as_str()),
                number(it.attempts),
                number(it.unpriced),
                number(it.cost),
                number(tokens.input),
                number(tokens.output),
                number(tokens.reasoning),
                number(tokens.cache_read),
                number(tokens.cache_write),
            ]
        })
        .collect();
    let sql = "select model, sum(attempts), sum(unpriced), sum(cost), sum(input), sum(output), sum(reasoning), sum(cache_read),
        sum(cache_write) from _usage group by model order by model";
    assert_eq!(rows(connection, sql), expected);
}

fn sessions(connection: &Connection, records: &[Record<'_>]) {
    let mut catalogue = Catalogue::default();
    records.iter().for_each(|record| catalogue.apply(record));
    let expected: Vec<_> = catalogue
        .sessions
        .iter()
        .map(|(id, it)| {
            vec![
                text(id.to_string()),
                text(it.title.as_str()),
                text(it.directory.as_str()),
                maybe(it.branch.clone()),
                text(it.agent.as_str()),
                text(it.model.as_str()),
                maybe(it.origin.clone()),
                number(it.created.0),
                number(it.updated.0),
                number(it.next.0),
                number(it.turns),
                if it.unpriced.tokens.is_empty() { number(it.cost) } else { Value::Null },
            ]
        })
        .collect();
    let sql = "select id, title, directory, branch, agent, model, origin, created_ms, updated_ms, events, turns, cost from sessions order by id";
    assert_eq!(rows(connection, sql), expected);
}

proptest! {
    #[test]
    fn the_rows_are_the_folds_at_every_position(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let mut writer = empty();
        for at in 0..log.len() {
            take(&mut writer, &log[at..=at], at);
            writer.commit(&NoBlobs).unwrap();
            compare(writer.connection(), &log[..=at]);
            writer.begin().unwrap();
        }
    }

    #[test]
    fn filling_in_two_halves_equals_filling_at_once(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len());
        let mut whole = empty();
        take(&mut whole, &log, 0);
        whole.commit(&NoBlobs).unwrap();
        let mut half = empty();
        take(&mut half, &log[..at], 0);
        half.commit(&NoBlobs).unwrap();
        let mut other = begin(half.into_connection());
        take(&mut other, &log[at..], at);
        other.commit(&NoBlobs).unwrap();
        prop_assert_eq!(dump(whole.connection()), dump(other.connection()));
    }

    #[test]
    fn every_text_that_matches_is_a_candidate(commands in commands(), word in "[a-zA-Z ]{1,6}|\"[a-z ]{2,5}\"|the|File|reads? a") {
        let log = Writer::run(&commands).batches;
        let mut writer = empty();
        take(&mut writer, &log, 0);
        writer.commit(&NoBlobs).unwrap();
        let Ok(pattern) = SearchPattern::parse(&word, &[]) else { return Ok(()) };
        let (required, words) = (pattern.required(), pattern.whole_words());
        let query = CandidateQuery { required: &required, words: &words, authors: &[], tool: None, since: None };
        let found = reader::candidates(writer.connection(), &query).unwrap();
        for record in log.iter().flat_map(Batch::records) {
            for (by, whole) in annals_inspect::search::matching_authors(&pattern, record.event, &NoBlobs) {
                let is_it = |it: &&annals_inspect::search::SearchCandidate| it.seq == record.seq && it.by == by;
                prop_assert_eq!(found.iter().find(is_it).map(|it| it.whole), Some(whole), "{:?} at {}", word, record.seq);
            }
        }
    }
}

#[test]
fn a_fork_has_an_entry_of_its_own() {
    let parent = Writer::run(&[]).batches;
    let last = parent.last().unwrap();
    let child = SessionId::from_parts(1_780_488_000_000, 2);
    let (cut, digest) = (last.next(), last.digest);
    let forked =
        SessionForked { parent: last.session, cut, parent_digest: digest, title: None, origin: None, key: KEY.into() };
    let at = Time(last.at.0 + 1);
    let batch = Batch::seal(&KEY, &NoBlobs, child, cut, at, Some(digest), vec![forked.into()]).unwrap().batch;
    let all: Vec<Batch> = parent.iter().cloned().chain([batch]).collect();
    let mut writer = empty();
    take(&mut writer, &all, 0);
    writer.commit(&NoBlobs).unwrap();
    let records: Vec<Record<'_>> = all.iter().flat_map(Batch::records).collect();
    sessions(writer.connection(), &records);
    let forks = rows(writer.connection(), "select fork_of, fork_at from sessions where fork_of is not null");
    assert_eq!(forks, [[text(last.session.to_string()), number(cut.0)]]);
    assert_eq!(cut, Seq(all.len() as u64 - 1).max(cut));
}

#[test]
fn every_column_is_described() {
    let writer = empty();
    for (table, _, columns) in TABLE_NOTES {
        let named = rows(writer.connection(), &format!("select name from pragma_table_info('{table}')"));
        let described: Vec<_> = columns.iter().map(|(name, _)| vec![text(*name)]).collect();
        assert_eq!(named, described, "{table}");
    }
    let views = rows(writer.connection(), "select name from sqlite_schema where type = 'view' order by name");
    assert_eq!(views.len(), schema::VIEW_NAMES.len());
}
