//! `annals verify FILE --reveal FILE2`

use crate::draw::verify::revealed;
use crate::error::CliError;
use annals_import::TextFile;
use annals_inspect::verified::ComparedText;
use annals_store::exchange::{RevealOutcome, RevealedText, compare_revealed};
use annals_terminal::Terminal;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// Texts that were given later, compared with what an export withholds.
#[derive(Default)]
pub(super) struct RevealCheck {
    texts: Vec<(RevealedText, RevealOutcome)>,
    /// Whether the export is damaged, so that nothing was compared.
    damaged: bool,
}

impl RevealCheck {
    pub fn compare(export: &Path, texts: &Path, sound: bool) -> Result<Self, CliError> {
        if !sound {
            return Ok(Self { texts: Vec::new(), damaged: true });
        }
        let in_texts = |source| CliError::File { path: texts.to_owned(), source };
        let mut revealed = Vec::new();
        for line in BufReader::new(File::open(texts).map_err(in_texts)?).lines() {
            let line = line.map_err(in_texts)?;
            let read: Result<RevealedText, _> = serde_json::from_str(&line);
            revealed.push(read.map_err(|error| in_texts(io::Error::new(io::ErrorKind::InvalidData, error)))?);
        }
        if revealed.is_empty() {
            return Err(in_texts(io::Error::new(io::ErrorKind::InvalidData, "no text in it")));
        }
        let in_export = |source| CliError::File { path: export.to_owned(), source };
        let mut file = TextFile::open_export(export).map_err(in_export)?;
        let outcomes = compare_revealed(&mut file, &revealed).map_err(in_export)?;
        Ok(Self { texts: revealed.into_iter().zip(outcomes).collect(), damaged: false })
    }

    pub fn are_proved(&self) -> bool {
        !self.damaged && self.texts.iter().all(|(_, outcome)| *outcome == RevealOutcome::Proved)
    }

    pub fn answer(&self) -> Vec<ComparedText> {
        self.texts.iter().map(|(text, outcome)| ComparedText::new(text, *outcome)).collect()
    }

    pub fn draw(&self, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        revealed((!self.damaged).then_some(&self.texts), terminal, out)
    }
}
