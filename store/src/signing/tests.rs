//! Signing a log in memory: what is signed, proved, witnessed, and what is found when it was altered.

use super::checkpoint::{SignedCheckpoint, TreeHead, origin_of};
use super::continuity::{AdvanceError, DiscontinuityReason, advance, discontinuity_of};
use super::heads::{HeadList, SignedHead};
use super::key::{NoteKey, NoteKeyKind, VerifierKey};
use super::note::SignedNote;
use super::proof::{InclusionProof, ProveError, prove};
use super::signers::AllowedSigners;
use super::tree::root_of;
use super::witness::{WitnessRefusal, WitnessRequest};
use crate::conformance::material::{draft, fork, session, story, synthetic, two};
use crate::log::EventLog;
use crate::memory::MemoryLog;
use crate::store_id::StoreId;
use annals_core::{Seq, SessionId};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// A log, and what was signed of it.
struct SignedLog {
    log: MemoryLog,
    heads: HeadList,
    salts: u8,
}

impl SignedLog {
    /// Sessions 1 (7 events), 2 (1 event) and 3, a fork of 1 inside its second batch.
    async fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let log = MemoryLog::new();
        story(&log, session(1), 3).await?;
        story(&log, session(2), 0).await?;
        fork(&log, session(1), Seq(2), session(3)).await?;
        Ok(Self { log, heads: HeadList::default(), salts: 0 })
    }

    async fn sign(&mut self) -> Result<SignedCheckpoint, AdvanceError> {
        let sessions = self.log.sessions().all().await?;
        let salts = &mut self.salts;
        let mut random = || {
            *salts += 1;
            Ok([*salts; 32])
        };
        advance(&mut self.heads, &self.log, &sessions, &mut random).await?;
        Ok(signed(&self.heads))
    }

    async fn breaks(&self, id: SessionId) -> Result<Option<DiscontinuityReason>, Box<dyn std::error::Error>> {
        let heads: Vec<&SignedHead> = self.heads.heads().iter().filter(|head| head.session == id).collect();
        Ok(discontinuity_of(&self.log, id, &heads).await?.map(|broken| broken.reason))
    }
}

fn key() -> NoteKey {
    NoteKey::new("example.com/k", NoteKeyKind::Note, [9; 32]).expect("a name without spaces")
}

fn signed(heads: &HeadList) -> SignedCheckpoint {
    let hashes = heads.hashes();
    let head = TreeHead { origin: origin_of(StoreId([1; 16])), size: hashes.len() as u64, root: root_of(&hashes) };
    let text = head.to_string();
    let signatures = vec![key().sign(&text, 0)];
    SignedCheckpoint { head, note: SignedNote { text, signatures } }
}

#[tokio::test]
async fn a_head_is_signed_for_each_session_that_has_grown() -> Tested {
    let mut signed = SignedLog::new().await?;
    let first = signed.sign().await?;
    assert_eq!(first.head.origin, "annals/store/01010101010101010101010101010101");
    let seqs = |heads: &HeadList| heads.heads().iter().map(|head| (head.session, head.seq.0)).collect::<Vec<_>>();
    let before = [(session(1), 6), (session(2), 0), (session(3), 2)];
    assert_eq!(seqs(&signed.heads), before);
    assert_eq!(signed.sign().await?, first, "nothing is new");
    two(&signed.log, session(2), Seq(1)).await?;
    assert_eq!(signed.sign().await?.head.size, 4);
    assert_eq!(seqs(&signed.heads), [&before[..], &[(session(2), 2)]].concat());
    let newest = signed.heads.latest(session(2)).ok_or("a head")?;
    assert_eq!((newest.0, newest.1.batches.size()), (3, 2));
    // What is appended to the tree of a session equals the tree over all its batches.
    for id in [1, 2, 3] {
        assert_eq!(signed.breaks(session(id)).await?, None);
    }
    // The file of heads says all of it.
    let text = signed.heads.to_string();
    assert_eq!(HeadList::parse(&text, 4)?.heads(), signed.heads.heads());
    assert_eq!(HeadList::parse(&text, 3)?.hashes()[..], signed.heads.hashes()[..3], "what is behind was not signed");
    assert_eq!(HeadList::parse(&text, 5).err().map(|error| error.line), Some(5));
    Ok(())
}

