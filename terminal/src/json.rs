//! Answers as JSON: objects indented, lists one item a line, so that long ones stream and `grep` works.

use serde::Serialize;
use std::io::{self, Write};

/// Writes one value, indented.
pub fn object<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Writes a whole list, one item a line, members sorted by name.
pub fn list<T: Serialize>(out: &mut dyn Write, items: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut list = List::begin(out)?;
    for item in items {
        list.item(&serde_json::to_value(item)?)?;
    }
    list.end()
}

/// Writes a list as its items come.
pub struct List<'a> {
    out: &'a mut dyn Write,
    count: u64,
}

impl<'a> List<'a> {
    /// Begins a list.
    pub fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, count: 0 })
    }

    /// Adds an item on a line of its own.
    pub fn item<T: Serialize>(&mut self, item: &T) -> io::Result<()> {
        self.out.write_all(if self.count == 0 { b"\n" } else { b",\n" })?;
        self.count += 1;
        serde_json::to_writer(&mut *self.out, item)?;
        Ok(())
    }

    /// Ends the list.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(if self.count == 0 { b"]\n" } else { b"\n]\n" })
    }
}
