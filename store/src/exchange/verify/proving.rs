//! The digests of the batches of a file: proved with the keys of the header and the blobs before them.

use super::flaw::Flaw;
use crate::exchange::line::{HeaderKeys, Line, digest_of};
use annals_core::exported::Unprovable;
use annals_core::{Batch, BlobHash, Digest, SessionKey};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of blobs are kept in memory; those behind go to a temporary file without a name.
const IN_MEMORY: usize = 32 << 20;

/// What proving a line gave.
#[derive(Clone, Debug, Default)]
pub(super) struct ComputedDigest {
    /// The digest of a batch; `None` where it cannot be proved, or the line is not a batch.
    pub digest: Option<Digest>,
    /// What is wrong with the key.
    pub flaw: Option<Flaw>,
}

/// What the header and the lines before gave.
#[derive(Debug, Default)]
pub(super) struct ProvingContext {
    /// The keys of the header.
    keys: HeaderKeys,
    has_header: bool,
    blobs: BlobTexts,
}

/// What the digest of one line is proved with.
#[derive(Debug, Default)]
pub(super) struct DigestInputs {
    key: Option<SessionKey>,
    texts: BTreeMap<BlobHash, String>,
    found: ComputedDigest,
    /// Whether a missing key is reported.
    reports_keys: bool,
}

impl ProvingContext {
    /// Takes a line in; gives what proves it. The text of a blob line is taken out of it.
    pub fn take(&mut self, line: &mut Result<Line, Flaw>) -> io::Result<DigestInputs> {
        let mut job = DigestInputs::default();
        match line {
            Ok(Line::Header(header)) => {
                let keys = HeaderKeys::new(header.keys.clone().unwrap_or_default());
                *self = Self { keys, has_header: true, ..Self::default() };
            }
            Ok(Line::Blob { line, found, .. }) => {
                let text = std::mem::take(&mut line.text);
                if line.blob == *found {
                    self.blobs.put(*found, text)?;
                }
            }
            Ok(Line::Batch { batch, texts }) => {
                job.reports_keys = self.has_header;
                job.key = self.keys.take(batch);
                for blob in texts.blobs.iter().map(|named| named.blob).collect::<BTreeSet<_>>() {
                    job.texts.extend(self.blobs.get(&blob)?.map(|text| (blob, text.to_string())));
                }
            }
            Ok(Line::Opaque { envelope, .. }) => {
                self.keys.take_opaque(envelope.session);
            }
            Err(_) => {}
        }
        Ok(job)
    }
}

/// Computes the digests of lines on every core, in order.
pub(super) fn digests(lines: &[Result<Line, Flaw>], jobs: &[DigestInputs]) -> Vec<ComputedDigest> {
    let prove = |(line, job): (&Result<Line, Flaw>, &DigestInputs)| match line {
        Ok(Line::Batch { batch, .. }) => job.prove(batch),
        _ => ComputedDigest::default(),
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores == 1 || lines.len() < 2 * cores {
        return lines.iter().zip(jobs).map(prove).collect();
    }
    let share = lines.len().div_ceil(cores);
    std::thread::scope(|scope| {
        let workers: Vec<_> = lines
            .chunks(share)
            .zip(jobs.chunks(share))
            .map(|(lines, jobs)| {
                let work = move || lines.iter().zip(jobs).map(prove).collect::<Vec<_>>();
                (lines.len(), scope.spawn(work))
            })
            .collect();
        let lost = || {
            let reason = "checking this line failed inside the program".into();
            ComputedDigest { digest: None, flaw: Some(Flaw::Unreadable { reason }) }
        };
        let joined = workers
            .into_iter()
            .map(|(count, worker)| worker.join().unwrap_or_else(|_| (0..count).map(|_| lost()).collect()));
        joined.flatten().collect()
    })
}

impl DigestInputs {
    fn prove(&self, batch: &Batch) -> ComputedDigest {
        let digest = digest_of(batch, self.key.as_ref(), &self.texts);
        let mut found = ComputedDigest { digest: digest.as_ref().ok().copied(), ..self.found.clone() };
        if self.reports_keys && digest == Err(Unprovable::Key) {
            let reason =
                "a text is neither withheld nor has it a key of its own, and the header does not give the session's"
                    .into();
            found.flaw = Some(Flaw::Key { reason });
        }
        found
    }
}

/// The texts of blobs, by hash.
#[derive(Debug, Default)]
struct BlobTexts {
    held: BTreeMap<BlobHash, StoredText>,
    bytes: usize,
    file: Option<File>,
    written: u64,
}

#[derive(Debug)]
enum StoredText {
    Memory(Arc<str>),
    File { at: u64, length: usize },
}

impl BlobTexts {
    fn put(&mut self, hash: BlobHash, text: String) -> io::Result<()> {
        if self.held.contains_key(&hash) {
            return Ok(());
        }
        let held = if self.bytes + text.len() <= IN_MEMORY {
            self.bytes += text.len();
            StoredText::Memory(text.into())
        } else {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(nameless()?),
            };
            file.write_all_at(text.as_bytes(), self.written)?;
            let held = StoredText::File { at: self.written, length: text.len() };
            self.written += text.len() as u64;
            held
        };
        self.held.insert(hash, held);
        Ok(())
    }

    fn get(&self, hash: &BlobHash) -> io::Result<Option<Arc<str>>> {
        match (self.held.get(hash), &self.file) {
            (Some(StoredText::Memory(text)), _) => Ok(Some(text.clone())),
            (Some(StoredText::File { at, length }), Some(file)) => {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *at)?;
                Ok(Some(String::from_utf8(bytes).map_err(io::Error::other)?.into()))
            }
            _ => Ok(None),
        }
    }
}

/// A temporary file that is gone when it is closed, for this user alone.
fn nameless() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("annals-verify-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{BlobTexts, IN_MEMORY};
    use annals_core::Digest;

    #[test]
    fn texts_beyond_what_fits_in_memory_are_read_back() {
        let mut texts = BlobTexts::default();
        let blobs: Vec<String> = (0..5).map(|n| n.to_string().repeat(IN_MEMORY / 3)).collect();
        for text in &blobs {
            texts.put(Digest::of(text.as_bytes()), text.clone()).unwrap();
        }
        assert!(texts.file.is_some() && texts.bytes <= IN_MEMORY);
        for text in &blobs {
            assert!(texts.get(&Digest::of(text.as_bytes())).unwrap().as_deref() == Some(text));
        }
        assert_eq!(texts.get(&Digest::of(b"another")).unwrap(), None);
    }
}