#[tokio::test]
async fn a_session_that_was_rewritten_shortened_or_removed_is_found_and_not_signed() -> Tested {
    let mut signed = SignedLog::new().await?;
    signed.sign().await?;
    for (number, batches, expected) in [(1, 0, "Shorter"), (1, 2, "Shorter"), (1, 3, "Digest"), (9, 0, "Missing")] {
        // Other texts, the same numbers of events.
        let other = MemoryLog::new();
        let id = session(number);
        if number != 9 {
            let first = synthetic("another beginning");
            other.append(draft(id, Seq(0), vec![crate::conformance::material::created()])).await?;
            for batch in 0..batches {
                let at = Seq(1 + 2 * batch);
                other.append(draft(id, at, vec![first.clone(), synthetic("other")])).await?;
            }
        }
        let subject = if number == 9 { session(1) } else { id };
        let heads: Vec<&SignedHead> = signed.heads.heads().iter().filter(|head| head.session == subject).collect();
        let broken = discontinuity_of(&other, subject, &heads).await?.ok_or("it was not found")?;
        assert_eq!(broken.session, subject);
        assert!(format!("{:?}", broken.reason).starts_with(expected), "{broken}");
        assert!(broken.to_string().starts_with(&format!("session {subject} does not continue what was signed: ")));
        let mut list = signed.heads.clone();
        let sessions = other.sessions().all().await?;
        let refused = advance(&mut list, &other, &sessions, &mut || Ok([0; 32])).await;
        assert_eq!(matches!(refused, Err(AdvanceError::Discontinuity(_))), number != 9);
        assert_eq!(list.heads().len(), signed.heads.heads().len(), "nothing contradictory was signed");
    }
    Ok(())
}

#[tokio::test]
async fn batches_that_are_not_those_of_the_tree_are_found() -> Tested {
    let mut signed = SignedLog::new().await?;
    signed.sign().await?;
    let (_, head) = signed.heads.latest(session(1)).ok_or("a head")?;
    let (_, other) = signed.heads.latest(session(3)).ok_or("a head")?;
    let altered = SignedHead { batches: other.batches.clone(), ..head.clone() };
    let broken = discontinuity_of(&signed.log, session(1), &[&altered]).await?.map(|broken| broken.reason);
    assert_eq!(broken, Some(DiscontinuityReason::Batches(Seq(6))));
    let inside = SignedHead { seq: Seq(5), ..head.clone() };
    let broken = discontinuity_of(&signed.log, session(1), &[&inside]).await?.map(|broken| broken.reason);
    assert_eq!(broken, Some(DiscontinuityReason::Batches(Seq(5))));
    Ok(())
}

#[tokio::test]
async fn every_event_that_was_signed_is_proved_and_no_other() -> Tested {
    let mut signed = SignedLog::new().await?;
    let checkpoint = signed.sign().await?;
    let signers = AllowedSigners::parse(&key().public().to_string());
    for (number, last) in [(1, 6), (2, 0), (3, 2)] {
        for seq in 0..=last {
            let proof = prove(&signed.log, &signed.heads, checkpoint.clone(), session(number), Some(Seq(seq))).await?;
            let read: InclusionProof = proof.to_string().parse()?;
            assert_eq!(read, proof);
            read.check()?;
            signers.verify(&read.checkpoint)?;
            let batch = signed.log.batch_at(session(number), Seq(seq)).await?.ok_or("the event")?;
            assert_eq!(read.batch.digest, batch.batch.digest);
            assert!((read.batch.first.0..=read.batch.last.0).contains(&seq));
        }
        let refused = prove(&signed.log, &signed.heads, checkpoint.clone(), session(number), Some(Seq(last + 1))).await;
        assert!(matches!(refused, Err(ProveError::NotSigned { signed: Some(signed), .. }) if signed == Seq(last)));
        let newest = prove(&signed.log, &signed.heads, checkpoint.clone(), session(number), None).await?;
        assert_eq!(newest.batch.last, Seq(last));
    }
    let refused = prove(&signed.log, &signed.heads, checkpoint, session(7), None).await;
    assert!(matches!(refused, Err(ProveError::NotSigned { signed: None, .. })));
    Ok(())
}

