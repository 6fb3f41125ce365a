//! Opening the journal: read what came after the list of heads, mend each damaged segment with what sled still has,
//! and keep every position dense (DESIGN section 3, Recovery).

use super::files::{Disk, How, write_whole};
use super::frame::{self, Cause, Found, Kind, Void};
use super::identity::StoreId;
use super::journal::Writer;
use super::layout::Layout;
use super::report::{Copy, Remark};
use super::segment::{self, Segment};
use super::sessions::Sessions;
use super::shared::Tuning;
use super::sled_tree::SledTree;
use crate::lineage::Birth;
use crate::log::Position;
use annals_core::codec::{self, Header};
use annals_core::event::SessionEvent;
use annals_core::{Event, Seq, SessionId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the journal told.
#[derive(Debug)]
pub struct Recovered {
    /// Oldest first.
    pub segments: Vec<Arc<Segment>>,
    /// Where the journal goes on; `None`: the next Batch begins a segment.
    pub writer: Option<Writer>,
    /// Every Session.
    pub sessions: Sessions,
    /// What was found.
    pub remarks: Vec<Remark>,
}

/// Reads the journal of a store.
pub struct Recovery<'a> {
    /// The file layer.
    pub disk: &'a dyn Disk,
    /// Where things lie.
    pub layout: &'a Layout,
    /// The store that segments which are written again belong to.
    pub store: StoreId,
    /// Sizes.
    pub tuning: &'a Tuning,
    /// The other copy, if it can be opened.
    pub sled: Option<&'a SledTree>,
    /// The position below which everything was once durable, as far as anything else tells.
    pub evidence: u64,
    /// The Sessions as they stood at the last rotation or shutdown.
    pub sessions: Sessions,
    /// Whether every segment is read, also those whose Batches the list of heads covers.
    pub thorough: bool,
}

/// One segment as it was found.
struct Scanned {
    segment: Arc<Segment>,
    bytes: Vec<u8>,
    /// Whether its header holds, and the directories of a packed one.
    header_holds: bool,
    /// Where each position's frame lies.
    frames: BTreeMap<u64, (Range<usize>, u16)>,
    bad: Vec<(Range<usize>, bool)>,
    /// Where the last frame ends.
    used: usize,
}

