//! Rows of files, and the texts of search.

use super::{IndexContent, IndexWriter};
use crate::indexed_session::IndexedSession;
use annals_core::{Blobs, Record};
use annals_inspect::search::{TextAuthor, authored_texts, indexed_text, words_of_folded};
use annals_inspect::touched_files::touched_files;
use rusqlite::params;
use std::collections::BTreeSet;

impl IndexWriter {
    pub(super) fn files(
        &self,
        state: &IndexedSession,
        record: &Record<'_>,
        tool: Option<&str>,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        for file in touched_files(record.event, blobs) {
            self.statement("insert into _file values (?, ?, ?, ?, ?, ?, ?)")?.execute(params![
                state.key,
                record.seq.0 as i64,
                state.turn.0 as i64,
                record.at.0 as i64,
                file.path,
                file.action.name(),
                tool
            ])?;
        }
        Ok(())
    }

    /// The texts for search: one row for each author of an event.
    pub(super) fn texts(
        &mut self,
        state: &IndexedSession,
        record: &Record<'_>,
        tool: Option<&str>,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        if self.content == IndexContent::Tables {
            return Ok(());
        }
        let texts = authored_texts(record.event);
        for (number, author) in TextAuthor::ALL.into_iter().enumerate() {
            let mut folded = String::new();
            for (_, text) in texts.iter().filter(|(by, _)| *by == author) {
                folded.push_str(&indexed_text(&text.resolve(blobs)));
                folded.push('\n');
            }
            if folded.is_empty() {
                continue;
            }
            let id = self.next_text;
            self.next_text += 1;
            let (seq, at, author) = (record.seq.0 as i64, record.at.0 as i64, number as i64);
            self.statement("insert into _text values (?, ?, ?, ?, ?, ?)")?
                .execute(params![id, state.key, seq, author, at, tool])?;
            let trigrams = self.trigrams.of(&folded);
            self.connection
                .prepare_cached("insert into _trigram (rowid, text) values (?, ?)")?
                .execute(params![id, trigrams])?;
            let words: BTreeSet<&str> = words_of_folded(&folded).collect();
            let words = words.into_iter().collect::<Vec<_>>().join(" ");
            self.statement("insert into _word (rowid, text) values (?, ?)")?.execute(params![id, words])?;
        }
        Ok(())
    }
}
