//! Keeps what a provider answers.

use super::folder::CassetteFolder;
use super::line::{Arrived, CassetteHead, FORMAT, PartText, parts};
use super::{CassetteError, CassetteKey};
use crate::provider::{AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest};
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Replaces the secrets in a text.
pub type ScrubFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Passes requests on to a provider and keeps every answer in a folder, as it was.
///
/// An answer is recorded before its last event is passed on; if that fails, an error takes the place of that event, since a
/// recording with a gap is useless. An answer whose receiver stopped early is not recorded.
pub struct CassetteRecorder<P> {
    provider: P,
    folder: CassetteFolder,
    scrub: Option<ScrubFn>,
    takes: Mutex<BTreeMap<CassetteKey, u32>>,
}

impl<P: Provider> CassetteRecorder<P> {
    /// A recorder into a folder, which is made when the first answer is kept. What it holds of the same requests is
    /// replaced.
    pub fn new(provider: P, folder: impl Into<PathBuf>) -> Self {
        Self { provider, folder: CassetteFolder::at(folder), scrub: None, takes: Mutex::default() }
    }

    /// The same; what a provider says when it fails is kept without secrets, as the log keeps it.
    #[must_use]
    pub fn redacting(self, scrub: Option<ScrubFn>) -> Self {
        Self { scrub, ..self }
    }

    fn take(&self, asked: CassetteKey) -> u32 {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        let take = takes.entry(asked).or_default();
        *take += 1;
        *take
    }
}

impl<P: Provider> Provider for CassetteRecorder<P> {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let (asked, parts) = parts(&request);
        let head = CassetteHead {
            cassette: FORMAT,
            request: asked.request,
            attempt: asked.attempt,
            take: self.take(asked),
            purpose: request.request.purpose,
            agent: request.request.agent.clone(),
            model: request.request.model.model.clone(),
            parts: parts.iter().map(|text| text.part.clone()).collect(),
        };
        let recording = OpenRecording { folder: self.folder.clone(), head, parts, arrived: Vec::new() };
        let scrub = self.scrub.clone();
        let answer: AnswerStream = self
            .provider
            .send(request)
            .map(move |arrived| arrived.map_err(|error| redacted(scrub.as_ref(), error)))
            .boxed();
        stream::unfold(Some((answer, recording)), |state| async move {
            let (mut answer, mut recording) = state?;
            let next = answer.next().await;
            let last = matches!(next, None | Some(Err(_) | Ok(ProviderEvent::Finished(_))));
            recording.arrived.extend(next.clone());
            if !last {
                return next.map(|arrived| (arrived, Some((answer, recording))));
            }
            match recording.keep().await {
                Ok(()) => next.map(|arrived| (arrived, None)),
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }
}

fn redacted(scrub: Option<&ScrubFn>, error: ProviderError) -> ProviderError {
    let Some(scrub) = scrub else { return error };
    ProviderError { message: scrub(&error.message), ..error }
}

/// What arrived so far.
struct OpenRecording {
    folder: CassetteFolder,
    head: CassetteHead,
    parts: Vec<PartText>,
    arrived: Vec<Arrived>,
}

impl OpenRecording {
    async fn keep(self) -> Result<(), ProviderError> {
        let written = move || self.folder.write(&self.head, &self.parts, &self.arrived);
        match tokio::task::spawn_blocking(written).await {
            Ok(written) => written.map_err(|error| not_played(&error)),
            Err(error) => Err(failed(format!("the answer could not be recorded: {error}"))),
        }
    }
}

/// A cassette's error as a provider's: nothing is gained by another attempt.
pub(super) fn not_played(error: &CassetteError) -> ProviderError {
    failed(error.to_string())
}

pub(super) fn failed(message: String) -> ProviderError {
    ProviderError { kind: ProviderErrorKind::InvalidRequest, status: None, retry_after_ms: None, message }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        (**self).send(request)
    }
}
