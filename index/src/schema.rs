//! The tables of the file. Those whose names begin with `_` are ours; the views are for everyone (`docs/sql.md`).

use annals_core::Kind;
use rusqlite::{Connection, params};

/// The number of this schema, of what fills it, and of how texts are folded: another one is made again.
pub(crate) const VERSION: i32 = 3;
/// Says that a file of SQLite is an index of Annals: "Anix".
pub(crate) const APPLICATION: i32 = 0x416e_6978;

/// Before anything is written.
pub(crate) const SETTINGS: &str = "
pragma page_size = 8192;
pragma journal_mode = delete;
pragma synchronous = normal;
pragma secure_delete = on;
pragma temp_store = memory;
pragma cache_size = -16000;
pragma trusted_schema = off;
";

/// For a copy that no other process reads, and that nothing survives.
pub(crate) const PRIVATE_SETTINGS: &str = "
pragma journal_mode = memory;
pragma synchronous = off;
pragma secure_delete = off;
";

const TABLES: &str = "
create table _covered (cursor text not null, digest blob not null, events integer not null);
insert into _covered values (0, x'', 0);
create table _kind (number integer primary key, name text not null);
create table _session (
    key integer primary key, id text not null unique, title text not null, agent text not null, model text not null,
    directory text not null, project text not null, branch text, origin text, parent text, fork_of text, fork_at integer,
    created integer not null, updated integer not null, events integer not null, turns integer not null, cost integer,
    forgotten integer not null, state blob not null
);
create table _event (
    session integer not null, seq integer not null, at integer not null, kind integer not null, position integer not null,
    primary key (session, seq)
) without rowid;
create table _text (
    id integer primary key, session integer not null, seq integer not null, author integer not null, at integer not null, tool text
);
create table _message (
    session integer not null, seq integer not null, turn integer not null, turn_seq integer not null, at integer not null,
    role text not null, agent text, model text, text text not null, chars integer not null, reasoning text, finish text,
    error text, ended integer, undone integer not null default 0
);
create unique index _message_place on _message (session, seq);
create index _message_turn on _message (session, turn_seq);
create table _call (
    session integer not null, seq integer not null, message integer not null, turn integer not null, turn_seq integer not null,
    at integer not null, call text not null, tool text not null, input text, status text not null, outcome text, output text,
    output_chars integer not null, error text, ended integer, undone integer not null default 0
);
create unique index _call_place on _call (session, seq);
create index _call_turn on _call (session, turn_seq);
create table _request (
    session integer not null, seq integer not null, turn integer not null, number integer not null, at integer not null,
    recorded integer not null, purpose text not null, attempt integer not null, agent text not null, model text not null,
    answered integer, answered_at integer, input integer, output integer, reasoning integer, cache_read integer,
    cache_write integer, cost integer,
    primary key (session, seq)
) without rowid;
create table _usage (
    session integer not null, seq integer not null, turn integer not null, turn_seq integer not null, at integer not null,
    model text not null, purpose text not null, attempts integer not null, input integer not null, output integer not null,
    reasoning integer not null, cache_read integer not null, cache_write integer not null, cost integer not null,
    unpriced integer not null,
    primary key (session, seq)
) without rowid;
create index _usage_turn on _usage (session, turn_seq);
create table _file (
    session integer not null, seq integer not null, turn integer not null, at integer not null, path text not null,
    action text not null, tool text,
    primary key (session, seq, path, action)
) without rowid;
create virtual table _trigram using fts5(text, content='', columnsize=0, detail=none, tokenize='ascii');
create virtual table _word using fts5(text, content='', columnsize=0, detail=none, tokenize='ascii tokenchars ''_''');
insert into _trigram (_trigram, rank) values ('hashsize', 16777216);
insert into _word (_word, rank) values ('hashsize', 8388608);
";

const VIEWS: &str = "
create view sessions as select
    id, title, project, directory, branch, agent, model, origin, parent, fork_of, fork_at,
    strftime('%Y-%m-%d %H:%M:%S', created / 1000, 'unixepoch') as created, created as created_ms,
    strftime('%Y-%m-%d %H:%M:%S', updated / 1000, 'unixepoch') as updated, updated as updated_ms,
    events, turns, cost, cost / 1e9 as usd
