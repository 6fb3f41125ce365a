//! Secrets in what is imported: replaced, or counted.

use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::style::{counted, thousands};
use annals_core::{Seq, SessionId};
use annals_import::{ImportOutcome, ImportReport, ImportSource, SourceForm};
use annals_runtime::redaction::{RedactingLog, Redactor};
use annals_store::{AppendError, Appended, Boxed, Committed, Draft, EventLog, LogLayer};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of secrets.
pub enum Secrets {
    /// They are replaced.
    Replaced(Arc<RedactingLog>, Arc<Redactor>),
    /// They are imported as they are, and counted.
    Counted(Arc<CountingLog>),
}

impl Secrets {
    /// Replaces or counts what is appended to `log`.
    ///
    /// # Errors
    /// When the configuration cannot be read, or an export of ours is to be redacted.
    pub fn of(
        redact: bool,
        log: &Arc<dyn EventLog>,
        sources: &[ImportSource],
        cli: &CommandContext,
    ) -> Result<Self, CliError> {
        let config = cli.environment.config(&cli.environment.directory);
        if !redact {
            // A broken configuration keeps nobody from importing.
            let redactor = config.ok().and_then(|config| config.redactor()).unwrap_or_default();
            return Ok(Self::Counted(Arc::new(CountingLog::over(log.clone(), redactor))));
        }
        let redactor = config?.redactor().unwrap_or_default();
        // Its Batches prove each other as they are.
        if let Some(own) = sources.iter().find(|source| source.form == SourceForm::Annals) {
            return Err(CliError::Unredactable { path: own.path.clone() });
        }
        Ok(Self::Replaced(Arc::new(RedactingLog::over(log.clone(), redactor.clone())), redactor))
    }

    /// Where to append.
    pub fn log(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Replaced(log, _) => log.clone(),
            Self::Counted(log) => log.clone(),
        }
    }

    /// A text that is shown or reported, without secrets if they are replaced.
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
        for session in &mut report.sessions {
            session.title = session.title.as_deref().map(|title| self.shown(title));
            if let ImportOutcome::Failed { reason, .. } = &mut session.outcome {
                *reason = self.shown(reason);
            }
            for losses in [&mut session.losses, &mut session.damage] {
                let before = std::mem::take(losses);
                *losses = before.into_iter().map(|(what, loss)| (self.shown(&what), loss)).collect();
            }
        }
        let damage = std::mem::take(&mut report.damage);
        report.damage = damage.into_iter().map(|((path, what), loss)| ((path, self.shown(&what)), loss)).collect();
    }

    /// What was found, in one line; `None` when there is nothing to say.
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
                let counts = log.counter.counts();
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

/// A log that counts the secrets in what is newly appended, and appends it unchanged.
pub struct CountingLog {
    log: Arc<dyn EventLog>,
    /// Redacts copies that are appended nowhere.
    counter: RedactingLog,
    /// Where each session ended when it was first appended to: what is before that is known.
    ends: Mutex<HashMap<SessionId, Seq>>,
}

impl CountingLog {
    fn over(log: Arc<dyn EventLog>, redactor: Arc<Redactor>) -> Self {
        let nowhere: Arc<dyn EventLog> = Arc::new(Nowhere(log.clone()));
        Self { log, counter: RedactingLog::over(nowhere, redactor), ends: Mutex::default() }
    }

    /// Whether the log did not hold it when this began. A session that cannot be read counts as new; appending to it fails.
    async fn is_new(&self, draft: &Draft) -> bool {
        let ends = || self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ends().get(&draft.session).copied();
        let end = match known {
            Some(end) => end,
            None => {
                let end = self.log.head(draft.session).await.ok().flatten().map_or(Seq::ZERO, |head| head.next);
                *ends().entry(draft.session).or_insert(end)
            }
        };
        draft.expected >= end
    }
}

impl LogLayer for CountingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            let new = if self.is_new(&draft).await { vec![draft.clone()] } else { Vec::new() };
            let committed = self.log.append(draft).await?;
            LogLayer::append_all(&self.counter, new).await;
            Ok(committed)
        })
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async move {
            let mut new = Vec::new();
            for (at, draft) in drafts.iter().enumerate() {
                if self.is_new(draft).await {
                    new.push((at, draft.clone()));
                }
            }
            let appended = self.log.append_all(drafts).await;
            new.retain(|(at, _)| *at < appended.committed.len());
            LogLayer::append_all(&self.counter, new.into_iter().map(|(_, draft)| draft).collect()).await;
            appended
        })
    }
}

/// A log that keeps nothing.
struct Nowhere(Arc<dyn EventLog>);

impl LogLayer for Nowhere {
    fn inner(&self) -> &dyn EventLog {
        &*self.0
    }

    fn append(&self, _: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async { Err(AppendError::Unknown) })
    }

    fn append_all(&self, _: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async { Appended { committed: Vec::new(), refused: None } })
    }
}