#[tokio::test]
async fn one_altered_bit_of_a_proof_or_of_the_heads_is_found() -> Tested {
    let mut signed = SignedLog::new().await?;
    let checkpoint = signed.sign().await?;
    let signers = AllowedSigners::parse(&key().public().to_string());
    let whole = prove(&signed.log, &signed.heads, checkpoint, session(1), Some(Seq(2))).await?.to_string();
    let holds = |text: &str| {
        let proof: Option<InclusionProof> = text.parse().ok();
        proof.is_some_and(|proof| proof.check().is_ok() && signers.verify(&proof.checkpoint).is_ok())
    };
    assert!(holds(&whole));
    let altered = |text: &str, at: usize, bit: u8| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] ^= 1 << bit;
        String::from_utf8(bytes).ok()
    };
    for at in 0..whole.len() {
        for bit in 0..8 {
            assert!(altered(&whole, at, bit).is_none_or(|text| !holds(&text)), "proof, byte {at}, bit {bit}");
        }
    }
    let (heads, root) = (signed.heads.to_string(), root_of(&signed.heads.hashes()));
    for at in 0..heads.len() {
        for bit in 0..8 {
            let list = altered(&heads, at, bit).and_then(|text| HeadList::parse(&text, 3).ok());
            assert!(list.is_none_or(|list| root_of(&list.hashes()) != root), "heads, byte {at}, bit {bit}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_proof_with_another_claim_about_the_last_batch_is_refused() -> Tested {
    let mut signed = SignedLog::new().await?;
    let checkpoint = signed.sign().await?;
    let proof = prove(&signed.log, &signed.heads, checkpoint, session(1), None).await?;
    proof.check()?;
    for wrong in [
        InclusionProof { batch: super::continuity::BatchRange { last: Seq(7), ..proof.batch }, ..proof.clone() },
        InclusionProof { place: (proof.place.0, proof.place.1 + 1), ..proof.clone() },
        InclusionProof { seq: Seq(9), ..proof.clone() },
        InclusionProof { place: (u64::MAX, 0), ..proof.clone() },
        InclusionProof { index: u64::MAX, ..proof },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_witness_accepts_growth_alone() -> Tested {
    let mut signed = SignedLog::new().await?;
    let first = signed.sign().await?;
    let alone = WitnessRequest { growth: None, checkpoint: first.clone() };
    alone.check(None)?;
    alone.check(Some(&first.head))?;
    two(&signed.log, session(2), Seq(1)).await?;
    let second = signed.sign().await?;
    let request = WitnessRequest::new(&signed.heads.hashes(), 3, second.clone()).ok_or("there were 3")?;
    let text = request.to_string();
    assert_eq!(text.parse::<WitnessRequest>()?, request);
    request.check(Some(&first.head))?;
    assert_eq!(WitnessRequest::new(&signed.heads.hashes(), 9, second.clone()), None);
    let refusal = |request: &WitnessRequest, seen: Option<&TreeHead>| request.check(seen).err();
    let needs = |seen| Some(WitnessRefusal::NeedsProof { origin: first.head.origin.clone(), seen });
    assert_eq!(refusal(&request, None), needs(0));
    assert_eq!(refusal(&request, Some(&second.head)), needs(4));
    assert_eq!(refusal(&WitnessRequest { growth: None, checkpoint: second.clone() }, Some(&first.head)), needs(3));
    assert!(matches!(refusal(&alone, Some(&second.head)), Some(WitnessRefusal::Shrunk { seen: 4, size: 3, .. })));
    // The same size with another root, and a growth whose beginning was rewritten.
    let mut other = SignedLog::new().await?;
    other.salts = 100;
    let rewritten = other.sign().await?;
    let same = WitnessRequest { growth: None, checkpoint: rewritten.clone() };
    assert!(matches!(refusal(&same, Some(&first.head)), Some(WitnessRefusal::Inconsistent { .. })));
    assert!(matches!(refusal(&request, Some(&rewritten.head)), Some(WitnessRefusal::Inconsistent { .. })));
    Ok(())
}

/// The log, its key and the requests that the witness of `filippo.io/torchwood` is tested with.
#[test]
fn the_requests_of_another_witness_are_judged_as_it_does() -> Tested {
    let origin = "sigsum.org/v1/tree/4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562";
    let request = |old: &str, size: u64, root: &str, signature: &str| -> Result<WitnessRequest, _> {
        format!("{old}\n{origin}\n{size}\n{root}\n\n— {origin} {signature}\n").parse()
    };
    let first = request(
        "old 0\n",
        1,
        "KgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "UgIom7fPZTqpxWWhyjWduBvTvGVqsokMbqTArsQilegKoFBJQjUFAmQ0+YeSPM3wfUQMFSzVnnNuWRTYrajXpNUbIQY=",
    )?;
    let (two, three) = ("KgEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "KgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let third = |old: &str| {
        request(
            old,
            3,
            "RcCI1Nk56ZcSmIEfIn0SleqtV7uvrlXNccFx595Iwl0=",
            "UgIom2VbtIcdFbwFAy1n7s6IkAxIY6J/GQOTuZF2ORV39d75cbAj2aQYwyJre36kezNobZs4SUUdrcawfAB8WVrx6go=",
        )
    };
    let fifth = request(
        &format!(
            "old 3\n{three}\nKgMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nwgiIFdZfYNv6WU1OllBKsWnLYIS/DBMqt8Uh/S4OukE=\n\
             KgQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        ),
        5,
        "QrtXrQZCCvpIgsSmOsah7HdICzMLLyDfxToMql9WTjY=",
        "UgIomw/EOJmWi0i1FQsOj+etB7F8IccFam/jgd6wzRns4QPVmyEZtdvl1U2KEmLOZ/ASRcWJi0tW90dJWAShei7sDww=",
    )?;
    let grown = third(&format!("old 1\n{two}\n{three}\n"))?;
    first.check(None)?;
    grown.check(Some(&first.checkpoint.head))?;
    fifth.check(Some(&grown.checkpoint.head))?;
    for unproved in ["old 1\n".to_owned(), format!("old 1\n{two}\nKgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABA=\n")] {
        let refused = third(&unproved)?.check(Some(&first.checkpoint.head));
        assert!(matches!(refused, Err(WitnessRefusal::Inconsistent { .. })), "{unproved}");
    }
    Ok(())
}

/// A checkpoint of Go's checksum database and the key that every Go installation has.
#[test]
fn a_checkpoint_of_the_go_checksum_database_is_verified() -> Tested {
    let signers = AllowedSigners::parse("sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8\n");
    let request: WitnessRequest =
        "old 0\n\ngo.sum database tree\n35225469\nvt5T6GaLCXvyHFl9VUvvItR43XZxfLgftEcTyO3eJCQ=\n\n\
        — sum.golang.org Az3grpukl5AXaVfYkLiDGORx/DN2nlcS5kZHR5uYOBV2KA2HgXpD+gu9HHONebHLAyaKbbTM75QTtPydhKCExixSfwQ=\n"
            .parse()?;
    request.check(None)?;
    assert_eq!(signers.verify(&request.checkpoint)?.len(), 1);
    assert_eq!(
        "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8".parse::<VerifierKey>()?.name(),
        "sum.golang.org"
    );
    Ok(())
}
