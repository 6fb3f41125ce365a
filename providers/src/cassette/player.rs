//! Answers from a folder.

use super::folder::CassetteFolder;
use super::line::{Arrived, PartText, parts};
use super::nearest::nearest;
use super::recorder::{failed, not_played};
use super::{CassetteError, CassetteKey};
use crate::provider::{AnswerStream, Provider, ProviderRequest};
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers what was recorded, without a network. A request that was answered several times is answered in that order,
/// and with the last of these answers from then on.
///
/// A request that was not recorded fails with [`CassetteError::Missing`], which names the nearest recorded one and where
/// the two part.
pub struct CassettePlayer {
    folder: CassetteFolder,
    /// The take that was played last.
    takes: Arc<Mutex<BTreeMap<CassetteKey, u32>>>,
}

impl CassettePlayer {
    /// Plays what a folder holds.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let folder = CassetteFolder::at(folder);
        if !folder.path().is_dir() {
            return Err(CassetteError::NoFolder(folder.path().to_path_buf()));
        }
        Ok(Self { folder, takes: Arc::default() })
    }
}

impl Provider for CassettePlayer {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let (folder, takes) = (self.folder.clone(), self.takes.clone());
        let played = move || {
            let (asked, parts) = parts(&request);
            play(&folder, &takes, asked, &parts)
        };
        let answer = async move {
            match tokio::task::spawn_blocking(played).await {
                Ok(Ok(arrived)) => arrived,
                Ok(Err(error)) => vec![Err(not_played(&error))],
                Err(error) => vec![Err(failed(format!("the cassette could not be played: {error}")))],
            }
        };
        stream::once(answer).flat_map(stream::iter).boxed()
    }
}

fn play(
    folder: &CassetteFolder,
    takes: &Mutex<BTreeMap<CassetteKey, u32>>,
    asked: CassetteKey,
    parts: &[PartText],
) -> Result<Vec<Arrived>, CassetteError> {
    // Held while reading: of two who ask the same at once, each gets another take.
    let mut takes = takes.lock().unwrap_or_else(PoisonError::into_inner);
    let played = takes.get(&asked).copied().unwrap_or(0);
    if let Some(arrived) = folder.read(asked, played + 1)? {
        takes.insert(asked, played + 1);
        return Ok(arrived);
    }
    if let Some(arrived) = folder.read(asked, played.max(1))? {
        return Ok(arrived);
    }
    drop(takes);
    let nearest = nearest(folder, asked, parts)?;
    Err(CassetteError::Missing { folder: folder.path().to_path_buf(), asked, nearest })
}
