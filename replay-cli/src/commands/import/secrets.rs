//! Secrets in imported sessions: replaced or counted.

use crate::command_context::CommandContext;
use crate::error::{CliError, ImportCommandError};
use crate::style::{counted, thousands};
use annals_guard::redaction::{CountingLog, RedactingLog, Redactor};
use annals_import::{ImportReport, ImportSource, SourceForm};
use annals_store::EventLog;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What happens to secrets.
pub enum ImportSecrets {
    /// They are replaced by placeholders.
    Replaced(Arc<RedactingLog>, Arc<Redactor>),
    /// They are imported unchanged and counted.
    Counted(Arc<CountingLog>),
}

impl ImportSecrets {
    /// Replaces or counts what is appended to `log`.
    ///
    /// # Errors
    /// When the configuration cannot be read, or an export of Annals would be redacted.
    pub fn of<'a>(
        redact: bool,
        log: &Arc<dyn EventLog>,
        mut sources: impl Iterator<Item = &'a ImportSource>,
        cli: &CommandContext,
    ) -> Result<Self, CliError> {
        let config = cli.environment.config(&cli.environment.directory);
        if !redact {
            // A broken configuration does not prevent an import.
            let redactor = config.ok().and_then(|config| config.redactor()).unwrap_or_default();
            return Ok(Self::Counted(Arc::new(CountingLog::over(log.clone(), redactor))));
        }
        let redactor = config?.redactor().unwrap_or_default();
        // The digests of its batches cover the text as it is.
        if let Some(own) = sources.find(|source| source.form == SourceForm::Annals) {
            return Err(ImportCommandError::Unredactable { path: own.path.clone() }.into());
        }
        Ok(Self::Replaced(Arc::new(RedactingLog::over(log.clone(), redactor.clone())), redactor))
    }

    /// The log to append to.
    pub fn log(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Replaced(log, _) => log.clone(),
            Self::Counted(log) => log.clone(),
        }
    }

    /// A text of the source as it is printed or reported: redacted if secrets are replaced.
    pub fn shown(&self, text: &str) -> String {
        match self {
            Self::Replaced(_, redactor) => redactor.redact(text).text.into_owned(),
            Self::Counted(_) => text.to_owned(),
        }
    }

    /// Redacts every text of a report that comes from a source, if secrets are replaced.
    pub fn report(&self, report: &mut ImportReport) {
        if matches!(self, Self::Counted(_)) {
            return;
        }
        report.map_texts(&mut |text| self.shown(text));
    }

    /// What was found, in one line; `None` without a secret.
    pub fn remark(&self) -> Option<String> {
        let kinds = |counts: &BTreeMap<String, u64>| {
            let kinds: Vec<String> =
                counts.iter().map(|(kind, count)| format!("{kind} ({})", thousands(*count))).collect();
            kinds.join(", ")
        };
        match self {
            Self::Replaced(log, _) => Some(match log.counts() {
                counts if counts.is_empty() => "no secrets were found".to_owned(),
                counts => format!("secrets were replaced: {}", kinds(&counts)),
            }),
            Self::Counted(log) => {
                let counts = log.counts();
                let style = |count| if count == 1 { "looks like a key" } else { "look like keys" };
                match counts.values().sum() {
                    0 => None,
                    count => Some(format!(
                        "{} {}: {}; --redact replaces them",
                        counted(count, "text"),
                        style(count),
                        kinds(&counts)
                    )),
                }
            }
        }
    }
}
