//! Ports that redact secrets: every append, every output file and every provider error of a runtime passes through
//! these.

use crate::Boxed;
use crate::ports::{AnswerStream, OutputFiles, Provider, ProviderError, ProviderRequest};
use crate::settings::Ports;
use annals_core::{BlobHash, Time};
use annals_guard::redaction::{Redactor, redact_events};
use annals_store::{AppendError, Appended, Committed, Draft, EventLog, LogLayer};
use futures_util::StreamExt;
use std::io;
use std::sync::Arc;

/// The same ports, guarded.
pub(crate) fn guarded(ports: Ports, redactor: &Arc<Redactor>) -> Ports {
    Ports {
        log: GuardedLog::layer_on(ports.log, redactor.clone()),
        provider: Arc::new(GuardedProvider { provider: ports.provider, redactor: redactor.clone() }),
        outputs: Arc::new(GuardedOutputs { files: ports.outputs, redactor: redactor.clone() }),
        ..ports
    }
}

/// Redacts every event before it is appended.
pub(crate) struct GuardedLog {
    log: Arc<dyn EventLog>,
    redactor: Arc<Redactor>,
}

impl GuardedLog {
    pub(crate) fn layer_on(log: Arc<dyn EventLog>, redactor: Arc<Redactor>) -> Arc<dyn EventLog> {
        Arc::new(Self { log, redactor })
    }
}

impl LogLayer for GuardedLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn append(&self, mut draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        redact_events(&self.redactor, &mut draft.events);
        self.log.append(draft)
    }

    fn append_all(&self, mut drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        drafts.iter_mut().for_each(|draft| redact_events(&self.redactor, &mut draft.events));
        self.log.append_all(drafts)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        let text = self.redactor.redact(&text).text.into_owned();
        self.log.put_blob(text)
    }
}

struct GuardedProvider {
    provider: Arc<dyn Provider>,
    redactor: Arc<Redactor>,
}

impl Provider for GuardedProvider {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let redactor = self.redactor.clone();
        let answer = self.provider.send(request);
        Box::pin(answer.map(move |event| {
            event.map_err(|error| {
                let message = redactor.redact(&error.message).text.into_owned();
                ProviderError { message, ..error }
            })
        }))
    }
}

struct GuardedOutputs {
    files: Arc<dyn OutputFiles>,
    redactor: Arc<Redactor>,
}

impl OutputFiles for GuardedOutputs {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> Boxed<'a, io::Result<String>> {
        let text = self.redactor.redact(text).text;
        Box::pin(async move { self.files.keep(name, &text).await })
    }

    fn sweep(&self, before: Time) -> Boxed<'_, io::Result<usize>> {
        self.files.sweep(before)
    }
}