impl Recovery<'_> {
    /// Reads what came after the list of heads.
    pub fn run(mut self) -> io::Result<Recovered> {
        let known = self.sessions.next;
        let segments = self.segments()?;
        let covers = |segment: &Arc<Segment>| segment.first <= known;
        let start = segments.iter().rposition(covers).filter(|_| !self.thorough).unwrap_or(0);
        let (mut remarks, mut writer) = (Vec::new(), None);
        for (index, segment) in segments.iter().enumerate().skip(start) {
            let next = segments.get(index + 1);
            let scanned = scan(segment.clone(), next.map_or(u64::MAX, |next| next.first))?;
            let end = match next {
                Some(next) => next.first,
                None => {
                    let last = scanned.frames.last_key_value().map_or(segment.first, |(position, _)| position + 1);
                    last.max(self.evidence)
                }
            };
            writer = self.take(scanned, end, next.is_none(), known, &mut remarks)?;
        }
        let (last, first) = (self.sessions.next, segments.last().map_or(0, |segment| segment.first));
        self.sessions.next = last.max(first).max(if segments.is_empty() { self.evidence } else { 0 });
        Ok(Recovered { segments, writer, sessions: self.sessions, remarks })
    }

    /// The segments there are, oldest first; what an interrupted call left unfinished goes.
    fn segments(&self) -> io::Result<Vec<Arc<Segment>>> {
        let journal = self.layout.journal();
        let mut forms: BTreeMap<u64, bool> = BTreeMap::new();
        for listed in self.disk.list(&journal)? {
            match segment::read_name(&listed.name) {
                // Both forms: packing was interrupted before the plain one went.
                Some((first, packed)) => *forms.entry(first).or_insert(packed) &= packed,
                None if listed.name.ends_with(".new") || listed.name.ends_with(".tmp") => {
                    self.disk.remove(&journal.join(&listed.name))?;
                }
                None => {}
            }
        }
        let open = |(first, packed)| Segment::open(self.disk, &journal, first, packed).map(Arc::new);
        let mut segments = forms.into_iter().map(open).collect::<io::Result<Vec<_>>>()?;
        if segments.is_empty() && self.evidence > 0 {
            // The journal is gone and sled is not: an empty segment stands in, and is mended like a damaged one.
            let path = segment::raw_path(&journal, 0);
            write_whole(self.disk, &path, &[])?;
            segments.push(Arc::new(Segment::open(self.disk, &journal, 0, false)?));
        }
        Ok(segments)
    }

    /// Takes in one segment, mended if need be.
    fn take(
        &mut self,
        scanned: Scanned,
        end: u64,
        last: bool,
        known: u64,
        remarks: &mut Vec<Remark>,
    ) -> io::Result<Option<Writer>> {
        let first = scanned.segment.first;
        let missing: BTreeSet<u64> = (first..end).filter(|position| !scanned.frames.contains_key(position)).collect();
        let header_holds = scanned.header_holds;
        let cut = last.then(|| scanned.bad.last().filter(|(_, followed)| !followed)).flatten().cloned();
        let restored = self.look_in_sled(&missing);
        let torn = torn_positions(&scanned, &missing, &restored, last, self.evidence);
        let mut voids: BTreeMap<u64, Void> = BTreeMap::new();
        for position in first..end {
            let bytes = match scanned.frames.get(&position) {
                Some((range, _)) => scanned.bytes.get(range.clone()).unwrap_or_default(),
                None => restored.get(&position).map(Vec::as_slice).unwrap_or_default(),
            };
            let void = match frame::parse(bytes) {
                Err(_) if torn.contains(&position) => Some(Void { cause: Cause::Torn, whose: None }),
                Err(_) => Some(Void { cause: Cause::Lost, whose: self.guess(&scanned, position) }),
                Ok(frame) if frame.kind == Kind::Void => {
                    self.mark(&Void::decode(frame.payload));
                    None
                }
                Ok(frame) if position >= known => self.apply(frame, &torn, remarks),
                Ok(_) => None,
            };
            if let Some(void) = void {
                self.mark(&void);
                voids.insert(position, void);
            }
            self.sessions.next = self.sessions.next.max(position + 1);
        }
        let untouched = voids.is_empty() && restored.is_empty() && cut.is_none() && header_holds;
        if untouched {
            let room = scanned.segment.file().len()?;
            let resumes = last && !scanned.segment.is_packed();
            return Ok(resumes.then(|| Writer::resume(scanned.segment, scanned.used as u64, room)));
        }
        let set_aside = self.set_aside(&scanned)?;
        self.tell(&scanned, &restored, &voids, &set_aside, header_holds, cut, remarks);
        let used = self.rewrite(&scanned, &restored, &voids, first..end)?;
        let room = scanned.segment.file().len()?;
        Ok(last.then(|| Writer::resume(scanned.segment, used, room)))
    }

    /// Takes in a frame's Batch. Gives what must stand there instead when it hangs on a Batch that was cut off.
    fn apply(&mut self, frame: frame::Frame<'_>, torn: &BTreeSet<u64>, remarks: &mut Vec<Remark>) -> Option<Void> {
        let Ok(header) = codec::decode_header(frame.payload) else {
            return Some(Void { cause: Cause::Lost, whose: None });
        };
        let own = self.sessions.own.get(&header.session);
        let begins = own.is_none().then(|| birth(frame.payload, &header)).flatten();
        let continues = match own {
            Some(own) => header.first == own.head.next && header.prev == Some(own.head.digest),
            None => begins.is_some(),
        };
        if !continues && !torn.is_empty() {
            return Some(Void { cause: Cause::Torn, whose: None });
        }
        if own.is_some_and(|own| header.first < own.head.next || (header.first == own.head.next && !continues)) {
            let (session, seq, position) = (header.session, header.first, Position(frame.position));
            remarks.push(Remark::Unchained { session, seq, position });
            return Some(Void { cause: Cause::Lost, whose: None });
        }
        // What lies before it in its Session may be lost: reading tells where.
        let birth = begins.unwrap_or(Birth { first: Seq::ZERO, parent: None });
        self.sessions.take(&header, frame.position, || birth);
        None
    }

    fn mark(&mut self, void: &Void) {
        if let (Cause::Lost, Some((session, first))) = (void.cause, void.whose)
            && let Some(own) = self.sessions.own.get_mut(&session)
            && own.head.next == first
        {
            own.lost = true;
        }
    }

    /// Whose Batch a damaged place held, if enough of it is left to tell and it fits where that Session ends.
    fn guess(&self, scanned: &Scanned, position: u64) -> Option<(SessionId, Seq)> {
        let before = position.checked_sub(1).and_then(|before| scanned.frames.get(&before));
        let at = before.map_or(segment::HEADER, |(range, _)| range.end);
        let header = codec::decode_header(scanned.bytes.get(at + frame::HEADER..)?).ok()?;
        let own = self.sessions.own.get(&header.session)?;
        (own.head.next == header.first).then_some((header.session, header.first))
    }

    /// What sled has of the missing positions.
    fn look_in_sled(&self, missing: &BTreeSet<u64>) -> BTreeMap<u64, Vec<u8>> {
        let Some(sled) = self.sled.filter(|_| !missing.is_empty()) else { return BTreeMap::new() };
        let (found, broken) = sled.at_positions(missing);
        if let Some(error) = broken {
            tracing::warn!(%error, "sled could not be read to its end");
        }
        found
    }

    fn set_aside(&self, scanned: &Scanned) -> io::Result<PathBuf> {
        let folder = self.layout.damaged();
        self.disk.create_dir(&folder)?;
        let path = free_name(self.disk, &folder, &format!("{:020}.seg", scanned.segment.first))?;
        let used = scanned.bad.last().map_or(scanned.used, |(range, _)| scanned.used.max(range.end));
        write_whole(self.disk, &path, scanned.bytes.get(..used).unwrap_or(&scanned.bytes))?;
        self.disk.sync_dir(&self.layout.dir)?;
        Ok(path)
    }

    #[allow(clippy::too_many_arguments, reason = "one sentence is made of all of it")]
    fn tell(
        &self,
        scanned: &Scanned,
        restored: &BTreeMap<u64, Vec<u8>>,
        voids: &BTreeMap<u64, Void>,
        set_aside: &Path,
        header_holds: bool,
        cut: Option<(Range<usize>, bool)>,
        remarks: &mut Vec<Remark>,
    ) {
        let segment = scanned.segment.path();
        if !header_holds {
            remarks.push(Remark::Header { segment: segment.clone() });
        }
        let only_torn = restored.is_empty() && voids.values().all(|void| void.cause == Cause::Torn);
        for (range, followed) in &scanned.bad {
            let (segment, set_aside, from) = (segment.clone(), set_aside.to_owned(), range.start as u64);
            remarks.push(if only_torn && (*followed || cut.is_some()) {
                Remark::Torn { segment, at: from, bytes: range.len() as u64, set_aside }
            } else {
                Remark::Damaged { segment, from, to: range.end as u64, set_aside }
            });
        }
        for frame in restored.values() {
            if let Some(stored) = super::reading::decode(frame) {
                let (session, seq) = (stored.batch.session, stored.batch.first);
                remarks.push(Remark::Mended { session, seq, damaged: Copy::Journal });
            }
        }
        for (position, void) in voids.iter().filter(|(_, void)| void.cause == Cause::Lost) {
            remarks.push(Remark::Lost { position: Position(*position), whose: void.whose });
        }
    }

    /// Writes a segment again: every frame that was found, what sled had, and a word where nothing is left.
    fn rewrite(
        &self,
        scanned: &Scanned,
        restored: &BTreeMap<u64, Vec<u8>>,
        voids: &BTreeMap<u64, Void>,
        positions: Range<u64>,
    ) -> io::Result<u64> {
        let first = scanned.segment.first;
        let mut out = segment::header(first, self.store).to_vec();
        for position in positions {
            if let Some(void) = voids.get(&position) {
                frame::write(&mut out, Kind::Void, 0, position, &void.encode());
            } else if let Some((range, _)) = scanned.frames.get(&position) {
                out.extend_from_slice(scanned.bytes.get(range.clone()).unwrap_or_default());
            } else if let Some(frame) = restored.get(&position) {
                out.extend_from_slice(frame);
            }
        }
        let journal = self.layout.journal();
        let path = segment::raw_path(&journal, first);
        let beside = path.with_extension("new");
        let file = self.disk.open(&beside, How::Create)?;
        file.allocate(self.tuning.segment_bytes.max(out.len() as u64))?;
        file.write_at(&out, 0)?;
        file.sync_data()?;
        self.disk.rename(&beside, &path)?;
        self.disk.sync_dir(&journal)?;
        if scanned.segment.is_packed() {
            self.disk.remove(&segment::packed_path(&journal, first))?;
            self.disk.sync_dir(&journal)?;
        }
        scanned.segment.replace(false, path, file, None);
        Ok(out.len() as u64)
    }
}

