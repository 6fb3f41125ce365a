//! The rivals: a preallocated file, and SQLite.

use annals_core::SessionId;
use rusqlite::{Connection, params};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};

/// Something that makes bytes durable.
pub trait Rival: Send {
    /// Makes some records durable together.
    fn commit(&mut self, records: &[Record]) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A record with its key.
pub type Record = (SessionId, u64, Vec<u8>);

/// (a) A file that was written with zeros, then records behind one another, flushed with `fdatasync`: the limit of the disk. A flush
/// of space that was only reserved also writes that it is used now.
pub struct RawFile {
    file: File,
    at: u64,
}

impl RawFile {
    /// A file with room for `bytes`.
    pub fn new(path: &Path, bytes: u64) -> io::Result<Self> {
        let file = File::options().create(true).truncate(true).read(true).write(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        for at in (0..bytes).step_by(zeros.len()) {
            file.write_all_at(&zeros, at)?;
        }
        file.sync_all()?;
        Ok(Self { file, at: 0 })
    }
}

impl Rival for RawFile {
    fn commit(&mut self, records: &[Record]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let group: Vec<u8> = records.iter().flat_map(|(_, _, bytes)| bytes.iter().copied()).collect();
        self.file.write_all_at(&group, self.at)?;
        self.at += group.len() as u64;
        Ok(self.file.sync_data()?)
    }
}

/// (b) SQLite: WAL, every commit flushed.
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// A new database.
    pub fn new(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE log (id INTEGER PRIMARY KEY, session BLOB NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL);
             CREATE UNIQUE INDEX place ON log (session, seq);",
        )?;
        Ok(Self { connection })
    }

    /// One record by its place.
    pub fn get(&self, session: SessionId, seq: u64) -> rusqlite::Result<Vec<u8>> {
        let mut query = self.connection.prepare_cached("SELECT body FROM log WHERE session = ?1 AND seq = ?2")?;
        query.query_row(params![&session.0[..], seq as i64], |row| row.get(0))
    }
}

impl Rival for Sqlite {
    fn commit(&mut self, records: &[Record]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO log (session, seq, body) VALUES (?1, ?2, ?3)")?;
            for (session, seq, bytes) in records {
                insert.execute(params![&session.0[..], *seq as i64, bytes])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

/// A record on its way to the one who flushes, and where it is acknowledged.
pub type Queued = (Record, tokio::sync::oneshot::Sender<()>);

/// One thread that drains a queue and makes a group durable, as our committer does. Gives the way to it.
pub fn flusher(mut rival: impl Rival + 'static) -> (Sender<Queued>, std::thread::JoinHandle<()>) {
    let (queue, waiting): (Sender<Queued>, Receiver<Queued>) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        while let Ok(first) = waiting.recv() {
            let mut group = vec![first];
            group.extend(waiting.try_iter().take(1023));
            let (records, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            rival.commit(&records).expect("the rival commits");
            for answer in answers {
                answer.send(()).expect("somebody waits for the answer");
            }
        }
    });
    (queue, thread)
}
