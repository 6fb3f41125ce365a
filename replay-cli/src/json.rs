//! Answers as JSON: objects indented, lists one item a line, so that long ones stream and `grep` works.

use serde::Serialize;
use std::io::{self, Write};

/// Writes one value, indented.
///
/// # Errors
/// When the output refuses.
pub fn object<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Writes a list as its items come.
pub struct List<'a> {
    out: &'a mut dyn Write,
    count: u64,
}

impl<'a> List<'a> {
    /// Begins a list.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, count: 0 })
    }

    /// Adds an item on a line of its own.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn item<T: Serialize>(&mut self, item: &T) -> io::Result<()> {
        self.out.write_all(if self.count == 0 { b"\n" } else { b",\n" })?;
        self.count += 1;
        serde_json::to_writer(&mut *self.out, item)?;
        Ok(())
    }

    /// Ends the list.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(if self.count == 0 { b"]\n" } else { b"\n]\n" })
    }
}