from _session where not forgotten;
create view events as select
    s.id as session, e.seq, strftime('%Y-%m-%d %H:%M:%S', e.at / 1000, 'unixepoch') as at, e.at as at_ms, k.name as type, e.position
from _event e join _session s on s.key = e.session join _kind k on k.number = e.kind;
create view messages as select
    s.id as session, m.seq, m.turn, strftime('%Y-%m-%d %H:%M:%S', m.at / 1000, 'unixepoch') as at, m.at as at_ms, m.role, m.agent,
    m.model, m.text, m.chars, m.reasoning, m.finish, m.error, m.ended - m.at as duration_ms, m.undone
from _message m join _session s on s.key = m.session;
create view calls as select
    s.id as session, c.seq, c.message, c.turn, strftime('%Y-%m-%d %H:%M:%S', c.at / 1000, 'unixepoch') as at, c.at as at_ms, c.call,
    c.tool, c.input, c.status, c.outcome, c.output, c.output_chars, c.error, c.ended - c.at as duration_ms, c.undone
from _call c join _session s on s.key = c.session;
create view requests as select
    s.id as session, r.seq, r.number, r.turn, strftime('%Y-%m-%d %H:%M:%S', r.at / 1000, 'unixepoch') as at, r.at as at_ms, r.recorded,
    r.purpose, r.attempt, r.agent, r.model, r.answered, r.answered_at - r.at as duration_ms, r.input, r.output, r.reasoning,
    r.cache_read, r.cache_write, r.cost, r.cost / 1e9 as usd
from _request r join _session s on s.key = r.session;
create view usage as select
    s.id as session, u.seq, u.turn, strftime('%Y-%m-%d %H:%M:%S', u.at / 1000, 'unixepoch') as at, u.at as at_ms, u.model, u.purpose,
    u.input, u.output, u.reasoning, u.cache_read, u.cache_write, case when u.unpriced then null else u.cost end as cost,
    case when u.unpriced then null else u.cost / 1e9 end as usd
from _usage u join _session s on s.key = u.session;
create view files as select
    s.id as session, f.seq, f.turn, strftime('%Y-%m-%d %H:%M:%S', f.at / 1000, 'unixepoch') as at, f.at as at_ms, f.path, f.action, f.tool
from _file f join _session s on s.key = f.session;
create view turns as select
    s.id as session, m.turn as number, m.seq, strftime('%Y-%m-%d %H:%M:%S', m.at / 1000, 'unixepoch') as at, m.at as at_ms,
    m.text as prompt, m.chars,
    (select count(*) from _message a where a.session = m.session and a.turn_seq = m.seq and a.role = 'assistant') as answers,
    (select count(*) from _call c where c.session = m.session and c.turn_seq = m.seq) as calls,
    (select max(coalesce(a.ended, a.at)) from _message a where a.session = m.session and a.turn_seq = m.seq) - m.at as duration_ms,
    (select coalesce(sum(u.input), 0) from _usage u where u.session = m.session and u.turn_seq = m.seq) as input,
    (select coalesce(sum(u.output), 0) from _usage u where u.session = m.session and u.turn_seq = m.seq) as output,
    (select case when max(u.unpriced) then null else coalesce(sum(u.cost), 0) end from _usage u
        where u.session = m.session and u.turn_seq = m.seq) as cost,
    m.undone
from _message m join _session s on s.key = m.session where m.role = 'user';
";

/// The views that everyone may use, in the order of the documentation.
pub(crate) const VIEW_NAMES: [&str; 8] =
    ["sessions", "turns", "messages", "calls", "requests", "usage", "files", "events"];

/// Makes the tables in an empty file, inside a transaction.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.execute_batch(VIEWS)?;
    let mut insert = connection.prepare("insert into _kind values (?, ?)")?;
    for kind in Kind::ALL {
        insert.execute(params![kind.number(), kind.name()])?;
    }
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Whether the file has these tables.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    Ok(pragma("application_id")? == APPLICATION && pragma("user_version")? == VERSION)
}

/// Whether nothing was written to the file yet.
pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("select count(*) = 0 from sqlite_schema", [], |row| row.get(0))
}