fn scan(segment: Arc<Segment>, end: u64) -> io::Result<Scanned> {
    let (bytes, header_holds) = segment.load_checked()?;
    let (mut frames, mut bad, mut used) = (BTreeMap::new(), Vec::new(), segment::HEADER);
    for found in frame::scan(&bytes, segment::HEADER) {
        match found {
            Found::Frame(at, frame) if frame.position >= segment.first && frame.position < end => {
                let range = at..at + frame.bytes.len();
                used = range.end;
                frames.entry(frame.position).or_insert((range, frame.in_group));
            }
            // Left over from a write that failed and was superseded by the next segment.
            Found::Frame(..) => {}
            Found::Bad { from, to, followed } => bad.push((from..to, followed)),
        }
    }
    Ok(Scanned { segment, bytes, header_holds, frames, bad, used })
}

/// The missing positions that were never acknowledged: those of the very last group, when nothing tells of it.
fn torn_positions(
    scanned: &Scanned,
    missing: &BTreeSet<u64>,
    restored: &BTreeMap<u64, Vec<u8>>,
    last: bool,
    evidence: u64,
) -> BTreeSet<u64> {
    let Some((position, (_, in_group))) = scanned.frames.last_key_value().filter(|_| last) else {
        return BTreeSet::new();
    };
    let group = position.saturating_sub(u64::from(*in_group));
    let acknowledged = evidence > group || restored.range(group..).next().is_some();
    let of_the_group = missing.range(group..).filter(|_| !acknowledged);
    of_the_group.copied().collect()
}

/// How a Session begins that is seen for the first time; `None` when its first Batch is not this one.
fn birth(payload: &[u8], header: &Header) -> Option<Birth> {
    let batch = codec::decode(payload).ok()?;
    let first = matches!(
        batch.events.first(),
        Some(Event::Session(SessionEvent::Forked(_)) | Event::Session(SessionEvent::Created(_)))
    );
    (first && (header.prev.is_none() || header.first > Seq::ZERO)).then(|| Birth::of(&batch))
}

/// A name in `folder` that nothing has yet.
pub(super) fn free_name(disk: &dyn Disk, folder: &Path, name: &str) -> io::Result<PathBuf> {
    let taken: BTreeSet<String> = disk.list(folder)?.into_iter().map(|listed| listed.name).collect();
    let mut free = name.to_owned();
    let mut number = 0;
    while taken.contains(&free) {
        number += 1;
        free = format!("{name}.{number}");
    }
    Ok(folder.join(free))
}
